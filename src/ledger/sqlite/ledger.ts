/**
 * The ledger in one SQLite file, for one machine. Several processes may share the file.
 *
 * Each call holds the write lock while the rules of `rules/grants.ts` decide. It takes effect completely or not at all,
 * and is on disk before it returns.
 */
import { resolve } from 'node:path'
import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import type { TokenCode } from '../../core/money/tokens.ts'
import type { Grant, Ledger, PaymentRecord } from '../../core/ports/ledger.ts'
import type { Clock } from '../../core/runtime.ts'
import { checkIdentity, type LedgerIdentity, type Remembered } from '../identity.ts'
import { becomesFinal, listEvents } from '../rules/events.ts'
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
  readStatus,
  readTime,
  renewed,
  tallyAfter,
} from '../rules/grants.ts'
import { reckoned } from '../rules/revaluation.ts'
import { checkReport, judgeReport } from '../rules/slices.ts'
import { advanceTimeline } from '../rules/timeline.ts'
import { changesBetween } from '../rules/totals.ts'
import { createPorts } from '../sql/ports.ts'
import { prepareRipening, prepareTelling } from './effects.ts'
import { openSqliteFile, openSqliteMemory, type SqliteFile } from './file.ts'
import { steps } from './migrations.ts'
import { type FoundGrant, prepareRows } from './payments-and-grants.ts'
import { createSqliteStore } from './run-statements.ts'

export interface SqliteParts {
  readonly clock: Clock
  readonly identity: LedgerIdentity
  /** How long a call waits for the lock of another process. */
  readonly busyTimeoutMs?: number
}

export async function openSqliteLedger(path: string, parts: SqliteParts): Promise<Ledger> {
  const full = resolve(path)
  const file = await openSqliteFile(full, parts.busyTimeoutMs ?? 5000, (db) => remember(db, full, parts.identity))
  return createSqliteLedger(file, parts.clock, parts.identity.reportToken)
}

/** A ledger in the memory of this process, for tests and trials. Its content ends with the process. */
export function openMemoryLedger({ clock, identity }: SqliteParts): Ledger {
  const file = openSqliteMemory((db) => remember(db, 'memory:', identity))
  return createSqliteLedger(file, clock, identity.reportToken)
}

