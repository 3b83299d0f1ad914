/** The rows of the ledger in PostgreSQL: one per payment, with its leases, always replaced as a whole. */
import type { TokenCode } from '../../core/money/tokens.ts'
import type { Unit } from '../../core/payment/allowance.ts'
import { formatPositions, parsePositions } from '../../core/payment/byte-ranges.ts'
import type { PaymentRecord } from '../../core/ports/ledger.ts'
import {
  type Finality,
  type Holding,
  type Lease,
  openAccount,
  type PaymentAccount,
  type Slice,
} from '../rules/grants.ts'
import type { Booked } from '../rules/totals.ts'
import { createBatch, type StatementBatch } from '../sql/batch.ts'
import { formatParts, formatRates, formatText, parseParts, parseRates, parseText } from '../stored-text.ts'
import type { Database } from './database.ts'
import { effectValues, type WriteEffect, withEffects } from './effects.ts'

/** A payment with all its fields. `version` counts its changes. */
export interface LedgerRow {
  readonly record: PaymentRecord
  readonly account: PaymentAccount
  readonly leases: ReadonlyMap<bigint, Lease>
  readonly version: bigint
}

export interface PostgresRows {
  find(tx: Uint8Array): Promise<LedgerRow | undefined>
  /** Whether the payment is being refunded, claimed or not. */
  isVoided(tx: Uint8Array): Promise<boolean>
  /**
   * Returns false, without a change, if a row of the transaction exists, it is being refunded, or the report token has
   * changed.
   */
  insert(entry: LedgerRow, effect: WriteEffect): Promise<boolean>
  /**
   * Returns false, without a change, if the row or the report token has changed. Without `effect`, writes only the
   * columns that a use changes.
   */
  replace(entry: LedgerRow, effect?: WriteEffect): Promise<boolean>
  drain(): Promise<void>
}

/** Each column with its SQL type and its value as text. All statements use this list, so none can omit a column. */
const columns = {
  tx: ['bytea', ({ record }) => formatHex(record.tx)],
  request: ['text', ({ account }) => account.request],
  payer: ['text', ({ account }) => account.payer],
  scope: ['text', ({ account }) => formatText(account.scope)],
  recipient: ['text', ({ record }) => record.recipient],
  token: ['text', ({ account }) => account.token],
  required: ['numeric', ({ record }) => String(record.required)],
  received: ['numeric', ({ account }) => String(account.received)],
  unit: ['text', ({ account }) => account.allowance.unit],
  amount: ['bigint', ({ account }) => String(account.allowance.amount)],
  slot: ['bigint', ({ record }) => String(record.slot)],
  paid_at: ['bigint', ({ record }) => String(record.paidAt)],
  usable_until: ['bigint', ({ account }) => String(account.usableUntil)],
  registered_at: ['bigint', ({ account }) => String(account.registeredAt)],
  late: ['boolean', ({ account }) => String(account.late)],
  finality: ['text', ({ account }) => account.finality],
  used: ['bigint', ({ account }) => String(account.used)],
  deliveries: ['bigint', ({ account }) => String(account.deliveries)],
  free_uses: ['bigint', ({ account }) => String(account.freeUses)],
  positions: ['text', ({ account }) => formatPositions(account.positions)],
  fence: ['bigint', ({ account }) => String(account.fence)],
  leases: ['text', ({ leases }) => formatLeases(leases)],
  version: ['bigint', ({ version }) => String(version)],
  endpoint: ['text', ({ record }) => formatText(record.endpoint)],
  worth: ['numeric', ({ record }) => (record.worth === undefined ? null : String(record.worth))],
  rates: ['text', ({ record }) => formatRates(record.rates)],
  splits: ['text', ({ record }) => formatParts(record)],
  delivered_at: ['bigint', ({ account }) => formatTime(account.deliveredAt)],
  delivered_last: ['bigint', ({ account }) => formatTime(account.deliveredLast)],
  undelivered_at: ['bigint', ({ account }) => formatTime(account.undeliveredAt)],
  concluded_at: ['bigint', ({ account }) => formatTime(account.concludedAt)],
  refunded_at: ['bigint', ({ account }) => formatTime(account.refundedAt)],
  returned_slices: ['bigint', ({ account }) => String(account.returnedSlices)],
} satisfies Record<string, readonly [type: string, value: (entry: LedgerRow) => string | null]>

type Name = keyof typeof columns
const names = Object.keys(columns) as Name[]
/** The columns that a use changes. All others stay as registered. */
const changing: readonly Name[] = [
  ...(['tx', 'used', 'deliveries', 'free_uses', 'positions', 'fence', 'leases', 'version'] as const),
  ...(['delivered_at', 'delivered_last', 'undelivered_at', 'returned_slices'] as const),
]
const list = names.join(', ')
const given = (some: readonly Name[]) =>
  `unnest(${some.map((name, index) => `$${index + 1}::${columns[name][0]}[]`).join(', ')}) AS given (${some.join(', ')})`

