/** How the databases find what the books are asked for: by an index, so that ten million payments take no longer than ten. */
import { DatabaseSync } from '@photostructure/sqlite'
import { describe, expect, it, onTestFinished } from 'vitest'
import { paymentListStatuses } from '../../src/core/payment/history.ts'
import { problemKinds } from '../../src/core/ports/reports.ts'
import { openSqliteFile } from '../../src/ledger/sqlite/file.ts'
import { createSqliteLedger } from '../../src/ledger/sqlite/ledger.ts'
import { newPath } from './files.ts'
import { accrualOf, planOf } from './payables-fixture.ts'
import { createPayment, createTestClock, startOfTests, takeOf } from './payments.ts'

const hourMs = 3_600_000
const midnight = Math.floor(startOfTests / (24 * hourMs)) * 24 * hourMs

/** All statements that a ledger prepares while it is used, each with how SQLite would run it. */
async function plansOf(use: (ledger: ReturnType<typeof createSqliteLedger>) => Promise<unknown>) {
  const path = newPath()
  const file = await openSqliteFile(path, 20, () => {})
  const statements = new Set<string>()
  const prepare = (sql: string) => {
    statements.add(sql)
    return file.db.prepare(sql)
  }
  const db = new Proxy(file.db, { get: (target, name) => (name === 'prepare' ? prepare : Reflect.get(target, name)) })
  const ledger = createSqliteLedger({ ...file, db }, createTestClock())
  onTestFinished(() => ledger.close())
  await use(ledger)
  const looker = new DatabaseSync(path)
  onTestFinished(() => looker.close())
  return [...statements].map((sql) => {
    const steps = looker.prepare(`EXPLAIN QUERY PLAN ${sql}`).all() as { readonly detail: string }[]
    return { sql: sql.replaceAll(/\s+/g, ' '), steps: steps.map(({ detail }) => detail) }
  })
}

// What ripens is counted row by row: it is what was paid within a day or so.
const dues = 'accruals|spendings|shares|shared|part|payees|kept|dispatches|payout_lines|signings|submissions'
const tables = new RegExp(
  `^SCAN (payments|payers|seen|other|sightings|unclaimed|rollups|notices|shelf|usage|grants|${dues})\\b`,
)
const isWholeScan = (step: string): boolean => tables.test(step) && !/USING (COVERING )?INDEX/.test(step)

