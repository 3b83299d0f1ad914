// A server with the stream of payments only. Each `pay` registers a payment and announces it.
import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import { createRequest, sendResponse } from '../../dist/adapters/routes.js'
import { createCursors } from '../../dist/api/analytics/cursor.js'
import { createStream } from '../../dist/api/analytics/stream.js'
import { encodeBase58 } from '../../dist/core/encoding/base58.js'
import { openLedger } from '../../dist/ledger/open.js'
import { createChanges } from '../../dist/paywall/runtime/changes.js'
import { clock, createPayment, identity } from '../payment.mjs'

export async function open() {
  const ledger = await openLedger('memory:', { clock, identity })
  if (!ledger.books) throw new Error('The ledger in memory keeps no books.')
  const changes = createChanges()
  const stream = createStream({
    books: ledger.books,
    changes,
    cursors: createCursors(randomBytes(32)),
    decimalsOf: () => 6,
    log: { info: () => {}, warn: console.error, error: console.error },
  })
  const server = createServer((request, response) => {
    const opened = stream.open(createRequest(request, new AbortController().signal), async () => true)
    sendResponse(response, opened).catch(() => response.destroy())
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', 4_096, () => resolve(undefined)))
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  return {
    facts: { url: `http://127.0.0.1:${port}` },
    answers: {
      /** Returns the time at which the payment was announced. */
      pay: async () => {
        const payment = createPayment()
        await ledger.take({ tx: payment.tx, request: payment.request, payment, amount: 1n, leaseMs: 30_000 })
        const at = performance.timeOrigin + performance.now()
        changes.note(encodeBase58(payment.tx))
        return at
      },
    },
    close: async () => {
      stream.close()
      server.close()
      server.closeAllConnections()
      await ledger.close()
    },
  }
}
