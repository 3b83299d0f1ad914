// One server of the torture. It starts, waits for its turn, and then sells until it is killed: `server.mjs <options as JSON>`.
// What it sends it writes down in the same breath, in a file that outlives it: the audit must know also what the dead did.
import { openSync, writeSync } from 'node:fs'
import { createServer } from 'node:http'
import { create402Middleware } from '../../dist/adapters/node.js'

const { notes, ...provider } = JSON.parse(process.argv[2] ?? '{}')
const file = openSync(notes, 'a')
const silent = { info: () => {}, warn: () => {}, error: () => {} }

const paid = create402Middleware({ price: 0.01, token: 'USDC', network: 'localnet', log: silent, ...provider })
const server = createServer((request, response) => paid(request, response, () => deliver(request, response)))

process.once('message', ({ port }) => server.listen(port, '127.0.0.1', () => process.send?.('listening')))
process.once('disconnect', () => process.exit(0))
// While the database is away nobody gets ready; whoever is needed then has to take its turn all the same.
export const ready = paid.ready().catch(() => {})

function deliver(request, response) {
  // A payment in another protocol is known by its resource, which is bought once.
  const [, tx = request.url] = /tx=([^;]+)/.exec(request.headers['payment-proof'] ?? '') ?? []
  const note = (what, send) => {
    const at = Date.now()
    send()
    // Where the lease is over, the bytes do not go out.
    if (!response.destroyed) writeSync(file, `${what} ${tx} ${at}\n`)
  }
  note('first', () => {
    response.writeHead(200, { 'content-type': 'text/plain', 'content-length': 20 })
    response.write('the first.')
  })
  // Some answers take a while, so that deaths find them half-way.
  setTimeout(() => note('last', () => response.end('the second')), Math.random() < 0.2 ? 150 : 0)
}
