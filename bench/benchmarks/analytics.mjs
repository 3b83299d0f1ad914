// The questions of the analytics to the ledger, over 10,000 payments and over 10,000,000: the answers must not take longer.
// It writes some gigabytes. Rows and rollups are made by SQL, as the ledger writes them.
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import pg from 'pg'
import { openLedger } from '../../dist/ledger/open.js'
import { identity } from '../payment.mjs'
import { median, row } from '../statistics.mjs'

/**
 * @typedef {import('../../dist/core/ports/reports.js').Books} Books
 * @typedef {{ place: string, bytes: number }} Filled
 * @typedef {{ few: number, many: number, warmUp: number, queries: number }} Size
 */

const days = 30
const hourMs = 3_600_000
const from = Math.floor(Date.now() / (24 * hourMs)) * 24 * hourMs - days * 24 * hourMs
const to = from + days * 24 * hourMs
const clock = { now: () => to, monotonic: () => performance.now() }

/**
 * As the endpoints of the service ask.
 *
 * @type {Record<string, (books: Books, turn: number) => Promise<void>>}
 */
const questions = {
  summary: async (books) => {
    await books.sums({})
    await books.endpoints({}, 10)
    await books.sums({ from, to })
    await books.endpoints({ from: from + 5 * hourMs, to: to - 7 * hourMs }, 10)
  },
  feed: async (books, turn) => {
    const order = turn % 2 === 0 ? 'latest' : 'oldest'
    const page = await books.listPayments({ order, most: 50 })
    const last = page.at(-1)
    await books.listPayments({ order, most: 50, ...(last && { after: last }) })
    await books.listPayments({ order, most: 50, endpoint: `/api/resource-${turn % 20}` })
    await books.listPayments({ order, most: 50, token: 'SOL', status: 'confirmed', from: from + 99 * hourMs })
    await books.listPayments({ order, most: 50, status: 'expired' })
  },
  payers: async (books, turn) => {
    const page = await books.payers({ from, to, order: 'revenue', most: 50 })
    await books.payers({ from, to, order: 'revenue', most: 50, ...(page.next && { after: page.next }) })
    await books.payers({ from: to - 24 * hourMs, to, order: 'latest', most: 50 })
    const payer = page.payers.at(turn % page.payers.length)?.payer ?? ''
    await books.listPayments({ order: 'latest', most: 50, payer })
  },
  problems: async (books) => {
    await books.countProblems(1_000)
    const last = (await books.problems({ most: 50 })).at(-1)
    await books.problems({ most: 50, kind: 'late', ...(last && { after: last.payment }) })
  },
  series: async (books, turn) => {
    await books.series({ from, to, step: 'hour' })
    await books.series({ from, to, step: 'day', endpoint: `/api/resource-${turn % 20}` })
  },
}

/**
 * @param {import('../setting.mjs').Setting} setting
 * @param {Size} size
 * @param {'sqlite' | 'postgres'} store
 */
export async function benchAnalytics({ home, postgresPlace, say }, size, store) {
  const ledgers = []
  for (const amount of [size.few, size.many]) {
    const begun = performance.now()
    const { place, bytes } = await (store === 'sqlite'
      ? fillFile(join(home, `analytics-${amount}.sqlite`), amount)
      : fillDatabase(await postgresPlace(), amount))
    ledgers.push(await openLedger(place, { clock, identity }))
    const seconds = Math.round((performance.now() - begun) / 1000)
    say(`${store}: ${amount} payments written in ${seconds} s, ${Math.round(bytes / amount)} bytes each`)
  }
  const rows = []
  for (const [name, ask] of Object.entries(questions)) {
    const [small = [], large = []] = await compare(ask, ledgers, size)
    const ratio = median(large) / median(small)
    const result = row(`analytics/${name}-10m-${store}`, 'ms, to 10,000 payments', large, small, [ratio])
    say(`${result.name}: ${result.value} ms, ${result.ratio} of the time for ${size.few} payments`)
    rows.push(result)
  }
  for (const ledger of ledgers) await ledger.close()
  return rows
}

