/** The sums of payees and of their roles. Change them only inside `transactPayables`. */
import type { PayeeName } from '../../../core/payouts/ports/rewards.ts'
import { added, byRole, type Delta, keyOfPayee } from '../../rules/payables.ts'
import { formatText } from '../../stored-text.ts'
import { all, type Columns, type Dialect, type Query, raw, sql, type Work } from '../work.ts'
import { type PayeeRow, payeeColumns, readSums, type SumsRow } from './rows.ts'

type Sums = Omit<Delta, 'payee'>

const nameColumns: Columns<PayeeName> = {
  role: ['text', ({ role }) => role],
  payee: ['text', ({ payee }) => formatText(payee)],
}
const moneyColumns: Columns<Sums> = {
  accrued: ['numeric', ({ accrued }) => String(accrued)],
  owed: ['numeric', ({ owed }) => String(owed)],
  reserved: ['numeric', ({ reserved }) => String(reserved)],
  paid: ['numeric', ({ paid }) => String(paid)],
}
const money = raw('accrued, owed, reserved, paid')
const setMoney = raw(
  Object.keys(moneyColumns)
    .map((name) => `${name} = excluded.${name}`)
    .join(', '),
)

export const isPayee = ({ role, payee }: PayeeName): Query => sql`role = ${role} AND payee = ${formatText(payee)}`

/** The current rows of payees, by `keyOfPayee` of their stored names. */
export function* findPayees({ given }: Dialect, names: readonly PayeeName[]): Work<ReadonlyMap<string, PayeeRow>> {
  const columns = payeeColumns.replaceAll(/\w+/g, 'kept.$&')
  const rows = yield* all<PayeeRow>(sql`SELECT ${raw(columns)} FROM ${given(names, nameColumns)}
    JOIN {payees} AS kept ON kept.role = given.role AND kept.payee = given.payee`)
  return new Map(rows.map((row) => [keyOfPayee(row), row]))
}

/**
 * At most one delta per payee. The addition happens here, because money does not fit the integers of every database.
 */
export function* addToPayees(dialect: Dialect, deltas: readonly Delta[]): Work<void> {
  if (deltas.length === 0) return
  const before = yield* findPayees(dialect, deltas)
  const rowOf = ({ role, payee }: PayeeName) => before.get(keyOfPayee({ role, payee: formatText(payee) }))
  const after = deltas.map((delta) => {
    const row = rowOf(delta)
    return { payee: delta.payee, ...added<Sums>(row && readSums(row), delta) }
  })
  yield sql`INSERT INTO {payees} (role, payee, ${money}, upto)
    SELECT role, payee, ${money}, 0 FROM ${dialect.given(after, { ...nameColumns, ...moneyColumns })} WHERE true
    ON CONFLICT (role, payee) DO UPDATE SET ${setMoney}`
  const roles = yield* all<SumsRow>(sql`SELECT role, ${money} FROM {role_sums}`)
  const fresh = deltas.filter((delta) => rowOf(delta) === undefined)
  const sums = byRole(deltas).map((delta) => {
    const row = roles.find(({ role }) => role === delta.role)
    const payees = fresh.filter(({ role }) => role === delta.role).length
    return { payees, ...added<Sums>(row && readSums(row), delta) }
  })
  const roleColumns: Columns<(typeof sums)[number]> = {
    role: ['text', ({ role }) => role],
    payees: ['bigint', ({ payees }) => payees],
    ...moneyColumns,
  }
  yield sql`INSERT INTO {role_sums} AS kept (role, payees, ${money})
    SELECT role, payees, ${money} FROM ${dialect.given(sums, roleColumns)} WHERE true
    ON CONFLICT (role) DO UPDATE SET ${setMoney}, payees = kept.payees + excluded.payees`
}
