// A million payments exported, and the growth of memory meanwhile, beside a bare SELECT.
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { openSqliteLedger } from '../../dist/ledger/sqlite/ledger.js'
import { round } from '../statistics.mjs'

/** The time of the first payment. */
export const exportedFrom = 1_767_225_600_000
/** @type {Parameters<typeof openSqliteLedger>[1]} */
export const ledgerParts = {
  clock: { now: () => exportedFrom, monotonic: () => 0 },
  identity: { network: 'devnet', service: 'bench', fingerprint: 'bench' },
}

/**
 * @param {import('../setting.mjs').Setting} setting
 * @param {{ warmUp: number, payments: number }} size
 */
export async function benchExport({ processes, home, say }, size) {
  const { payments } = size
  const file = join(home, 'export.sqlite')
  await makeLedger(file, payments)
  /** @param {import('../parts/export.mjs').Format} format */
  const measure = async (format) => {
    const part = await processes.start('export', undefined, { as: format })
    const measured = await part.ask('measure', file, format, size)
    await part.stop()
    return measured
  }
  const baseline = await measure('baseline')
  const results = []
  for (const format of /** @type {const} */ (['csv', 'json', 'xlsx'])) {
    const { seconds, megabytes, growthMegabytes } = await measure(format)
    const name = `analytics/export-${format}`
    say(
      `${name}: ${payments} payments, ${round(megabytes)} MB in ${round(seconds)} CPU seconds, memory grew by ` +
        `${round(growthMegabytes)} MB; a bare SELECT joined by commas: ${round(baseline.seconds)} s, ` +
        `${round(baseline.growthMegabytes)} MB`,
    )
    results.push({
      name,
      unit: 'rows per CPU second',
      value: Math.round(payments / seconds),
      baseline: Math.round(payments / baseline.seconds),
      ratio: round(baseline.seconds / seconds, 3),
      spread: 0,
      growthMegabytes: round(growthMegabytes),
    })
  }
  return results
}

/**
 * A ledger with so many payments, written as rows: registering each of them would take hours.
 *
 * @param {string} file
 * @param {number} count
 */
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
