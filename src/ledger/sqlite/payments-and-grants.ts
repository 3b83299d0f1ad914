/** The rows of the ledger in SQLite: payments and their grants. */
import type { DatabaseSyncInstance, StatementSyncInstance } from '@photostructure/sqlite'
import type { TokenCode } from '../../core/money/tokens.ts'
import type { Unit } from '../../core/payment/allowance.ts'
import { formatPositions, parsePositions } from '../../core/payment/byte-ranges.ts'
import type { PaymentRecord } from '../../core/ports/ledger.ts'
import type { Finality, Holding, Lease, PaymentAccount, Slice, Tally, UsedAllowance } from '../rules/grants.ts'
import type { PaymentTimeline } from '../rules/timeline.ts'
import type { Booked } from '../rules/totals.ts'
import { type BookedRow, bookedColumns, readBooked } from '../sql/books/totals.ts'
import { formatParts, formatRates, formatText, parseText } from '../stored-text.ts'
import { sqliteDialect } from './sql-dialect.ts'

export interface PaymentRow {
  readonly id: bigint
  readonly request: string
  readonly payer: string
  readonly scope: string
  readonly token: TokenCode
  readonly required: string
  readonly received: string
  readonly unit: Unit
  readonly amount: bigint
  readonly usable_until: bigint
  readonly registered_at: bigint
  readonly state: 'valid' | 'late'
  readonly finality: Finality
  readonly used: bigint
  readonly deliveries: bigint
  readonly free_uses: bigint
  readonly fence: bigint
  readonly returned_slices: bigint
  readonly positions: string
  readonly delivered_at: bigint | null
  readonly delivered_last: bigint | null
  readonly undelivered_at: bigint | null
  readonly concluded_at: bigint | null
  readonly refunded_at: bigint | null
}

interface HoldingRow extends PaymentRow {
  /** The sum of the live grants without slices; null for a file, and without grants. */
  readonly held: bigint | null
  /** `fence:amount:deadline:first` of each slice. */
  readonly slices: string | null
  /** `amount:deadline:first` of each live grant of a file. */
  readonly parts: string | null
}

type UseRow = Pick<PaymentRow, 'unit' | 'amount' | 'used' | 'deliveries' | 'free_uses' | 'positions'>

interface GrantRow extends UseRow, TraceRow, Pick<PaymentRow, 'id' | 'finality'> {
  readonly held: bigint
  readonly deadline: bigint
  readonly first: bigint
}

export interface FoundRow extends Holding {
  readonly id: bigint
}

/**
 * One grant, with the use of its payment, which its end changes. Lapsed grants stay until another grant takes their
 * part.
 */
export interface FoundGrant {
  readonly id: bigint
  readonly account: UsedAllowance & PaymentTimeline
  readonly lease: Lease
  readonly finality: Finality
}

const accountColumns = [
  'id, request, payer, scope, token, required, received, unit, payments.amount AS amount, usable_until, registered_at',
  'state, finality, used, deliveries, free_uses, payments.fence AS fence, returned_slices, positions, delivered_at',
  'delivered_last, undelivered_at, concluded_at, refunded_at',
].join(', ')
const liveGrants = 'FROM grants WHERE payment = payments.id AND deadline > ?1'

