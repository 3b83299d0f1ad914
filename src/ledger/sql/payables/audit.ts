/** Recounts the payables in one consistent state. */
import type { Discrepancy } from '../../../core/payouts/discrepancy.ts'
import type { PayeeName } from '../../../core/payouts/ports/rewards.ts'
import { keyOfPayee } from '../../rules/payables.ts'
import { auditPayees, noCount, type PayeeCount } from '../../rules/payables-audit.ts'
import { parseText } from '../../stored-text.ts'
import { all, type Dialect, first, type Query, raw, readMoney, type SqlStore, sql, type Whole } from '../work.ts'
import { readSums, type SumsRow } from './rows.ts'

const auditMs = 600_000

type Counted = 'shares' | 'after' | 'open' | 'settled' | 'sent'

export function auditPayables({ snapshot, dialect }: SqlStore): Promise<readonly Discrepancy[]> {
  return snapshot(function* () {
    const payees = new Map<string, PayeeCount>()
    const change = ({ role, payee }: PayeeName, changes: (before: PayeeCount) => Partial<PayeeCount>): void => {
      const name = { role, payee: parseText(payee) }
      const before = payees.get(keyOfPayee(name)) ?? { ...noCount, ...name }
      payees.set(keyOfPayee(name), { ...before, ...changes(before) })
    }
    const kept = sql`SELECT role, payee, accrued, owed, reserved, paid FROM {payees}`
    for (const row of yield* all<SumsRow & PayeeName>({ ...kept, timeoutMs: auditMs })) change(row, () => readSums(row))
    for (const [name, query] of Object.entries(selectCounts(dialect)) as [Counted, Query][])
      for (const row of yield* all<PayeeName & { readonly total: string }>({ ...query, timeoutMs: auditMs }))
        change(row, (before) => ({ [name]: before[name] + readMoney(row.total) }))
    const sums = yield* all<SumsRow & { readonly payees: Whole }>(sql`SELECT * FROM {role_sums}`)
    const numbers = yield* first<Record<'last' | 'count', Whole>>({
      ...sql`SELECT coalesce(max(number), 0) AS last, count(*) AS count FROM {accruals}`,
      timeoutMs: auditMs,
    })
    return auditPayees(
      [...payees.values()],
      sums.map((row) => ({ ...readSums(row), payees: Number(row.payees) })),
      { last: Number(numbers?.last), count: Number(numbers?.count) },
    )
  })
}

function selectCounts({ total }: Dialect): Readonly<Record<Counted, Query>> {
  // In groups of a million, so that no sum exceeds the range of the database.
  const perMillion = raw('GROUP BY share.role, share.payee, share.number / 1000000')
  const shares = sql`SELECT share.role, share.payee, ${total('share.units')} AS total FROM {shares} AS share`
  const lines = (column: string, isOwn: string) => sql`SELECT line.role, line.payee, ${total(`line.${column}`)} AS total
    FROM {payout_lines} AS line JOIN {dispatches} AS sent ON sent.id = line.dispatch WHERE ${raw(isOwn)} GROUP BY 1, 2`
  return {
    shares: sql`${shares} ${perMillion}`,
    after: sql`${shares} LEFT JOIN {payees} AS kept ON kept.role = share.role AND kept.payee = share.payee
      WHERE share.number > coalesce(kept.upto, 0) ${perMillion}`,
    open: lines('gross', "sent.state IN ('planned', 'signed')"),
    settled: lines('gross', "sent.state = 'landed'"),
    sent: lines('units', "sent.state = 'landed'"),
  }
}
