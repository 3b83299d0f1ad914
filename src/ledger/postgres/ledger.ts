/**
 * The ledger in PostgreSQL, for any number of servers.
 *
 * One insert under one unique key registers a new payment and takes its grant. Every other change replaces a row only
 * if it is still as it was read. Otherwise the call reads and decides again. So no transaction stays open during a
 * decision, and waiting calls are committed together.
 */
import { randomInt } from 'node:crypto'
import type { TokenCode } from '../../core/money/tokens.ts'
import type { Ledger, PaymentRecord, SliceState, Taken } from '../../core/ports/ledger.ts'
import type { LedgerEventKind } from '../../core/ports/outbox.ts'
import type { Clock } from '../../core/runtime.ts'
import type { LedgerIdentity } from '../identity.ts'
import { listEvents } from '../rules/events.ts'
import {
  advanced,
  checkAdvance,
  checkLease,
  checkRecord,
  checkTake,
  checkTx,
  checkUsed,
  isReverted,
  judgeTake,
  type Lease,
  openAccount,
  readStatus,
  readTime,
  renewed,
  restoreRecord,
  tallyAfter,
} from '../rules/grants.ts'
import { reckoned } from '../rules/revaluation.ts'
import { checkReport, judgeReport } from '../rules/slices.ts'
import { advanceTimeline } from '../rules/timeline.ts'
import { changesBetween } from '../rules/totals.ts'
import { createPorts } from '../sql/ports.ts'
import { type Database, longestClockMs, openDatabase } from './database.ts'
import { lanes } from './effects.ts'
import { createRows, type LedgerRow, type PostgresRows, readBooked, readHolding } from './payments-and-grants.ts'
import { createPostgresStore } from './run-statements.ts'
import { prepareSchema, steps } from './schema.ts'

export interface PostgresParts {
  /** If omitted, the database's clock, which all servers share. */
  readonly clock?: Clock
  /** The counter by which the database's clock goes between its measurements. */
  readonly monotonic?: Clock['monotonic']
  readonly identity: LedgerIdentity
  /** The time limit of one statement, including the connection. */
  readonly timeoutMs?: number
}

const mostKept = 10_000
/**
 * The additional time of a lease for other servers. Each of two servers may misjudge the database's time by half of the
 * longest measurement.
 */
const slackMs = longestClockMs

/** The new state of a payment, and the result if the write succeeds. Without `entry`, nothing changes. */
interface Change<Answer> {
  readonly entry?: LedgerRow
  /** Set if more than the use of the payment changes. */
  readonly notices?: readonly LedgerEventKind[]
  readonly answer: Answer
}

export async function openPostgresLedger(
  url: string,
  parts: PostgresParts,
): Promise<Ledger & { readonly clock: Clock }> {
  const database = openDatabase(url, parts.timeoutMs ?? 5_000)
  try {
    await prepareSchema(database, parts.identity)
    const clock = parts.clock ?? (await database.followClock(parts.monotonic))
    return createPostgresLedger(database, clock, parts.clock ? 0 : slackMs, parts.identity.reportToken)
  } catch (error) {
    await database.close()
    throw error
  }
}

/** Decides on a payment and writes the result. Repeats both if another writer changed the row. */
type ChangePayment = <Answer>(
  tx: Uint8Array,
  guess: Guess,
  decide: (entry: LedgerRow | undefined, isVoided: boolean) => Change<Answer>,
) => Promise<Change<Answer>>

/** The expected row, before any read. */
type Guess = { readonly kind: 'unknown' } | { readonly kind: 'row'; readonly row: LedgerRow | undefined }

const unknown: Guess = { kind: 'unknown' }
/** A payment to register is most likely new. */
const isNew: Guess = { kind: 'row', row: undefined }

