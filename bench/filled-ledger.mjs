// Ledgers with millions of payments. Rows and rollups are made by SQL, as the ledger writes them.
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import pg from 'pg'
import { openLedger } from '../dist/ledger/open.js'
import { identity } from './payment.mjs'

/**
 * @typedef {{ place: string, bytes: number }} Filled
 * @typedef {'sqlite' | 'postgres'} Store
 */

const days = 30
export const hourMs = 3_600_000
export const from = Math.floor(Date.now() / (24 * hourMs)) * 24 * hourMs - days * 24 * hourMs
export const to = from + days * 24 * hourMs
const clock = { now: () => to, monotonic: () => performance.now() }

/**
 * @param {import('./setting.mjs').Setting} setting
 * @param {Store} store
 * @param {number} amount Payments.
 */
export async function openFilled({ home, postgresPlace, say }, store, amount) {
  const begun = performance.now()
  files += 1
  const { place, bytes } = await (store === 'sqlite'
    ? fillFile(join(home, `filled-${files}.sqlite`), amount)
    : fillDatabase(await postgresPlace(), amount))
  const ledger = await openLedger(place, { clock, identity })
  const seconds = Math.round((performance.now() - begun) / 1000)
  say(`${store}: ${amount} payments written in ${seconds} s, ${Math.round(bytes / amount)} bytes each`)
  return ledger
}

let files = 0

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