/**
 * In turns, so that a disturbance hits both.
 *
 * @param {(books: Books, turn: number) => Promise<void>} ask
 * @param {readonly { books?: Books }[]} ledgers
 * @param {Size} size
 */
async function compare(ask, ledgers, { warmUp, queries }) {
  const times = ledgers.map(() => /** @type {number[]} */ ([]))
  for (let turn = -warmUp; turn < queries; turn += 1) {
    for (const [index, { books }] of ledgers.entries()) {
      if (!books) throw new Error('The ledger keeps no books.')
      const begun = performance.now()
      // Never negative, so that it can choose an endpoint or a payer.
      await ask(books, turn + warmUp)
      if (turn >= 0) times[index]?.push(performance.now() - begun)
    }
  }
  return times
}

/**
 * One of a hundred is late, and one of a hundred reverted. Every second one is in USDC, spread evenly over endpoints and time.
 *
 * @param {string} number
 * @param {number} amount
 */
const facts = (number, amount) => ({
  paidAt: `(${from} + ${number} * ${to - from} / ${amount}) / 1000 * 1000`,
  endpoint: `'/api/resource-' || (${number} * 7 % 20)`,
  token: `CASE WHEN ${number} % 2 = 0 THEN 'USDC' WHEN ${number} % 3 = 0 THEN 'SOL' ELSE 'NATIVE' END`,
  isLate: `${number} % 100 = 7`,
  isReverted: `${number} % 100 = 13`,
  // Each payer pays ten times, days apart. Of a thousand payments one is not delivered, and one is too much.
  payer: `'payer-' || (${number} * 7919 % ${Math.ceil(amount / 10)})`,
  received: `CASE WHEN ${number} % 1000 = 500 THEN 10001 ELSE 10000 END`,
  undeliveredAt: `CASE WHEN ${number} % 1000 = 600 THEN ${from} END`,
})

/**
 * @param {string} path
 * @param {number} amount
 * @returns {Promise<Filled>}
 */
async function fillFile(path, amount) {
  await (await openLedger(path, { clock, identity })).close()
  const db = new DatabaseSync(path)
  const { paidAt, endpoint, token, isLate, isReverted, payer, received, undeliveredAt } = facts('n', amount)
  db.exec('PRAGMA synchronous = OFF; PRAGMA cache_size = -500000; PRAGMA wal_autocheckpoint = 100000')
  // Payments in the order of their time are written at the end of every index but that of their keys.
  const chunk = 500_000
  for (let at = 0; at < amount; at += chunk) {
    db.exec(`INSERT INTO payments (tx, request, payer, scope, recipient, token, required, received, unit, amount, slot, paid_at,
        usable_until, registered_at, state, finality, used, endpoint, worth, rates, undelivered_at)
      WITH RECURSIVE numbers (n) AS (SELECT ${at} UNION ALL SELECT n + 1 FROM numbers WHERE n < ${Math.min(at + chunk, amount) - 1})
      SELECT randomblob(64), hex(randomblob(16)), ${payer}, 'GET /api', 'recipient', ${token}, '10000',
        CAST(${received} AS TEXT),
        'request', 1, n, ${paidAt}, ${paidAt} + 86400000, ${paidAt}, iif(${isLate}, 'late', 'valid'),
        iif(${isReverted}, 'reverted', 'finalized'), 1, ${endpoint}, '10000000000', NULL, ${undeliveredAt} FROM numbers`)
  }
  for (const [grain, at, name] of grains()) {
    db.exec(`INSERT INTO rollups (grain, at, endpoint, token, payments, received_hi, received_lo,
      worth_hi, worth_lo, unvalued)
    SELECT '${grain}', ${at}, ${name}, token, count(*), 0, sum(CAST(received AS INTEGER)),
      sum(CAST(worth AS INTEGER)) / 1000000000000, sum(CAST(worth AS INTEGER)) % 1000000000000, 0
    FROM payments WHERE state = 'valid' AND finality <> 'reverted' GROUP BY 2, 3, 4`)
  }
  db.exec(`INSERT INTO payers (payer, at, token, payments, received_hi, received_lo, worth_hi, worth_lo, unvalued)
    SELECT payer, paid_at / ${24 * hourMs} * ${24 * hourMs}, token, count(*), 0,
      sum(CAST(received AS INTEGER)), sum(CAST(worth AS INTEGER)) / 1000000000000,
      sum(CAST(worth AS INTEGER)) % 1000000000000, 0
    FROM payments WHERE state = 'valid' AND finality <> 'reverted' GROUP BY 1, 2, 3`)
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  db.close()
  return { place: path, bytes: statSync(path).size }
}