function createPostgresLedger(
  database: Database,
  clock: Clock,
  slack: number,
  reportToken: TokenCode | undefined,
): Ledger & { readonly clock: Clock } {
  const lane = randomInt(lanes)
  const rows = createRows(database, lane)
  const ports = createPorts(createPostgresStore(database, lane), clock)
  /**
   * The expected report token of the books. Each registration checks it, and is repeated with the new one if it has
   * changed.
   */
  let keptIn = reportToken
  const reckon = (record: PaymentRecord): PaymentRecord => reckoned(record, reportToken, keptIn)

  const write = async (before: LedgerRow | undefined, { entry, notices }: Change<unknown>): Promise<boolean> => {
    if (!entry) return true
    if (!notices) return rows.replace(entry)
    const changes = changesBetween(before && readBooked(before), readBooked(entry))
    const effect = { changes, notices, at: readTime(clock), reckonedIn: reportToken && keptIn }
    return entry.version === 1n ? rows.insert(entry, effect) : rows.replace(entry, effect)
  }
  const change: ChangePayment = async (tx, guess, decide) => {
    let entry = guess.kind === 'unknown' ? await rows.find(tx) : guess.row
    let isVoided = false
    for (;;) {
      const decided = decide(entry, isVoided)
      if (await write(entry, decided)) return decided
      const found = await rows.find(tx)
      // No other writer changed the row, so the payment is being refunded or the report token has changed.
      isVoided = !found && (await rows.isVoided(tx))
      if (found?.version === entry?.version && !isVoided) keptIn = await ports.books.reportToken()
      entry = found
    }
  }
  return {
    clock,
    storage: { kind: 'postgres', version: steps.length },
    ...ports,
    ...createGrants({ rows, clock, slack, change, reckon }),
    async close() {
      await rows.drain()
      await database.close()
    },
  }
}

interface GrantParts {
  readonly rows: PostgresRows
  readonly clock: Clock
  /** The additional time of a lease for other servers. */
  readonly slack: number
  readonly change: ChangePayment
  readonly reckon: (record: PaymentRecord) => PaymentRecord
}

type Grants = Pick<Ledger, 'peek' | 'take' | 'renew' | 'advance' | 'reportSlice' | 'end' | 'recordLate'>

function createGrants({ rows, clock, slack, change, reckon }: GrantParts): Grants {
  /** The rows of this process's grants after its last write, so that the end of a grant rarely needs a read. */
  const left = new Map<string, LedgerRow>()
  const nameOf = (tx: Uint8Array, fence: bigint): string => `${Buffer.from(tx).toString('latin1')}${fence}`
  const keep = (tx: Uint8Array, fence: bigint, entry: LedgerRow): void => {
    // Limits the size, because some grants are never ended.
    if (left.size >= mostKept) left.clear()
    left.set(nameOf(tx, fence), entry)
  }
  return {
    async peek(tx) {
      checkTx(tx)
      const entry = await rows.find(tx)
      const now = readTime(clock)
      return entry && readStatus(readHolding(entry, now), now)
    },
    async take(take) {
      checkTake(take)
      const order = { ...take, leaseMs: take.leaseMs + slack }
      const { entry, answer } = await change<Taken>(take.tx, take.payment ? isNew : unknown, (before, isVoided) => {
        const now = readTime(clock)
        const { taken, registers, restores, lease, settles } = judgeTake(order, before && readHolding(before, now), now)
        if (registers && isVoided) return { answer: { kind: 'spent' } }
        const current = registers
          ? replacing(before, reckon(registers), now)
          : before && next(before, restores && reckon(restores), now)
        if (!current || (taken.kind !== 'granted' && !registers && !restores)) return { answer: taken }
        const notices = registers || restores ? { notices: listEvents({ registers, restores }) } : {}
        if (taken.kind !== 'granted' || !lease) return { entry: current, answer: taken, ...notices }
        const { fence } = taken.grant
        const live = [...current.leases].filter(([, { deadline }]) => deadline > now)
        const leases = new Map<bigint, Lease>([...live, [fence, lease]])
        const entry = { ...current, account: { ...current.account, ...settles, fence }, leases }
        return { entry, answer: taken, ...notices }
      })
      if (entry && answer.kind === 'granted') keep(take.tx, answer.grant.fence, entry)
      return answer
    },
    async renew({ tx, fence }, leaseMs) {
      checkTx(tx)
      checkLease(leaseMs)
      const { entry, answer } = await change(tx, unknown, (before) => {
        const lease = before?.leases.get(fence)
        if (!before || !lease || isReverted(before.account)) return { answer: false }
        const deadline = renewed(lease.deadline, leaseMs + slack, readTime(clock))
        const leases = new Map([...before.leases, [fence, { ...lease, deadline }] as const])
        return { entry: { ...before, leases, version: before.version + 1n }, answer: true }
      })
      if (entry) keep(tx, fence, entry)
      return answer
    },
    async advance({ tx, fence }, used, more) {
      checkTx(tx)
      checkAdvance(used, more)
      const { entry, answer } = await change<bigint | undefined>(tx, unknown, (before) => {
        const lease = before?.leases.get(fence)
        if (!before || !lease || isReverted(before.account)) return { answer: undefined }
        const now = readTime(clock)
        const next = advanced(readHolding(before, now), lease, used, more, now)
        const live = [...before.leases].filter(([, { deadline }]) => deadline > now)
        const leases = new Map([...live, [fence, next.lease] as const])
        const moved = { ...before.account, used: next.used }
        const account = next.used > 0n ? { ...moved, ...advanceTimeline(moved, 'delivered', now) } : moved
        return { entry: { ...before, account, leases, version: before.version + 1n }, answer: next.lease.amount }
      })
      if (entry) keep(tx, fence, entry)
      return answer
    },
    reportSlice: createSliceReports(clock, change, { find: (tx, fence) => left.get(nameOf(tx, fence)), keep }),
    async end({ tx, fence }, outcome, used) {
      checkTx(tx)
      checkUsed(used)
      const name = nameOf(tx, fence)
      const known = left.get(name)
      left.delete(name)
      const { answer } = await change(tx, known ? { kind: 'row', row: known } : unknown, (before) => {
        const lease = before?.leases.get(fence)
        if (!before || !lease) return { answer: false }
        const leases = new Map([...before.leases].filter(([held]) => held !== fence))
        const ended = { ...before.account, ...tallyAfter(before.account, lease, outcome, used) }
        const account = { ...ended, ...advanceTimeline(ended, outcome, readTime(clock)) }
        return { entry: { ...before, account, leases, version: before.version + 1n }, answer: true }
      })
      return answer
    },
    async recordLate(payment) {
      checkRecord(payment)
      await change(payment.tx, isNew, (before, isVoided) => {
        if (before || isVoided) return { answer: undefined }
        return {
          entry: opened(reckon(payment), readTime(clock), true),
          notices: ['payment.expired'],
          answer: undefined,
        }
      })
    },
  }
}

