/** How PostgreSQL finds payables, outgoing transactions and submissions: by an index, so that old rows cost nothing. */
import { expect, it, onTestFinished } from 'vitest'
import { openLedger } from '../../src/ledger/open.ts'
import type { Database } from '../../src/ledger/postgres/database.ts'
import { openDatabase } from '../../src/ledger/postgres/database.ts'
import { createPostgresStore } from '../../src/ledger/postgres/run-statements.ts'
import { createPorts } from '../../src/ledger/sql/ports.ts'
import { postgresServer } from '../harness/database.ts'
import { accrualOf, accrue, partner, planOf } from './payables-fixture.ts'
import { createTestClock, identity } from './payments.ts'

it('PostgreSQL scans no whole table for payables, outgoing transactions and submissions', async () => {
  const url = await postgresServer().place()
  const clock = createTestClock()
  await (await openLedger(url, { clock, identity })).close()
  const database = openDatabase(url, 5_000)
  onTestFinished(() => database.close())
  const asked = new Map<string, readonly unknown[]>()
  const record =
    (query: Database['query']): Database['query'] =>
    (sql, values = [], options) => {
      asked.set(sql, values)
      return query(sql, values, options)
    }
  const recording: Database = {
    ...database,
    query: record(database.query),
    transact: (work) => database.transact((query) => work(record(query))),
  }
  const { rewards, outgoing: dispatches, submissions } = createPorts(createPostgresStore(recording, 0), clock)
  await accrue(rewards, accrualOf({ 'partner:partner-wallet': 5n, 'developer:d': 7n }))
  const line = { ...partner, from: 0, through: 1, gross: 5n, units: 5n, opening: 0n }
  const after = { at: 1, id: 'a' }
  await dispatches.plan(planOf({ lines: [line] }))
  asked.clear()
  const [tx, message] = [new Uint8Array(64), new Uint8Array(32)]
  const names = { request: 'r', payer: 'p', client: 'c', sealed: '' }
  await submissions.open(
    { tx, message, ...names, slot: 1, lamports: 1n, heldUntil: 0, at: 0 },
    { perDay: 1n, lostPerDay: 1n, failuresPerPayer: 1, failuresPerClient: 1 },
  )
  const reads = [
    ...[rewards.accruable(5), rewards.spent('payer-1', 0, 9e12), rewards.accruals(0, 5), rewards.due(1n, 5)],
    ...[rewards.owed({ role: 'developer', payee: 'd' }), rewards.owed({ role: 'developer', payee: 'd' }, 5n)],
    ...[rewards.payees({ most: 5, role: 'partner', after: partner })],
    ...[rewards.shared([new Uint8Array(64)]), dispatches.open(), dispatches.findByLockKey('a'), dispatches.get('a')],
    ...[dispatches.list({ most: 5, after }), dispatches.list({ most: 5, kind: 'payout', after })],
    ...[dispatches.list({ most: 5, state: 'landed' }), dispatches.list({ most: 5, kind: 'refund', state: 'landed' })],
    ...[dispatches.findByLockKeys(['refund/a', 'refund/b']), dispatches.linesOf(partner, 5)],
    ...[dispatches.planned(0), dispatches.signings(0), dispatches.lines('a')],
    ...[
      submissions.find(tx),
      submissions.hasOpen('p'),
      submissions.listOpen(1, 5),
      submissions.sums(0),
      submissions.forget(1),
    ],
  ]
  await Promise.all(reads)
  const plans = await database.transact(async (query) => {
    await query('SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off; SET LOCAL enable_bitmapscan = off')
    const found: { readonly sql: string; readonly plan: string }[] = []
    for (const [sql, values] of asked) {
      const rows = await query(`EXPLAIN ${sql}`, values)
      found.push({ sql, plan: rows.map((row) => row['QUERY PLAN']).join('\n') })
    }
    return found
  })
  expect(plans.length).toBeGreaterThanOrEqual(reads.length)
  expect(plans.filter(({ plan }) => /Seq Scan/.test(plan))).toEqual([])
  const indexes = (part: string) => {
    const { plan } = plans.find(({ sql }) => sql.includes(part)) ?? expect.fail(part)
    return [...plan.matchAll(/using (\w+)/g)].map(([, index]) => index)
  }
  expect(indexes('parked_until <=')).toEqual(['paystile_payees_due', 'paystile_payees_parked'])
  expect(indexes('AS ripe')).toEqual(expect.arrayContaining(['paystile_ripening_due', 'paystile_payments_pkey']))
  expect(indexes('FROM paystile_spendings')).toEqual(
    expect.arrayContaining(['paystile_spendings_pkey', 'paystile_accruals_payer']),
  )
  expect(indexes('part.number = kept.number')).toEqual(
    expect.arrayContaining(['paystile_accruals_tx_key', 'paystile_shares_number']),
  )
  expect(indexes('lane = given.name')).toEqual(expect.arrayContaining(['paystile_dispatches_lane']))
  expect(indexes('JOIN paystile_shares')).toEqual(
    expect.arrayContaining(['paystile_payees_pkey', 'paystile_shares_pkey']),
  )
})