describe('a statement on a SQLite ledger', () => {
  it('never scans a whole table, for any query', async () => {
    const plans = await plansOf(async ({ books, journal, events: notices, kv, ...ledger }) => {
      await ledger.take(takeOf(createPayment()))
      await journal.unclaimed(10)
      await notices.start()
      await notices.sweep(10)
      await notices.list({ most: 10 })
      await notices.list({ state: 'failed', most: 10 })
      await kv.list('a')
      for (const period of [{}, { from: midnight }, { from: midnight, to: midnight + 30 * hourMs }]) {
        await books.sums(period)
        await books.endpoints(period, 10)
        await books.usage(period)
      }
      const span = { from: midnight, to: midnight + 30 * hourMs }
      for (const step of ['hour', 'day'] as const) {
        await books.series({ ...span, step })
        await books.series({ ...span, step, endpoint: '/a' })
      }
      const after = { at: midnight, tx: createPayment().tx }
      for (const order of ['latest', 'oldest'] as const)
        for (const status of [undefined, ...paymentListStatuses])
          for (const filter of [
            {},
            { endpoint: '/a' },
            { token: 'SOL' as const },
            { endpoint: '/a', token: 'SOL' as const },
            { payer: 'payer-1', endpoint: '/a' },
            { request: 'request-1', payer: 'payer-1' },
          ])
            for (const place of [{}, { after }, span, { ...span, after }])
              await books.listPayments({ order, most: 10, ...(status && { status }), ...filter, ...place })
      await books.sumPayments({ order: 'latest', most: 10, ...span, endpoint: '/a' })
      await books.payerSeries({ payer: 'payer-1', from: midnight, to: midnight + 24 * hourMs })
      await books.findPayers('a', 'b', 10)
      await books.findTransactions(after.tx, after.tx, 10)
      await books.findPayment(after.tx)
      await books.history(after.tx)
      await books.countProblems(1000)
      await books.countUndelivered(span)
      for (const place of [{}, { after }])
        for (const kind of [undefined, ...problemKinds])
          await books.problems({ most: 10, ...(kind && { kind }), ...place })
      const week = { from: midnight, to: midnight + 7 * 24 * hourMs, most: 10 }
      for (const place of [{}, { after }]) await books.payers({ ...week, order: 'latest', ...place })
      await books.payers({ ...week, order: 'revenue' })
    })
    const ordered = plans.filter(({ sql }) => /ORDER BY paid_at (ASC|DESC), tx/.test(sql))
    // What went wrong is in an index of its own, and payers are found by theirs.
    const problems = ordered.filter(({ sql }) => sql.includes("' AS kind"))
    const indexOf = ({ sql, steps }: (typeof plans)[number]) => [
      /'(\w+)' AS kind/.exec(sql)?.[1],
      / FROM (\w+)/.exec(sql)?.[1],
      /INDEX (\w+)/.exec(steps.join())?.[1],
    ]
    expect(new Set(problems.map((plan) => indexOf(plan).join(' ')))).toEqual(
      new Set([
        'reverted payments payments_reverted',
        'late payments payments_void',
        'undelivered payments payments_undelivered',
        'surplus payments payments_surplus',
        'unmatched unclaimed unclaimed_unmatched',
        ...['late', 'surplus', 'underpaid', 'unclaimed'].map((kind) => `${kind} unclaimed unclaimed_time`),
      ]),
    )
    const walks = ordered.filter(({ sql }) => sql.startsWith('SELECT payer,'))
    expect(new Set(walks.map((plan) => indexOf(plan)[2]))).toEqual(new Set(['payments_time']))
    const payers = plans.filter(
      ({ sql, steps }) => /\bpayers\b/.test(sql) && steps.join().includes('INDEX payers_worth'),
    )
    expect(payers).toHaveLength(1)
    const captures = ordered.filter((plan) => !problems.includes(plan) && !walks.includes(plan))
    expect(captures.length).toBeGreaterThan(100)
    expect(plans.filter(({ sql, steps }) => !/ORDER BY id LIMIT/.test(sql) && steps.some(isWholeScan))).toEqual([])
    // By the index that leaves least to be looked through.
    const indexes = captures.flatMap(({ sql, steps }) => {
      const [, index] = /payments USING INDEX (\w+)/.exec(steps.join()) ?? []
      if (!index) return []
      const isVoid = / WHERE \(state = 'late'/.test(sql)
      const exact = / request = /.test(sql) ? 'request' : / payer = /.test(sql) ? 'payer' : undefined
      if (exact) return [[index, `payments_${exact}`]]
      const best = / endpoint = /.test(sql) ? 'endpoint' : / token = /.test(sql) ? 'token' : 'time'
      return [[index, `payments_${isVoid ? 'void' : best}`]]
    })
    expect(indexes.filter(([index, best]) => index !== best)).toEqual([])
    expect(new Set(indexes.map(([index]) => index)).size).toBe(6)
    // But for what is pending and for what one requestId was paid with, which is little, the list is in order by its index: only those of one time are sorted.
    const sorted = captures.filter(({ sql }) => !/pending| request = /.test(sql))
    expect(sorted.filter(({ steps }) => steps.some((step) => /TEMP B-TREE FOR ORDER BY/.test(step)))).toEqual([])
    expect(
      captures.filter(
        ({ sql, steps }) => sql.includes('pending') && !steps.some((step) => step.includes('unclaimed_end')),
      ),
    ).toEqual([])
  })

  it('finds payables and outgoing transactions by their indexes', async () => {
    const name = { role: 'partner', payee: 'a' } as const
    const plans = await plansOf(async ({ rewards, outgoing: dispatches }) => {
      await rewards.start()
      await rewards.accrue(0, [accrualOf({ 'partner:a': 5n })])
      await rewards.accruable(5)
      await rewards.spent('payer-1', 0, 9e12)
      await rewards.accruals(0, 5)
      await rewards.due(1n, 5)
      for (const most of [undefined, 5n]) await rewards.owed(name, most)
      await rewards.payees({ most: 5, role: 'partner', after: name })
      await rewards.shared([createPayment().tx])
      await rewards.postpone([createPayment().tx], 1)
      const line = { ...name, from: 0, through: 1, gross: 5n, units: 5n, opening: 0n }
      const since = { since: 0, units: 100n, most: 100n }
      const planned = await dispatches.plan(planOf({ lines: [line], cap: since }))
      if (planned.kind !== 'planned') throw new Error(planned.kind)
      const { id, version } = planned.transaction
      await dispatches.sign(id, version, { signature: 's', lastValidBlockHeight: 1, slot: 1, sealed: '' }, '', since)
      await dispatches.land(id, version + 1, 1)
      const { tx } = createPayment()
      await dispatches.plan(
        planOf({ id: 'r', kind: 'refund', lockKey: 'r', voids: tx, refunds: { tx, units: 1n }, lines: [] }),
      )
      await dispatches.drop('r', 1, '')
      for (const state of [undefined, 'landed'] as const)
        for (const kind of [undefined, 'refund'] as const)
          await dispatches.list({ most: 5, ...(kind && { kind }), ...(state && { state }) })
      await dispatches.open()
      await dispatches.findByLockKey('a')
      await dispatches.findByLockKeys(['a', 'b'])
      await dispatches.linesOf(name, 5)
    })
    expect(plans.filter(({ steps }) => steps.some(isWholeScan)).map(({ sql }) => sql)).toEqual([])
    const indexesOf = (part: string) => {
      const found = plans.filter(({ sql }) => sql.includes(part))
      expect(found.length).toBeGreaterThan(0)
      return found.map(({ steps }) => {
        const used = steps.flatMap((step) => /USING (?:COVERING )?(INDEX \w+|PRIMARY KEY)/.exec(step)?.[1] ?? [])
        return used.map((index) => index.replace('INDEX ', ''))
      })
    }
    const first = (part: string) => indexesOf(part)[0]
    const unique = 'sqlite_autoindex_payments_1'
    expect(first('AS ripe JOIN payments')).toEqual(['ripening_due', 'ripening_due', unique])
    expect(first('FROM spendings WHERE payer = ?')).toEqual(['PRIMARY KEY', 'accruals_payer', 'accruals_payer'])
    expect(first('parked_until <= ?')).toEqual(['payees_due', 'payees_parked'])
    expect(first('JOIN shares AS shared ON')).toEqual(['PRIMARY KEY', 'PRIMARY KEY'])
    expect(first('FROM shares AS part WHERE')).toEqual(['sqlite_autoindex_accruals_1', 'shares_number'])
    expect(first('SELECT number, role, payee, units FROM shares')).toEqual(['shares_number'])
    expect(first('ORDER BY at, id')).toEqual(['dispatches_state'])
    expect(indexesOf('(at, id) < (?, ?)').flat()).toEqual([
      ...['dispatches_at', 'dispatches_kind', 'dispatches_state', 'dispatches_both'],
    ])
    expect(indexesOf('lane = ?').flat()).toEqual(['dispatches_under_way', 'dispatches_refund', 'dispatches_lane'])
    // What landed since, and what is still under way.
    expect(first("state = 'landed' AND changed_at >= ?")?.toSorted()).toEqual([
      'dispatches_changed',
      'dispatches_changed',
    ])
    // Every registration asks for it.
    expect(indexesOf('WHERE voids = ?')[0]).toEqual(['dispatches_voids'])
    expect(first('FROM payout_lines WHERE role = ?')).toEqual(['payout_lines_payee'])
    expect(first('FROM signings WHERE at >= ?')).toEqual(['PRIMARY KEY'])
    // In order by the index, but for what is under way, and those that were postponed, or parked, and whose time has come.
    const sorted = plans.filter(({ steps }) => steps.some((step) => /TEMP B-TREE FOR ORDER BY/.test(step)))
    expect(
      sorted.filter(({ sql }) => !/UNION ALL|verifications|ORDER BY at, id/.test(sql)).map(({ sql }) => sql),
    ).toEqual([])
  })

  it('finds submissions and their sums by indexes', async () => {
    const plans = await plansOf(async ({ submissions }) => {
      const { tx } = createPayment()
      const names = { request: 'r', payer: 'p', client: 'c', sealed: '' }
      const submission = { tx, message: new Uint8Array(32), ...names, slot: 1, lamports: 1n, heldUntil: 0, at: 0 }
      await submissions.open(submission, { perDay: 1n, lostPerDay: 1n, failuresPerPayer: 1, failuresPerClient: 1 })
      await submissions.find(tx)
      await submissions.hasOpen('p')
      await submissions.hold(tx, 1)
      await submissions.listOpen(1, 5)
      await submissions.close(tx, 'landed', 1n)
      await submissions.sums(0)
      await submissions.forget(1)
    })
    const own = plans.filter(({ sql }) => /\bsubmissions\b/.test(sql))
    expect(own.filter(({ steps }) => steps.some(isWholeScan))).toEqual([])
    const indexes = (part: string) => {
      const { steps } = own.find(({ sql }) => sql.includes(part)) ?? expect.fail(part)
      return steps.flatMap((step) => /USING ((?:COVERING )?INDEX \w+)/.exec(step)?.[1]?.replace('INDEX ', '') ?? [])
    }
    const [byTx, byMessage] = ['sqlite_autoindex_submissions_1', 'sqlite_autoindex_submissions_2']
    const summed = ['COVERING submissions_closed', 'COVERING submissions_closed', 'submissions_open']
    expect(indexes('OR message = ?')).toEqual([byTx, byMessage])
    expect(indexes('AS open_of_request')).toEqual([
      ...['submissions_request', 'submissions_payer', 'COVERING submissions_failed_payer'],
      ...['COVERING submissions_failed_client', ...summed],
    ])
    expect(indexes('SELECT (SELECT coalesce')).toEqual(summed)
    expect(indexes('ORDER BY at, tx')).toEqual(['submissions_open'])
    expect(indexes('DELETE FROM submissions')).toEqual([`COVERING ${byTx}`, 'submissions_closed'])
  })
})
