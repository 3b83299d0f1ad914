/**
 * The sums of payees and of their roles, in the ledger's PostgreSQL database.
 *
 * Whoever changes them holds one lock until its commit, on whichever server: so accruals are numbered in the order of their
 * commits, and what was read of payees, lanes and caps still holds when it is written.
 */
import type { Delta } from '../rules/payables.ts'
import { byRole } from '../rules/payables.ts'
import { formatText } from '../stored-text.ts'
import type { Database } from './database.ts'

/** Any number will do, as long as it stays the same. That of the schema is another. */
const lock = 7_402_402_403

export function transactPayables<T>(database: Database, work: (query: Database['query']) => Promise<T>): Promise<T> {
  return database.transact(async (query) => {
    await query('SELECT pg_advisory_xact_lock($1)', [lock])
    return work(query)
  })
}

const given = `unnest($1::text[], $2::text[], $3::numeric[], $4::numeric[], $5::numeric[], $6::numeric[])
  AS given (role, payee, accrued, owed, reserved, paid)`
const adding = (kept: string, given: string) =>
  ['accrued', 'owed', 'reserved', 'paid'].map((name) => `${name} = ${kept}.${name} + ${given}.${name}`).join(', ')
const enter = `INSERT INTO paystile_payees (role, payee, accrued, owed, reserved, paid, upto)
  SELECT role, payee, 0, 0, 0, 0, 0 FROM ${given} ON CONFLICT (role, payee) DO NOTHING RETURNING role`
const add = `UPDATE paystile_payees AS kept SET ${adding('kept', 'given')} FROM ${given}
  WHERE kept.role = given.role AND kept.payee = given.payee`
const addSums = `INSERT INTO paystile_role_sums AS kept (role, payees, accrued, owed, reserved, paid)
  SELECT role, payees, accrued, owed, reserved, paid FROM unnest($1::text[], $2::bigint[], $3::numeric[], $4::numeric[],
    $5::numeric[], $6::numeric[]) AS given (role, payees, accrued, owed, reserved, paid)
  ON CONFLICT (role) DO UPDATE SET payees = kept.payees + excluded.payees, ${adding('kept', 'excluded')}`

/** One for each payee at the most. `areNew`: there may be some of whom nothing is known yet. */
export async function addToPayees(query: Database['query'], deltas: readonly Delta[], areNew = false): Promise<void> {
  if (deltas.length === 0) return
  const values = [deltas.map(({ role }) => role), deltas.map(({ payee }) => formatText(payee)), ...moneyOf(deltas)]
  const fresh = areNew ? await query(enter, values) : []
  await query(add, values)
  const sums = byRole(deltas)
  const counts = sums.map((sum) => fresh.filter(({ role }) => role === sum.role).length)
  await query(addSums, [sums.map(({ role }) => role), counts, ...moneyOf(sums)])
}

function moneyOf(deltas: readonly Omit<Delta, 'payee'>[]): readonly (readonly string[])[] {
  return (['accrued', 'owed', 'reserved', 'paid'] as const).map((name) => deltas.map((delta) => String(delta[name])))
}
