/** What is special about the books in PostgreSQL: many servers that change them at the same moment. */
import { randomBytes } from 'node:crypto'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type Database, openDatabase } from '../../src/ledger/postgres/database.ts'
import { openPostgresLedger } from '../../src/ledger/postgres/ledger.ts'
import { createRows } from '../../src/ledger/postgres/payments-and-grants.ts'
import { createPostgresStore } from '../../src/ledger/postgres/run-statements.ts'
import { rebuildBooks } from '../../src/ledger/sql/books/audit.ts'
import { postgresServer } from '../harness/database.ts'
import { granted } from './grants-fixture.ts'
import { bytes, dispatchesOf, plannedBy, planOf } from './payables-fixture.ts'
import { createPayment, createSighting, createTestClock, identity, leaseMs, startOfTests, takeOf } from './payments.ts'

async function newPlace() {
  const url = await postgresServer().place()
  const clock = createTestClock()
  const open = async () => {
    const ledger = await openPostgresLedger(url, { identity, clock, timeoutMs: 60_000 })
    onTestFinished(() => ledger.close())
    return ledger
  }
  const database = openDatabase(url, 2_000)
  onTestFinished(() => database.close())
  return { url, clock, open, database }
}

const sightingOf = (tx: Uint8Array) => createSighting({ tx, claimableUntil: startOfTests + 1000 })