export function prepareRows(db: DatabaseSyncInstance) {
  const prepare = (sql: string): StatementSyncInstance => {
    const statement = db.prepare(sql)
    statement.setReadBigInts(true)
    return statement
  }
  // One statement: a reader holds no lock, so two statements could see a payment and its grants at different moments.
  const find = prepare(`
    SELECT ${accountColumns}, CASE WHEN unit <> 'file' THEN (SELECT sum(grants.amount) ${liveGrants}
        AND (unit = 'byte' OR first = 0)) END AS held,
      CASE WHEN unit = 'request' AND payments.amount > 1 THEN (SELECT group_concat(fence || ':' || amount || ':'
        || deadline || ':' || first, ' ') FROM grants WHERE payment = payments.id AND first > 0) END AS slices,
      CASE WHEN unit = 'file' THEN (SELECT group_concat(grants.amount || ':' || deadline || ':' || first, ' ')
        ${liveGrants}) END AS parts
    FROM payments WHERE tx = ?2`)
  const findGrant = prepare(`
    SELECT id, unit, payments.amount AS amount, used, deliveries, free_uses, positions, delivered_at, delivered_last,
      undelivered_at, concluded_at, finality, grants.amount AS held, deadline, first
    FROM payments JOIN grants ON grants.payment = payments.id AND grants.fence = ?2 WHERE tx = ?1`)
  // A new payment, or one that replaces its late record. The rules allow no other case.
  const register = prepare(`
    INSERT OR REPLACE INTO payments (tx, request, payer, scope, recipient, token, required, received, unit, amount, slot,
      paid_at, usable_until, registered_at, finality, state, endpoint, worth, rates, splits, fence, concluded_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`)
  const voided = prepare(`SELECT 1 FROM dispatches WHERE voids = ? AND state <> 'dropped'`)
  const reportToken = prepare("SELECT value FROM meta WHERE key = 'reportToken'")
  const booked = prepare(`SELECT ${bookedColumns(sqliteDialect).sql} FROM payments AS paid WHERE id = ?`)

  const restore = prepare(`
    UPDATE payments SET token = ?, required = ?, received = ?, splits = ?, slot = ?, paid_at = ?, finality = ?,
      concluded_at = ?, worth = ?, rates = ? WHERE id = ?`)
  const setTally = prepare(`
    UPDATE payments SET used = ?, deliveries = ?, free_uses = ?, positions = ?, delivered_at = ?, delivered_last = ?,
      undelivered_at = ? WHERE id = ?`)
  const settle = prepare('UPDATE payments SET used = ?, returned_slices = ? WHERE id = ?')
  const lapse = prepare('DELETE FROM grants WHERE payment = ? AND deadline <= ?')
  const setFence = prepare('UPDATE payments SET fence = ? WHERE id = ?')
  const grant = prepare('INSERT INTO grants (payment, fence, amount, deadline, first) VALUES (?, ?, ?, ?, ?)')

  return {
    find: (tx: Uint8Array, now: number): FoundRow | undefined => {
      const row = find.get(BigInt(now), tx) as HoldingRow | undefined
      return row && { id: row.id, account: readAccount(row), live: readLive(row), slices: readSlices(row) }
    },
    findGrant: (tx: Uint8Array, fence: bigint): FoundGrant | undefined => {
      const row = findGrant.get(tx, fence) as GrantRow | undefined
      if (!row) return undefined
      const lease = { amount: row.held, deadline: Number(row.deadline), from: row.first }
      return { id: row.id, account: { ...readUse(row), ...readTrace(row) }, lease, finality: row.finality }
    },
    register: (payment: PaymentRecord, now: number, state: PaymentRow['state'], fence: bigint): bigint => {
      const { tx, request, payer, recipient, token, required, received, allowance, worth } = payment
      const people = [request, payer, formatText(payment.scope), recipient] as const
      const money = [token, String(required), String(received), allowance.unit, allowance.amount] as const
      const times = [payment.slot, payment.paidAt, payment.usableUntil, now].map(BigInt)
      const value = worth === undefined ? null : String(worth)
      const books = [formatText(payment.endpoint), value, formatRates(payment.rates), formatParts(payment)] as const
      const concludedAt = payment.finality === 'finalized' ? BigInt(now) : null
      const row = register.get(tx, ...people, ...money, ...times, payment.finality, state, ...books, fence, concludedAt)
      return (row as { readonly id: bigint }).id
    },
    reportToken: (): TokenCode | undefined => (reportToken.get() as { readonly value: TokenCode } | undefined)?.value,
    booked: (id: bigint): Booked => readBooked(booked.get(id) as unknown as BookedRow),
    /** As `restoreRecord`: the payment landed again in another block, so its amounts and rates apply. */
    restore: (id: bigint, payment: PaymentRecord, now: number): void => {
      const { token, required, received, slot, paidAt, finality, worth, rates } = payment
      const money = [token, String(required), String(received), formatParts(payment)] as const
      const value = worth === undefined ? null : String(worth)
      restore.run(...money, BigInt(slot), BigInt(paidAt), finality, BigInt(now), value, formatRates(rates), id)
    },
    /** A new payment has no grants yet, and was written with its first fence. */
    hold: (id: bigint, fence: bigint, lease: Lease, now: number, isNew: boolean): void => {
      if (!isNew) {
        lapse.run(id, BigInt(now))
        setFence.run(fence, id)
      }
      grant.run(id, fence, lease.amount, BigInt(lease.deadline), lease.from)
    },
    settle: ({ used, returnedSlices }: Pick<PaymentAccount, 'used' | 'returnedSlices'>, id: bigint): void =>
      void settle.run(used, returnedSlices, id),
    lapseOthers: prepare('DELETE FROM grants WHERE payment = ? AND deadline <= ? AND fence <> ?'),
    drop: prepare('DELETE FROM grants WHERE payment = ? AND fence = ?'),
    setDeadline: prepare('UPDATE grants SET deadline = ? WHERE payment = ? AND fence = ?'),
    setPart: prepare('UPDATE grants SET amount = ?, first = ? WHERE payment = ? AND fence = ?'),
    setTally: (id: bigint, account: Tally & PaymentTimeline): void => {
      const { used, deliveries, freeUses, positions, deliveredAt, deliveredLast, undeliveredAt } = account
      const times = [deliveredAt, deliveredLast, undeliveredAt].map((time) =>
        time === undefined ? null : BigInt(time),
      )
      setTally.run(used, deliveries, freeUses, formatPositions(positions), ...times, id)
    },
    /** Whether the payment is being refunded, claimed or not. */
    isVoided: (tx: Uint8Array): boolean => voided.get(tx) !== undefined,
    claim: prepare('DELETE FROM unclaimed WHERE tx = ?'),
    claimLate: prepare('UPDATE unclaimed SET late = 1 WHERE tx = ?'),
  }
}