/** All columns, and the report token of the value. */
const reckonedIn = names.length + 1
const givenWhole = `unnest(${names.map((name, index) => `$${index + 1}::${columns[name][0]}[]`).join(', ')},
  $${reckonedIn}::text[]) AS given (${list}, reckoned_in)`
/** A rebuild of the books blocks registrations. Afterwards they see the new report token. */
const isReckoned = `(given.reckoned_in IS NULL
  OR given.reckoned_in = (SELECT value FROM paystile_meta WHERE key = 'reportToken'))`

/**
 * The plan of a refund for an unregistered payment locks the gate, which blocks only registrations. Afterwards they see
 * the refund.
 */
const isGateOpen = 'NOT EXISTS (SELECT FROM paystile_gate FOR KEY SHARE)'
/** Found by its index for each payment. */
const voided = (tx: string) => `SELECT true FROM paystile_dispatches WHERE voids = ${tx} AND state <> 'dropped'`

const select = `SELECT ${list} FROM paystile_payments WHERE tx = ANY ($1::bytea[])`
// In the order of their keys, as everywhere, so that two servers that write the same rows cannot deadlock.
const insert = `INSERT INTO paystile_payments (${list}) SELECT ${list} FROM ${givenWhole}
  WHERE ${isGateOpen} AND ${isReckoned} AND (${voided('given.tx')}) IS NULL ORDER BY tx ON CONFLICT (tx) DO NOTHING RETURNING tx`
const replace = (some: readonly Name[], source: string, more = '') => `WITH held AS (
    SELECT tx FROM paystile_payments WHERE tx = ANY ($1::bytea[]) ORDER BY tx FOR UPDATE)
  UPDATE paystile_payments AS kept SET ${some.map((name) => `${name} = given.${name}`).join(', ')}
  FROM ${source}, held WHERE kept.tx = given.tx AND held.tx = given.tx AND kept.version = given.version - 1${more}
  RETURNING kept.tx`
const claim = 'DELETE FROM paystile_unclaimed WHERE tx = ANY ($1::bytea[])'
const claimLate = 'UPDATE paystile_unclaimed SET late = true WHERE tx = ANY ($1::bytea[])'

interface Writing {
  readonly entry: LedgerRow
  readonly effect: WriteEffect
}

/** `lane` is the lane of this server in the books. */
export function createRows(database: Database, lane: number): PostgresRows {
  const finding = createBatch(async (keys: readonly string[]) => {
    const rows = (await database.query(select, [keys])) as unknown as Row[]
    const found = new Map(rows.map((row) => [formatHex(row.tx), readEntry(row)]))
    return keys.map((key) => found.get(key))
  })
  const write = async (
    statement: string,
    values: readonly unknown[],
    entries: readonly LedgerRow[],
    isFrequent = false,
  ) => {
    const rows = (await database.query(statement, values, { isFrequent })) as unknown as Pick<Row, 'tx'>[]
    const written = new Set(rows.map((row) => formatHex(row.tx)))
    return entries.map(({ record }) => written.has(formatHex(record.tx)))
  }
  const [claiming, claimingLate] = [claim, claimLate].map((statement) =>
    createBatch(async (keys: readonly string[]) => {
      await database.query(statement, [keys])
      return keys
    }),
  ) as [StatementBatch<string, string>, StatementBatch<string, string>]
  /**
   * Runs in the background. Readers of the unclaimed payments also check the registered ones, so the delay has no
   * effect.
   */
  const clearAway = ({ record, account }: LedgerRow): void => {
    const key = formatHex(record.tx)
    const batch = account.late ? claimingLate : claiming
    batch.run(key, key).catch(() => {})
  }
  const valuesOf = (some: readonly Name[], entries: readonly LedgerRow[]) =>
    some.map((name) => entries.map(columns[name][1]))
  const writing = (statement: string) => {
    const whole = withEffects(statement, reckonedIn + 1, names.indexOf('paid_at') + 1)
    return createBatch(async (all: readonly Writing[]) => {
      const entries = all.map(({ entry }) => entry)
      const effects = effectValues(
        all.map(({ effect }) => effect),
        lane,
      )
      const tokens = all.map(({ effect }) => effect.reckonedIn ?? null)
      const values = [...valuesOf(names, entries), tokens, ...effects]
      const written = await write(whole, values, entries, statement === insert)
      for (const [index, entry] of entries.entries()) if (written[index]) clearAway(entry)
      return written
    })
  }
  const using = replace(changing, given(changing))
  const updating = createBatch((entries: readonly LedgerRow[]) => write(using, valuesOf(changing, entries), entries))
  const [inserting, replacing] = [writing(insert), writing(replace(names, givenWhole, ` AND ${isReckoned}`))]
  return {
    find: (tx) => finding.run(formatHex(tx), formatHex(tx)),
    isVoided: async (tx) => (await database.query(voided('$1::bytea'), [formatHex(tx)])).length > 0,
    insert: (entry, effect) => inserting.run(formatHex(entry.record.tx), { entry, effect }),
    replace: (entry, effect) => {
      const key = formatHex(entry.record.tx)
      return effect ? replacing.run(key, { entry, effect }) : updating.run(key, entry)
    },
    drain: async () => {
      await Promise.all([finding, inserting, replacing, updating].map((batch) => batch.drain()))
      await Promise.all([claiming, claimingLate].map((batch) => batch.drain()))
    },
  }
}