/** The rows of this process's slices after its last write. */
interface KeptRows {
  find(tx: Uint8Array, fence: bigint): LedgerRow | undefined
  keep(tx: Uint8Array, fence: bigint, entry: LedgerRow): void
}

function createSliceReports(clock: Clock, change: ChangePayment, kept: KeptRows): Ledger['reportSlice'] {
  return async ({ tx, fence }, report) => {
    checkTx(tx)
    checkReport(report)
    const known = kept.find(tx, fence)
    const guess: Guess = known ? { kind: 'row', row: known } : unknown
    const { entry, answer } = await change<SliceState | undefined>(tx, guess, (before) => {
      const now = readTime(clock)
      const ruling = judgeReport(before && readHolding(before, now), fence, report, now)
      if (!before || !ruling) return { answer: undefined }
      const { account, slice, state } = ruling
      const others = [...before.leases].filter(([held, { deadline }]) => held !== fence && deadline > now)
      const leases = new Map<bigint, Lease>([...others, ...(slice ? [[fence, slice] as const] : [])])
      return { entry: { ...before, account, leases, version: before.version + 1n }, answer: state }
    })
    if (entry) kept.keep(tx, fence, entry)
    return answer
  }
}

function opened(record: PaymentRecord, now: number, late = false): LedgerRow {
  return { record, account: openAccount(record, now, late), leases: new Map(), version: 1n }
}

/** A new payment, or one that replaces its late record. The rules allow no other case. */
function replacing(before: LedgerRow | undefined, record: PaymentRecord, now: number): LedgerRow {
  return { ...opened(record, now), version: before ? before.version + 1n : 1n }
}

/** The row after the next change. `restores` is set if a reverted payment has landed again, in another block. */
function next(before: LedgerRow, restores: PaymentRecord | undefined, now: number): LedgerRow {
  const version = before.version + 1n
  if (!restores) return { ...before, version }
  const { token, required, received, finality } = restores
  return {
    ...before,
    version,
    record: restoreRecord(before.record, restores),
    account: { ...before.account, token, required, received, finality, concludedAt: now },
  }
}
