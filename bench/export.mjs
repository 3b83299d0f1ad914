// A million payments exported, and how far memory grows meanwhile. Run in a process of its own, once per format.
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { createExports } from '../dist/server/export.js'
import { round } from './statistics.mjs'

const rows = 1_000_000
const warmUpRows = 50_000
const self = fileURLToPath(import.meta.url)

/** Only with `--large`: it takes a minute, and says the same every time. */
export async function benchExport({ say }) {
  const baseline = await measure('baseline', rows)
  const results = []
  for (const format of ['csv', 'json', 'xlsx']) {
    const { seconds, megabytes, growthMegabytes } = await measure(format, rows)
    const name = `analytics/export-${format}`
    say(
      `${name}: ${rows} rows, ${round(megabytes)} MB in ${round(seconds)} s, peak memory ${round(growthMegabytes)} MB above ` +
        `where it began; read and joined by commas alone: ${round(baseline.seconds)} s, ${round(baseline.growthMegabytes)} MB`,
    )
    results.push({
      name,
      unit: 'rows/s',
      value: Math.round(rows / seconds),
      baseline: Math.round(rows / baseline.seconds),
      ratio: round(baseline.seconds / seconds, 3),
      spread: 0,
      growthMegabytes: round(growthMegabytes),
    })
  }
  return results
}

function measure(what, count) {
  return new Promise((resolve, reject) => {
    const child = fork(self, [what, String(count)], { execArgv: ['--expose-gc'], stdio: ['ignore', 2, 2, 'ipc'] })
    child.once('message', resolve)
    child.once('exit', (code) => reject(new Error(`the export ended with code ${code}`)))
  })
}

/** Captures by number, made when they are asked for: what is measured is the export and not a database. */
function createBooks(count) {
  const states = ['finalized', 'confirmed']
  const tokens = ['USDC', 'SOL', 'NATIVE']
  const captureAt = (index) => {
    const tx = new Uint8Array(64).fill(index % 251)
    new DataView(tx.buffer).setUint32(0, index + 1)
    return {
      tx,
      at: 1_767_225_600_000 + index * 1000,
      request: `Zr${String(index).padStart(20, 'q')}`,
      payer: `Pa${String(index % 5000).padStart(20, 'z')}`,
      recipient: '6r2kFDVUvhgXMh5VZqKpXyWB1HyiaJr1knnDYMfNpZbM',
      endpoint: index % 10 === 0 ? 'GET /api/wéather, now' : `/api/resource/${index % 100}`,
      token: tokens[index % 3],
      units: BigInt(index) * 1_003n,
      worth: BigInt(index) * 1_000_003n,
      status: 'confirmed',
      state: states[index % 2],
      delivery: 'all',
    }
  }
  return {
    reportToken: async () => 'USDC',
    captures: async ({ after, most }) => {
      const first = after ? new DataView(after.tx.buffer, after.tx.byteOffset).getUint32(0) : 0
      return Array.from({ length: Math.max(0, Math.min(most, count - first)) }, (_, index) => captureAt(first + index))
    },
  }
}

/** As little as can be done: every page read, every row joined, every byte counted. */
async function runBaseline(books) {
  const encoder = new TextEncoder()
  let [bytes, after] = [0, undefined]
  for (;;) {
    const page = await books.captures({ order: 'oldest', most: 1000, after })
    let text = ''
    for (const { tx, at, worth, ...rest } of page) text += `${[at, worth, ...Object.values(rest)].join(',')}\r\n`
    bytes += encoder.encode(text).length
    after = page.at(-1)
    if (page.length < 1000) return bytes
  }
}

async function runExport(books, format) {
  const silent = { info() {}, warn() {}, error() {} }
  const clock = { now: () => 0, monotonic: () => 0 }
  const shelf = { list: async () => [] }
  const exports = createExports({ books, shelf, clock, log: silent, key: new Uint8Array(32), decimalsOf: () => 9 })
  const request = new Request(`http://localhost/api/analytics/export?format=${format}`)
  const response = await exports.handle(request, '')
  let bytes = 0
  for await (const chunk of response.body) bytes += chunk.length
  return bytes
}

if (process.argv[1] === self && process.send) {
  const [, , what, count] = process.argv
  const run = (number) =>
    what === 'baseline' ? runBaseline(createBooks(number)) : runExport(createBooks(number), what)
  await run(warmUpRows)
  globalThis.gc()
  const before = process.memoryUsage.rss()
  let peak = before
  const timer = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage.rss())
  }, 10)
  const began = performance.now()
  const bytes = await run(Number(count))
  const seconds = (performance.now() - began) / 1000
  clearInterval(timer)
  peak = Math.max(peak, process.memoryUsage.rss())
  process.send({ seconds, megabytes: bytes / 1e6, growthMegabytes: (peak - before) / 1e6 })
  process.disconnect()
}
