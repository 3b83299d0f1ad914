/** How the databases find what the books are asked for: by an index, so that ten million payments take no longer than ten. */
import { DatabaseSync } from '@photostructure/sqlite'
import { describe, expect, it, onTestFinished } from 'vitest'
import { captureStatuses, problemKinds } from '../../src/core/ports.ts'
import { createSqliteLedger } from '../../src/ledger/sqlite.ts'
import { openSqliteFile } from '../../src/ledger/sqlite-file.ts'
import { newPath } from './files.ts'
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

const tables = /^SCAN (payments|payers|seen|other|sightings|unclaimed|rollups|notices|shelf|usage|grants)\b/
const isWholeScan = (step: string): boolean => tables.test(step) && !/USING (COVERING )?INDEX/.test(step)

describe('a statement on a SQLite ledger', () => {
  it('never looks through a whole table, whatever is asked', async () => {
    const plans = await plansOf(async ({ books, journal, notices, shelf, ...ledger }) => {
      await ledger.take(takeOf(createPayment()))
      await journal?.unclaimed(10)
      await notices?.start()
      await notices?.sweep(10)
      await notices?.list({ most: 10 })
      await notices?.list({ state: 'failed', most: 10 })
      await shelf?.list('a')
      for (const period of [{}, { from: midnight }, { from: midnight, to: midnight + 30 * hourMs }]) {
        await books?.sums(period)
        await books?.endpoints(period, 10)
        await books?.usage(period)
      }
      const span = { from: midnight, to: midnight + 30 * hourMs }
      for (const step of ['hour', 'day'] as const) {
        await books?.series({ ...span, step })
        await books?.series({ ...span, step, endpoint: '/a' })
      }
      const after = { at: midnight, tx: createPayment().tx }
      for (const order of ['latest', 'oldest'] as const)
        for (const status of [undefined, ...captureStatuses])
          for (const filter of [
            {},
            { endpoint: '/a' },
            { token: 'SOL' as const },
            { endpoint: '/a', token: 'SOL' as const },
            { payer: 'payer-1', endpoint: '/a' },
            { request: 'request-1', payer: 'payer-1' },
          ])
            for (const place of [{}, { after }, span, { ...span, after }])
              await books?.captures({ order, most: 10, ...(status && { status }), ...filter, ...place })
      await books?.capture(after.tx)
      await books?.history(after.tx)
      await books?.countProblems(1000)
      for (const place of [{}, { after }])
        for (const kind of [undefined, ...problemKinds])
          await books?.problems({ most: 10, ...(kind && { kind }), ...place })
      const week = { from: midnight, to: midnight + 7 * 24 * hourMs, most: 10 }
      for (const place of [{}, { after }]) await books?.payers({ ...week, order: 'latest', ...place })
      await books?.payers({ ...week, order: 'revenue' })
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
})
