// A million payments exported, and how far memory grows meanwhile. Run in a process of its own, once per format.
import { fork } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { DatabaseSync } from '@photostructure/sqlite'
import { openSqliteLedger } from '../dist/ledger/sqlite.js'
import { createExports } from '../dist/service/export.js'
import { round } from './statistics.mjs'

const rows = 1_000_000
const warmUpRows = 50_000
const start = 1_767_225_600_000
const clock = { now: () => start, monotonic: () => 0 }
const ledgerParts = { clock, identity: { network: 'devnet', service: 'bench', fingerprint: 'bench' } }
const self = fileURLToPath(import.meta.url)

/** Only with `--large`: it takes a minute, and says the same every time. */
export async function benchExport({ home, say }) {
  const file = join(home, 'export.sqlite')
  await makeLedger(file, rows)
  const baseline = await measure('baseline', file)
  const results = []
  for (const format of ['csv', 'json', 'xlsx']) {
    const { seconds, megabytes, growthMegabytes } = await measure(format, file)
    const name = `analytics/export-${format}`
    say(
      `${name}: ${rows} rows, ${round(megabytes)} MB in ${round(seconds)} CPU seconds, peak memory ${round(growthMegabytes)} MB above ` +
        `where it began; a bare SELECT joined by commas: ${round(baseline.seconds)} s, ${round(baseline.growthMegabytes)} MB`,
    )
    results.push({
      name,
      unit: 'rows per CPU second',
      value: Math.round(rows / seconds),
      baseline: Math.round(rows / baseline.seconds),
      ratio: round(baseline.seconds / seconds, 3),
      spread: 0,
      growthMegabytes: round(growthMegabytes),
    })
  }
  return results
}

function measure(what, file) {
  return new Promise((resolve, reject) => {
    const child = fork(self, [what, file], { execArgv: ['--expose-gc'], stdio: ['ignore', 2, 2, 'ipc'] })
    child.once('message', resolve)
    child.once('exit', (code) => reject(new Error(`the export ended with code ${code}`)))
  })
}

/** A ledger with so many payments, put there as rows: to register each of them would take hours. */
async function makeLedger(file, count) {
  const ledger = await openSqliteLedger(file, ledgerParts)
  await ledger.close()
  const db = new DatabaseSync(file)
  db.exec(`
    INSERT INTO payments (tx, request, payer, scope, recipient, token, required, received, unit, amount, slot, paid_at,
      usable_until, registered_at, state, finality, used, deliveries, endpoint, worth)
    WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < ${count})
    SELECT randomblob(64), 'Zr' || printf('%020d', n), 'Pa' || printf('%020d', n % 5000), 's',
      '6r2kFDVUvhgXMh5VZqKpXyWB1HyiaJr1knnDYMfNpZbM', CASE n % 3 WHEN 0 THEN 'USDC' WHEN 1 THEN 'SOL' ELSE 'NATIVE' END,
      '1', CAST(n * 1003 + 1 AS TEXT), 'request', 1, n, 1767225600000 + n * 1000, 1798761600000, 1767225600000 + n * 1000,
      'valid', 'finalized', 1, 1, CASE n % 10 WHEN 0 THEN 'GET /api/wéather, now' ELSE '/api/resource/' || n % 100 END,
      CAST(n * 1000003 AS TEXT)
    FROM numbers`)
  db.close()
}

/** As little as can be done: every row read, joined and counted. */
function runBaseline(file, count) {
  const encoder = new TextEncoder()
  const db = new DatabaseSync(file)
  const columns = 'paid_at, request, payer, endpoint, token, received, worth, finality, recipient, hex(tx) AS tx'
  const rows = db
    .prepare(`SELECT ${columns} FROM payments ORDER BY payments.paid_at, payments.tx LIMIT ${count}`)
    .iterate()
  let [bytes, text] = [0, '']
  for (const row of rows) {
    text += `${Object.values(row).join(',')}\r\n`
    if (text.length < 250_000) continue
    bytes += encoder.encode(text).length
    text = ''
  }
  db.close()
  return bytes + encoder.encode(text).length
}

async function runExport(file, format, count) {
  const { books, close } = await openSqliteLedger(file, ledgerParts)
  const silent = { info() {}, warn() {}, error() {} }
  const shelf = { list: async () => [] }
  const exports = createExports({ books, shelf, clock, log: silent, key: new Uint8Array(32), decimalsOf: () => 9 })
  const to = new Date(start + count * 1000).toISOString()
  const request = new Request(`http://localhost/api/analytics/export?format=${format}&to=${to}`)
  const response = await exports.handle(request, '')
  let bytes = 0
  for await (const chunk of response.body) bytes += chunk.length
  await close()
  return bytes
}

if (process.argv[1] === self && process.send) {
  const [, , what, file] = process.argv
  const run = (count) => (what === 'baseline' ? runBaseline(file, count) : runExport(file, what, count))
  await run(warmUpRows)
  globalThis.gc()
  const before = process.memoryUsage.rss()
  let peak = before
  const timer = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage.rss())
  }, 10)
  const began = process.cpuUsage()
  const bytes = await run(rows)
  const { user, system } = process.cpuUsage(began)
  clearInterval(timer)
  peak = Math.max(peak, process.memoryUsage.rss())
  process.send({ seconds: (user + system) / 1e6, megabytes: bytes / 1e6, growthMegabytes: (peak - before) / 1e6 })
  process.disconnect()
}