/**
 * @param {string} url
 * @param {number} amount
 * @returns {Promise<Filled>}
 */
async function fillDatabase(url, amount) {
  await (await openLedger(url, { clock, identity })).close()
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { paidAt, endpoint, token, isLate, isReverted, payer, received, undeliveredAt } = facts('n', amount)
  const chunk = 500_000
  for (let at = 0; at < amount; at += chunk) {
    await client.query(`INSERT INTO paystile_payments (tx, request, payer, scope, recipient, token, required, received, unit, amount,
        slot, paid_at, usable_until, registered_at, late, finality, used, deliveries, free_uses, fence, leases, version, endpoint,
        worth, rates, undelivered_at)
      SELECT sha512(('a' || n)::bytea), md5(n::text), ${payer}, 'GET /api', 'recipient', ${token}, 10000, ${received}, 'request', 1,
        n, ${paidAt}, ${paidAt} + 86400000, ${paidAt}, ${isLate}, CASE WHEN ${isReverted} THEN 'reverted' ELSE 'finalized' END, 1, 0,
        0, 1, '', 2, ${endpoint}, 10000000000, NULL, ${undeliveredAt}
      FROM generate_series(${at}::bigint, ${Math.min(at + chunk, amount) - 1}::bigint) AS numbers (n)`)
  }
  // As two servers leave it that were restarted every hour.
  for (const [grain, at, name] of grains()) {
    await client.query(`INSERT INTO paystile_rollups (grain, at, endpoint, token, lane, payments, received, worth, unvalued)
      SELECT '${grain}', ${at}, ${name}, token, lane, count(*), sum(received), sum(worth), 0 FROM (
        SELECT *, (paid_at / ${hourMs} + slot % 2) % 8 AS lane FROM paystile_payments) AS payments
      WHERE NOT late AND finality <> 'reverted' GROUP BY 2, 3, 4, 5`)
  }
  await client.query(`INSERT INTO paystile_payers (payer, at, token, lane, payments, received, worth, unvalued)
    SELECT payer, paid_at / ${24 * hourMs} * ${24 * hourMs}, token, slot % 2, count(*), sum(received), sum(worth), 0
    FROM paystile_payments WHERE NOT late AND finality <> 'reverted' GROUP BY 1, 2, 3, 4`)
  await client.query('VACUUM ANALYZE')
  const { rows } = await client.query("SELECT pg_total_relation_size('paystile_payments') AS bytes")
  await client.end()
  return { place: url, bytes: Number(rows[0].bytes) }
}

/** Each grain of the rollups, with the SQL of its time and of its endpoint. */
function grains() {
  const [hour, day] = [hourMs, 24 * hourMs].map((span) => `paid_at / ${span} * ${span}`)
  return [
    ['all', '0', "''"],
    ['endpoint', '0', 'endpoint'],
    ['hour', hour, "''"],
    ['hour_endpoint', hour, 'endpoint'],
    ['day_endpoint', day, 'endpoint'],
  ]
}
