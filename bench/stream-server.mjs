// A server with nothing but the stream of payments, for `stream.mjs`: each message has a payment registered and told.
import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import { requestOf, sendResponse } from '../dist/adapters/routes.js'
import { encodeBase58 } from '../dist/core/base58.js'
import { openLedger } from '../dist/ledger/open.js'
import { createChanges } from '../dist/server/changes.js'
import { createCursors } from '../dist/service/capture-cursor.js'
import { createStream } from '../dist/service/stream.js'

const clock = { now: () => Date.now(), monotonic: () => performance.now() }
const identity = { network: 'localnet', service: 'bench', fingerprint: 'fingerprint-1' }
const ledger = await openLedger('memory:', { clock, identity })
const changes = createChanges()
const stream = createStream({
  books: ledger.books,
  changes,
  cursors: createCursors(randomBytes(32)),
  decimalsOf: () => 6,
  log: { info: () => {}, warn: console.error, error: console.error },
})
const server = createServer((request, response) => {
  const opened = stream.open(requestOf(request, new AbortController().signal), async () => true)
  sendResponse(response, opened).catch(() => response.destroy())
})
server.listen(0, '127.0.0.1', 4_096, () => process.send({ url: `http://127.0.0.1:${server.address().port}` }))
process.on('message', async (order) => {
  if (order === 'cpu') return process.send({ cpu: process.cpuUsage() })
  const payment = paymentOf()
  await ledger.take({ tx: payment.tx, request: payment.request, payment, amount: 1n, leaseMs: 30_000 })
  const at = performance.timeOrigin + performance.now()
  changes.note(encodeBase58(payment.tx))
  process.send({ at })
})
process.on('disconnect', () => process.exit(0))

function paymentOf() {
  return {
    tx: new Uint8Array(randomBytes(64)),
    request: randomBytes(16).toString('base64url'),
    payer: randomBytes(16).toString('base64url'),
    scope: 'GET /api/data',
    recipient: 'recipient',
    token: 'USDC',
    required: 10_000n,
    received: 10_000n,
    allowance: { unit: 'request', amount: 1n },
    slot: 1,
    paidAt: Math.floor(Date.now() / 1000) * 1000,
    usableUntil: Date.now() + 86_400_000,
    finality: 'finalized',
    endpoint: '/api/data',
    worth: 10_000_000_000n,
    rates: undefined,
  }
}