/** The ledger on an open and migrated file. `reportToken` is the report token of its users. */
export function createSqliteLedger(file: SqliteFile, clock: Clock, reportToken?: TokenCode): Ledger {
  const rows = prepareRows(file.db)
  const tell = prepareTelling(file.db)
  const ripen = prepareRipening(file.db)
  /** Runs under the write lock, so that no rebuild of the books happens in between. */
  const reckon = (payment: PaymentRecord): PaymentRecord =>
    reportToken === undefined ? payment : reckoned(payment, reportToken, rows.reportToken())
  /** Runs a change of a grant under the write lock. Undefined if the lease has ended. */
  const changeGrant = <T>(grant: Grant, change: (found: FoundGrant, now: number) => T) =>
    file.write((): T | undefined => {
      const now = readTime(clock)
      const found = rows.findGrant(grant.tx, grant.fence)
      return found && change(found, now)
    })
  return {
    async peek(tx) {
      checkTx(tx)
      const now = readTime(clock)
      const held = await file.read(() => rows.find(tx, now))
      return held && readStatus(held, now)
    },
    async take(take) {
      checkTake(take)
      return file.write((enter) => {
        const now = readTime(clock)
        const held = rows.find(take.tx, now)
        const { taken, registers: registering, restores, lease, settles } = judgeTake(take, held, now)
        if (!held && registering && rows.isVoided(take.tx)) return { kind: 'spent' }
        const registers = registering && reckon(registering)
        const fence = taken.kind === 'granted' ? taken.grant.fence : 0n
        const id = registers ? rows.register(registers, now, 'valid', fence) : held?.id
        if (registers) {
          rows.claim.run(take.tx)
          enter(changesBetween(undefined, { ...registers, late: false }))
        }
        if (restores && id !== undefined) {
          rows.restore(id, reckon(restores), now)
          enter(changesBetween(undefined, rows.booked(id)))
        }
        tell(listEvents({ registers, restores }), take.tx, now)
        if (becomesFinal({ registers, restores })) ripen(take.tx, (restores ?? registers)?.paidAt ?? 0)
        if (taken.kind === 'granted' && lease && id !== undefined) {
          if (settles) rows.settle(settles, id)
          rows.hold(id, fence, lease, now, registers !== undefined)
        }
        return taken
      })
    },
    async renew(grant, leaseMs) {
      checkTx(grant.tx)
      checkLease(leaseMs)
      const isRenewed = await changeGrant(grant, ({ id, lease, finality }, now) => {
        if (isReverted({ finality })) return false
        rows.setDeadline.run(BigInt(renewed(lease.deadline, leaseMs, now)), id, grant.fence)
        return true
      })
      return isRenewed ?? false
    },
    async advance(grant, used, more) {
      checkTx(grant.tx)
      checkAdvance(used, more)
      return changeGrant(grant, ({ id, account: before, lease, finality }, now) => {
        if (isReverted({ finality })) return undefined
        const live = rows.find(grant.tx, now)?.live ?? []
        const next = advanced({ account: before, live }, lease, used, more, now)
        rows.lapseOthers.run(id, BigInt(now), grant.fence)
        rows.setPart.run(next.lease.amount, next.lease.from, id, grant.fence)
        const account = { ...before, used: next.used }
        if (next.used > 0n) rows.setTally(id, { ...account, ...advanceTimeline(account, 'delivered', now) })
        return next.lease.amount
      })
    },
    reportSlice: createSliceReports(file, rows, clock),
    async end(grant, outcome, used) {
      checkTx(grant.tx)
      checkUsed(used)
      const isEnded = await changeGrant(grant, ({ id, account: before, lease }, now) => {
        const account = { ...before, ...tallyAfter(before, lease, outcome, used) }
        rows.drop.run(id, grant.fence)
        rows.setTally(id, { ...account, ...advanceTimeline(account, outcome, now) })
        return true
      })
      return isEnded ?? false
    },
    async recordLate(payment) {
      checkRecord(payment)
      await file.write(() => {
        const now = readTime(clock)
        if (rows.find(payment.tx, now) || rows.isVoided(payment.tx)) return
        rows.register(reckon(payment), now, 'late', 0n)
        rows.claimLate.run(payment.tx)
        tell(['payment.expired'], payment.tx, now)
      })
    },
    storage: { kind: 'sqlite', version: steps.length },
    ...createPorts(createSqliteStore(file), clock),
    close: file.close,
  }
}

function createSliceReports(
  file: SqliteFile,
  rows: ReturnType<typeof prepareRows>,
  clock: Clock,
): Ledger['reportSlice'] {
  return async ({ tx, fence }, report) => {
    checkTx(tx)
    checkReport(report)
    return file.write(() => {
      const now = readTime(clock)
      const held = rows.find(tx, now)
      const ruling = judgeReport(held, fence, report, now)
      if (!held || !ruling) return undefined
      const { account, slice, state } = ruling
      rows.lapseOthers.run(held.id, BigInt(now), fence)
      if (slice) rows.setPart.run(slice.amount, slice.from, held.id, fence)
      else rows.drop.run(held.id, fence)
      rows.setTally(held.id, account)
      if (account.returnedSlices !== held.account.returnedSlices) rows.settle(account, held.id)
      return state
    })
  }
}

function remember(db: DatabaseSyncInstance, path: string, identity: LedgerIdentity): void {
  checkIdentity(path, readMemory(db), identity)
  writeMemory(db, { ...identity })
}

function readMemory(db: DatabaseSyncInstance): Remembered {
  const rows = db.prepare('SELECT key, value FROM meta').all() as { readonly key: string; readonly value: string }[]
  return Object.fromEntries(rows.map(({ key, value }) => [key, value]))
}

/** Keeps values that are already stored. */
function writeMemory(db: DatabaseSyncInstance, facts: Remembered): void {
  const write = db.prepare('INSERT OR IGNORE INTO meta (key, value) VALUES (?, ?)')
  for (const [key, value] of Object.entries(facts)) if (value !== undefined) write.run(key, value)
}