describe('servers on one database', () => {
  it('T169: change the same lines of the books in any order, and all changes count', async () => {
    const { open } = await newPlace()
    const ledgers = await Promise.all([1, 2, 3, 4].map(open))
    const pay = async (ledger: (typeof ledgers)[number], number: number) => {
      const payment = createPayment({ endpoint: `/${number % 7}`, paidAt: startOfTests + (number % 5) * 3_600_000 })
      await ledger.journal.sight([sightingOf(payment.tx)])
      const { grant } = granted(await ledger.take(takeOf(payment)))
      if (number % 3 === 0) await ledger.journal.conclude([{ tx: payment.tx, finality: 'reverted' }])
      await ledger.end(grant, 'delivered', 1n)
    }
    await Promise.all(
      Array.from({ length: 400 }, (_, number) => pay(ledgers[number % 4] as (typeof ledgers)[number], number)),
    )
    const { books } = ledgers[0] ?? expect.fail()
    expect(await books.audit()).toEqual([])
    expect((await books.sums({})).map(({ payments }) => payments)).toEqual([266])
    expect(await ledgers[0]?.journal.unclaimed(10)).toEqual([])
  })

  it('have a refund land before the books are rebuilt, or after: it waits meanwhile, and counts once', async () => {
    const { open, database, clock } = await newPlace()
    const ledger = await open()
    const dispatches = dispatchesOf(ledger)
    const { tx, ...payment } = createPayment()
    await ledger.take(takeOf({ tx, ...payment }))
    clock.advance(leaseMs)
    const refunds = { tx, units: payment.received }
    const { id } = plannedBy(await dispatches.plan(planOf({ kind: 'refund', lockKey: 'refund/1', voids: tx, refunds })))
    await dispatches.sign(id, 1, bytes)
    let landing: Promise<unknown> = Promise.resolve()
    await database.transact(async (query) => {
      await query('LOCK TABLE paystile_payments IN EXCLUSIVE MODE')
      landing = dispatches.land(id, 2, 7)
      const pause = new Promise((resolve) => setTimeout(resolve, 50, 'waits'))
      expect(await Promise.race([landing, pause])).toBe('waits')
    })
    await landing
    expect(await ledger.books.audit()).toEqual([])
    expect(await ledger.books.sums({})).toMatchObject([{ refunded: payment.received, refundedWorth: payment.worth }])
  })

  it('that register a payment in the moment when another notes it list it once, and never as unclaimed', async () => {
    const { open, database, clock } = await newPlace()
    const [one, other] = [await open(), await open()]
    await one.events.start()
    const payment = createPayment()
    // Neither sees what the other has not committed yet, so it stays behind.
    await one.journal.sight([sightingOf(payment.tx)])
    const [left] = await database.query('SELECT * FROM paystile_unclaimed')
    await other.take(takeOf(payment))
    await other.close()
    const names = Object.keys(left ?? {})
    const places = names.map((_, index) => `$${index + 1}`)
    const insert = `INSERT INTO paystile_unclaimed (${names.join()}) VALUES (${places.join()})`
    await database.query(insert, Object.values(left ?? {}))

    const list = (status?: 'pending' | 'expired') =>
      one.books.listPayments({ order: 'latest', most: 10, ...(status && { status }) })
    expect((await list())?.map(({ state }) => state)).toEqual(['confirmed'])
    expect(await list('pending')).toEqual([])
    expect((await one.books.findPayment(payment.tx))?.state).toBe('confirmed')
    expect(await one.journal.unclaimed(10)).toEqual([])
    clock.advance(60_000)
    expect(await list('expired')).toEqual([])
    expect(await one.events.sweep(10)).toBe(0)
    expect((await one.events.list({ most: 10 }))?.map(({ kind }) => kind)).toEqual(['payment.confirmed'])
  })

  it('keep only unclaimed payments among the observed ones', async () => {
    const { open, database } = await newPlace()
    const ledger = await open()
    const [before, after, late] = [createPayment(), createPayment(), createPayment()]
    await ledger.journal.sight([sightingOf(before.tx), sightingOf(late.tx)])
    for (const payment of [before, after]) await ledger.take(takeOf(payment))
    await ledger.recordLate(late)
    await ledger.journal.sight([sightingOf(after.tx), sightingOf(before.tx)])
    await ledger.close()
    const kept = await database.query('SELECT tx, late FROM paystile_unclaimed')
    expect(kept.map((row) => [new Uint8Array(row['tx'] as Uint8Array), row['late']])).toEqual([[late.tx, true]])
  })

  it('skip an event that another server holds', async () => {
    const { open, database } = await newPlace()
    const ledger = await open()
    await ledger.events.start()
    for (let time = 0; time < 3; time += 1) await ledger.take(takeOf(createPayment()))
    await database.transact(async (query) => {
      await query('SELECT id FROM paystile_notices ORDER BY id LIMIT 1 FOR UPDATE')
      expect(await ledger.events.take('', 10, 1000)).toHaveLength(2)
    })
    expect(await ledger.events.take('', 10, 1000)).toHaveLength(1)
  })

  it('do not register while the books are written anew', async () => {
    const { open, database } = await newPlace()
    const ledger = await open()
    await ledger.take(takeOf(createPayment()))
    // As if another server had entered it: on lines of its own it would wait in any case.
    await database.query('UPDATE paystile_rollups SET lane = 8')
    let paid: Promise<unknown> | undefined
    const waiting = async () => (await database.query('SELECT FROM pg_locks WHERE NOT granted')).length
    const meddled: Database = {
      ...database,
      transact: (work) =>
        database.transact((query) =>
          work(async (...order) => {
            const rows = await query(...order)
            if (!order[0].startsWith('DELETE FROM paystile_rollups')) return rows
            let isPaid = false
            paid = ledger.take(takeOf(createPayment())).then(() => {
              isPaid = true
            })
            // Until it is done, or somebody has to wait.
            while (!isPaid && (await waiting()) === 0) await new Promise((resolve) => setTimeout(resolve, 5))
            return rows
          }),
        ),
    }
    await rebuildBooks(createPostgresStore(meddled, 0), 'USDC')
    await paid
    expect(await ledger.books.audit()).toEqual([])
    expect((await ledger.books.sums({}))?.[0]?.payments).toBe(2)
  })

  it('enter a payment in the books once, for any writer', async () => {
    const { open, database } = await newPlace()
    const ledger = await open()
    await ledger.events.start()
    const rows = [createRows(database, 1), createRows(database, 2)]
    const payment = createPayment()
    granted(await ledger.take(takeOf(payment)))
    const entry = await rows[0]?.find(payment.tx)
    if (!entry) throw new Error('it was not registered')
    const changes = [{ keys: [{ grain: 'all', at: 0, endpoint: '', token: 'USDC' }], counts: lineOf(1) }] as const
    const effect = { changes, notices: ['payment.confirmed'] as const, at: startOfTests }
    const fresh = { ...entry, record: { ...entry.record, tx: new Uint8Array(randomBytes(64)) } }
    // Together with one that is new, in one statement.
    const written = await Promise.all([entry, fresh].map((one) => rows[0]?.insert({ ...one, version: 1n }, effect)))
    expect(written).toEqual([false, true])
    const stale = { ...entry, version: entry.version + 5n }
    expect(await rows[1]?.replace(stale, effect)).toBe(false)
    const [sum] = await database.query("SELECT sum(payments) AS payments FROM paystile_rollups WHERE grain = 'all'")
    expect(Number(sum?.['payments'])).toBe(2)
    expect(await ledger.events.list({ most: 10 })).toHaveLength(2)
  })

  it('add to the books in lanes of their own, of which only the sum counts', async () => {
    const { open, database } = await newPlace()
    const ledger = await open()
    const payment = createPayment()
    await ledger.take(takeOf(payment))
    await database.query('UPDATE paystile_rollups SET lane = 8')
    await ledger.journal.conclude([{ tx: payment.tx, finality: 'reverted' }])
    const lines = await database.query("SELECT payments FROM paystile_rollups WHERE grain = 'all' ORDER BY payments")
    expect(lines.map(({ payments }) => Number(payments))).toEqual([-1, 1])
    expect(await ledger.books.sums({})).toEqual([])
    expect(await ledger.books.endpoints({}, 5)).toEqual([])
    expect(await ledger.books.audit()).toEqual([])
  })
})

describe('plans that the server keeps', () => {
  it('are omitted if a pooler assigns a new connection to each statement', async () => {
    const { open, database } = await newPlace()
    await (await open()).close()
    const insert = "INSERT INTO paystile_meta (key, value) VALUES ($1, 'x') RETURNING key"
    expect(await database.query(insert, ['a'], { isFrequent: true })).toEqual([{ key: 'a' }])
    await database.query('DEALLOCATE ALL')
    expect(await database.query(insert, ['b'], { isFrequent: true })).toEqual([{ key: 'b' }])
    expect(await database.query(insert, ['c'], { isFrequent: true })).toEqual([{ key: 'c' }])
    expect(await database.query('SELECT name FROM pg_prepared_statements')).toEqual([])
    await expect(database.query(insert, ['c'], { isFrequent: true })).rejects.toThrow(/duplicate key/)
  })
})

function lineOf(payments: number) {
  return { payments, received: 1n, worth: 1n, unvalued: 0, refunded: 0n, refundedWorth: 0n }
}
