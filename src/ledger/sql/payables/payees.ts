/** Payees: which of them are due, and the amount that each is owed. */
import type { PayeeName, Rewards } from '../../../core/payouts/ports/rewards.ts'
import type { Clock } from '../../../core/runtime.ts'
import { readTime } from '../../rules/grants.ts'
import { computeReach } from '../../rules/payables.ts'
import { checkCount } from '../../rules/periods.ts'
import { formatText } from '../../stored-text.ts'
import { all, first, type Query, raw, readMoney, type SqlStore, sql, type Whole, type Work } from '../work.ts'
import { isPayee } from './payee-balances.ts'
import { type AccrualRow, type PayeeRow, payeeColumns, readPayee, readSums, type SumsRow } from './rows.ts'

const columns = raw(payeeColumns)

export function createPayees(
  store: SqlStore,
  clock: Clock,
): Pick<Rewards, 'due' | 'payees' | 'payee' | 'owed' | 'park' | 'sums'> {
  const { dialect } = store
  return {
    due: (least, most) =>
      store.read(function* () {
        const now = readTime(clock)
        const order = sql`ORDER BY ${dialect.largest('owed')}, role, payee LIMIT ${checkCount(most)}`
        const isFree = (isParked: Query) => sql`SELECT * FROM (SELECT ${columns} FROM {payees}
          WHERE ${dialect.isFree} AND ${isParked} AND ${dialect.isAtLeast('owed', least)} ${order}) AS one`
        const rows = yield* all<PayeeRow>(sql`SELECT * FROM (${isFree(raw('parked_until = 0'))} UNION ALL
          ${isFree(sql`parked_until > 0 AND parked_until <= ${now}`)}) AS free ${order}`)
        return rows.map((row) => readPayee(row, now))
      }),
    payees: ({ role, after, most }) =>
      store.read(function* () {
        const isOwn = role === undefined ? raw('') : sql`role = ${role} AND `
        const rows = yield* all<PayeeRow>(sql`SELECT ${columns} FROM {payees}
          WHERE ${isOwn}(role, payee) > (${after?.role ?? ''}, ${formatText(after?.payee ?? '')})
          ORDER BY role, payee LIMIT ${checkCount(most)}`)
        const now = readTime(clock)
        return rows.map((row) => readPayee(row, now))
      }),
    payee: (name) =>
      store.read(function* () {
        const row = yield* first<PayeeRow>(sql`SELECT ${columns} FROM {payees} WHERE ${isPayee(name)}`)
        return row && readPayee(row, readTime(clock))
      }),
    owed: (name, most) =>
      store.read(function* () {
        // A payout in between leaves fewer shares. The result then contains all shares up to the limit, and still
        // matches their sum.
        const reach = most === undefined ? undefined : yield* findReach(name, most)
        type OwedRow = { readonly rate: string; readonly after: Whole; readonly last: Whole; readonly total: string }
        const rows = yield* all<OwedRow>(sql`SELECT rate, after, max(number) AS last, ${dialect.total('units')} AS total
          FROM (${selectUnpaid(name)}) AS unpaid WHERE number <= ${reach ?? Number.MAX_SAFE_INTEGER} GROUP BY rate, after`)
        if (rows.length === 0) return undefined
        const through = rows.reduce((most, { last }) => Math.max(most, Number(last)), 0)
        const accrual = yield* first<Pick<AccrualRow, 'tx'>>(sql`SELECT tx FROM {accruals} WHERE number = ${through}`)
        const atRates = rows.map(({ rate, total }) => ({ rate: BigInt(rate), units: readMoney(total) }))
        return {
          from: Number(rows[0]?.after),
          through,
          units: atRates.reduce((sum, { units }) => sum + units, 0n),
          atRates: atRates.sort((one, other) => (one.rate < other.rate ? -1 : 1)),
          tx: new Uint8Array(accrual?.tx ?? []),
        }
      }),
    park: (name, why, until) =>
      store.write(function* () {
        yield sql`UPDATE {payees} SET why = ${formatText(why)}, parked_until = ${Math.ceil(until)} WHERE ${isPayee(name)}`
      }),
    sums: () =>
      store.read(function* () {
        const rows = yield* all<SumsRow & { readonly payees: Whole }>(
          sql`SELECT role, payees, accrued, owed, reserved, paid FROM {role_sums} ORDER BY role`,
        )
        return rows.map((row) => ({ ...readSums(row), payees: Number(row.payees) }))
      }),
  }
}

/** Computes `computeReach` page by page, so that it reads few rows more than necessary. */
function* findReach(name: PayeeName, most: bigint): Work<number | undefined> {
  const shares: { readonly number: number; readonly units: bigint }[] = []
  for (let [size, after] = [1_000, 0]; ; size = Math.min(size * 4, 64_000)) {
    const rows = yield* all<{ readonly number: Whole; readonly units: string }>(sql`SELECT number, units
      FROM (${selectUnpaid(name)}) AS unpaid WHERE number > ${after} ORDER BY number LIMIT ${size}`)
    shares.push(...rows.map(({ number, units }) => ({ number: Number(number), units: BigInt(units) })))
    const reach = computeReach(shares, most)
    after = shares.at(-1)?.number ?? 0
    if (rows.length < size || reach !== after) return reach
  }
}

/** The shares of a payee that are neither paid nor reserved. */
function selectUnpaid({ role, payee }: PayeeName): Query {
  return sql`SELECT number, units, rate, kept.upto AS after FROM {payees} AS kept
      JOIN {shares} AS shared ON shared.role = kept.role AND shared.payee = kept.payee AND number > kept.upto
    WHERE kept.role = ${role} AND kept.payee = ${formatText(payee)}`
}