/** The row as PostgreSQL sends it: 64-bit numbers are text. */
interface Row {
  readonly tx: Uint8Array
  readonly request: string
  readonly payer: string
  readonly scope: string
  readonly recipient: string
  readonly token: TokenCode
  readonly required: string
  readonly received: string
  readonly unit: Unit
  readonly amount: string
  readonly slot: string
  readonly paid_at: string
  readonly usable_until: string
  readonly registered_at: string
  readonly late: boolean
  readonly finality: Finality
  readonly used: string
  readonly deliveries: string
  readonly free_uses: string
  readonly positions: string
  readonly fence: string
  readonly leases: string
  readonly version: string
  readonly endpoint: string
  readonly worth: string | null
  readonly rates: string | null
  readonly splits: string | null
  readonly delivered_at: string | null
  readonly delivered_last: string | null
  readonly undelivered_at: string | null
  readonly concluded_at: string | null
  readonly refunded_at: string | null
  readonly returned_slices: string
}

function readEntry(row: Row): LedgerRow {
  const record: PaymentRecord = {
    tx: new Uint8Array(row.tx),
    request: row.request,
    payer: row.payer,
    scope: parseText(row.scope),
    recipient: row.recipient,
    token: row.token,
    required: BigInt(row.required),
    received: BigInt(row.received),
    allowance: { unit: row.unit, amount: BigInt(row.amount) },
    slot: Number(row.slot),
    paidAt: Number(row.paid_at),
    usableUntil: Number(row.usable_until),
    finality: row.finality === 'finalized' ? 'finalized' : 'confirmed',
    endpoint: parseText(row.endpoint),
    worth: row.worth === null ? undefined : BigInt(row.worth),
    rates: parseRates(row.rates),
    ...parseParts(row.splits),
  }
  const account: PaymentAccount = {
    ...openAccount(record, Number(row.registered_at), row.late),
    finality: row.finality,
    used: BigInt(row.used),
    deliveries: BigInt(row.deliveries),
    freeUses: BigInt(row.free_uses),
    positions: parsePositions(row.positions),
    fence: BigInt(row.fence),
    deliveredAt: parseTime(row.delivered_at),
    deliveredLast: parseTime(row.delivered_last),
    undeliveredAt: parseTime(row.undelivered_at),
    concludedAt: parseTime(row.concluded_at),
    refundedAt: parseTime(row.refunded_at),
    returnedSlices: BigInt(row.returned_slices),
  }
  return { record, account, leases: parseLeases(row.leases), version: BigInt(row.version) }
}

export function readHolding({ account, leases }: LedgerRow, now: number): Holding {
  const isSliced = account.allowance.unit === 'request'
  const live: Lease[] = []
  const slices: Slice[] = []
  for (const [fence, lease] of leases) {
    if (isSliced && lease.from > 0n) slices.push({ fence, ...lease })
    else if (lease.deadline > now) live.push(lease)
  }
  return { account, live, slices }
}

export function readBooked({ record, account: { late, finality } }: LedgerRow): Booked {
  return { ...record, late, finality }
}

function formatTime(time: number | undefined): string | null {
  return time === undefined ? null : String(time)
}

function parseTime(time: string | null): number | undefined {
  return time === null ? undefined : Number(time)
}

/** `fence:amount:deadline:from` of each held grant. */
function formatLeases(leases: LedgerRow['leases']): string {
  return [...leases].map(([fence, { amount, deadline, from }]) => `${fence}:${amount}:${deadline}:${from}`).join(' ')
}

function parseLeases(text: string): LedgerRow['leases'] {
  const parts = text === '' ? [] : text.split(' ').map((lease) => lease.split(':'))
  return new Map(
    parts.map(([fence = '', amount = '', deadline, from = '0']) => [
      BigInt(fence),
      { amount: BigInt(amount), deadline: Number(deadline), from: BigInt(from) },
    ]),
  )
}

/** Condition: a response to the payment is running at `time`, an SQL expression. */
export const isHeldAt = (
  time: string,
): string => `EXISTS (SELECT FROM unnest(string_to_array(leases, ' ')) AS held (lease)
    WHERE split_part(lease, ':', 3)::bigint > ${time})`

/** Bytes in PostgreSQL's text format. */
export function formatHex(bytes: Uint8Array): string {
  return `\\x${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')}`
}
