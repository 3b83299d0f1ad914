/** What is owed, added up again in one transaction, which sees everything as it was at one moment. */
import type { Discrepancy } from '../../core/payouts/discrepancy.ts'
import type { PayeeName, RoleSum } from '../../core/payouts/ports/rewards.ts'
import { auditPayees } from '../rules/payables-audit.ts'
import type { SumsRow } from '../sql/payables.ts'
import { readSums } from '../sql/payables.ts'
import { parseText } from '../stored-text.ts'
import type { Database } from './database.ts'

const auditMs = 600_000

const lines = `SELECT role, payee, sum(gross) FILTER (WHERE state IN ('planned', 'signed')) AS open,
    sum(gross) FILTER (WHERE state = 'landed') AS settled, sum(units) FILTER (WHERE state = 'landed') AS sent
  FROM paystile_payout_lines JOIN paystile_dispatches ON id = dispatch GROUP BY role, payee`
const shares = `SELECT shared.role, shared.payee, sum(units) AS shares,
    sum(units) FILTER (WHERE number > coalesce(upto, 0)) AS after
  FROM paystile_shares AS shared LEFT JOIN paystile_payees AS kept ON kept.role = shared.role AND kept.payee = shared.payee
  GROUP BY shared.role, shared.payee`
const money = ['accrued', 'owed', 'reserved', 'paid', 'shares', 'after', 'open', 'settled', 'sent'] as const
const payees = `SELECT role, payee, ${money.map((name) => `coalesce(${name}, 0) AS ${name}`).join(', ')}
  FROM paystile_payees FULL JOIN (${shares}) AS shares USING (role, payee) FULL JOIN (${lines}) AS lines USING (role, payee)`
const sums = 'SELECT role, payees, accrued, owed, reserved, paid FROM paystile_role_sums'
const numbers = 'SELECT coalesce(max(number), 0) AS last, count(*) AS count FROM paystile_accruals'

type Row = Record<(typeof money)[number], string> & PayeeName

export function auditPostgresPayables(database: Database): Promise<readonly Discrepancy[]> {
  return database.transact(async (query) => {
    await query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY')
    const all = async <Row>(sql: string) => (await query(sql, [], { timeoutMs: auditMs })) as unknown as readonly Row[]
    const rows = await all<Row>(payees)
    const kept = await all<SumsRow & Record<'payees', string>>(sums)
    const [counted] = await all<Record<'last' | 'count', string>>(numbers)
    return auditPayees(
      rows.map((row) => ({
        ...readSums(row),
        payee: parseText(row.payee),
        shares: BigInt(row.shares),
        after: BigInt(row.after),
        open: BigInt(row.open),
        settled: BigInt(row.settled),
        sent: BigInt(row.sent),
      })),
      kept.map((row): RoleSum => ({ ...readSums(row), payees: Number(row.payees) })),
      { last: Number(counted?.last), count: Number(counted?.count) },
    )
  })
}