function readAccount(row: PaymentRow): PaymentAccount {
  const { request, payer, token, fence } = row
  return {
    request,
    payer,
    scope: parseText(row.scope),
    token,
    required: BigInt(row.required),
    received: BigInt(row.received),
    usableUntil: Number(row.usable_until),
    registeredAt: Number(row.registered_at),
    late: row.state === 'late',
    finality: row.finality,
    fence,
    returnedSlices: row.returned_slices,
    refundedAt: readTime(row.refunded_at),
    ...readUse(row),
    ...readTrace(row),
  }
}

function readUse({ unit, amount, used, deliveries, free_uses: freeUses, positions }: UseRow): UsedAllowance {
  return { allowance: { unit, amount }, used, deliveries, freeUses, positions: parsePositions(positions) }
}

type TraceRow = Pick<PaymentRow, 'delivered_at' | 'delivered_last' | 'undelivered_at' | 'concluded_at'>

function readTrace(row: TraceRow): PaymentTimeline {
  return {
    deliveredAt: readTime(row.delivered_at),
    deliveredLast: readTime(row.delivered_last),
    undeliveredAt: readTime(row.undelivered_at),
    concludedAt: readTime(row.concluded_at),
  }
}

function readTime(value: bigint | null): number | undefined {
  return value === null ? undefined : Number(value)
}

function readSlices({ slices }: HoldingRow): readonly Slice[] {
  if (slices === null) return []
  return slices.split(' ').map((slice) => {
    const [fence = 0n, amount = 0n, deadline = 0n, from = 0n] = slice.split(':').map(BigInt)
    return { fence, amount, deadline: Number(deadline), from }
  })
}

/** The rules need the single grants of a file only. For other units, one lease stands for all. */
function readLive({ held, parts }: HoldingRow): readonly Lease[] {
  if (held !== null) return [{ amount: held, deadline: Number.POSITIVE_INFINITY, from: 0n }]
  if (parts === null) return []
  return parts.split(' ').map((part) => {
    const [amount = 0n, deadline = 0n, from = 0n] = part.split(':').map(BigInt)
    return { amount, deadline: Number(deadline), from }
  })
}
