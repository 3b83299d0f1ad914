// An export of payments, or a bare SELECT, in a process of its own: its CPU time, and the growth of its memory.
import { DatabaseSync } from '@photostructure/sqlite'
import { createExports } from '../../dist/api/exports/routes.js'
import { openSqliteLedger } from '../../dist/ledger/sqlite/ledger.js'
import { exportedFrom, ledgerParts } from '../benchmarks/export.mjs'

/** @typedef {'baseline' | 'csv' | 'json' | 'xlsx'} Format */

export async function open() {
  return { facts: {}, answers: { measure }, close: () => {} }
}

/**
 * @param {string} file
 * @param {Format} format
 * @param {{ warmUp: number, payments: number }} size
 */
async function measure(file, format, { warmUp, payments }) {
  const run = (/** @type {number} */ count) =>
    format === 'baseline' ? readBare(file, count) : readExport(file, format, count)
  await run(warmUp)
  globalThis.gc?.()
  const before = process.memoryUsage.rss()
  let peak = before
  const look = () => {
    peak = Math.max(peak, process.memoryUsage.rss())
  }
  const timer = setInterval(look, 10)
  const began = process.cpuUsage()
  const bytes = await run(payments)
  const { user, system } = process.cpuUsage(began)
  clearInterval(timer)
  look()
  return { seconds: (user + system) / 1e6, megabytes: bytes / 1e6, growthMegabytes: (peak - before) / 1e6 }
}

/**
 * The least: every row read, joined and counted.
 *
 * @param {string} file
 * @param {number} count
 */
function readBare(file, count) {
  const encoder = new TextEncoder()
  const db = new DatabaseSync(file)
  const columns = 'paid_at, request, payer, endpoint, token, received, worth, finality, recipient, hex(tx) AS tx'
  const rows = db
    .prepare(`SELECT ${columns} FROM payments ORDER BY payments.paid_at, payments.tx LIMIT ${count}`)
    .iterate()
  let [bytes, text] = [0, '']
  for (const row of rows) {
    text += `${Object.values(/** @type {object} */ (row)).join(',')}\r\n`
    if (text.length < 250_000) continue
    bytes += encoder.encode(text).length
    text = ''
  }
  db.close()
  return bytes + encoder.encode(text).length
}

/**
 * @param {string} file
 * @param {Format} format
 * @param {number} count
 */
async function readExport(file, format, count) {
  const { books, kv, close } = await openSqliteLedger(file, ledgerParts)
  if (!books || !kv) throw new Error('The ledger keeps no books.')
  const log = { info: () => {}, warn: () => {}, error: () => {} }
  const parts = {
    books,
    kv,
    clock: ledgerParts.clock,
    log,
    key: new Uint8Array(32),
    decimalsOf: () => 9,
    isOwner: () => true,
  }
  const to = new Date(exportedFrom + count * 1000).toISOString()
  const request = new Request(`http://localhost/api/analytics/export?format=${format}&to=${to}`)
  const response = await createExports(parts).handle(request, '')
  if (response.status !== 200 || !response.body) throw new Error(`The export was answered ${response.status}.`)
  let bytes = 0
  for await (const chunk of response.body) bytes += chunk.length
  await close()
  return bytes
}
