// One server of the torture: sells on the port it is given until it is killed. `server.mjs <options as JSON>`.
import { createServer } from 'node:http'
import { create402Middleware } from '../../dist/adapters/node.js'

const { port, ...provider } = JSON.parse(process.argv[2])
const silent = { info: () => {}, warn: () => {}, error: () => {} }
const paid = create402Middleware({ price: 0.01, token: 'USDC', network: 'localnet', log: silent, ...provider })
// Some answers take a while, so that deaths find them half-way.
const server = createServer((request, response) =>
  paid(request, response, () => {
    response.writeHead(200, { 'content-type': 'text/plain', 'content-length': 20, 'x-server': String(process.pid) })
    response.write('the first.')
    setTimeout(() => response.end('the second'), Math.random() < 0.2 ? 150 : 0)
  }),
)
server.listen(port, '127.0.0.1', () => process.send?.('listening'))
process.once('disconnect', () => process.exit(0))
