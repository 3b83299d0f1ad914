import { createServer } from 'node:http'
import { create402Middleware, drain } from 'paystile/node'

const recipient = process.env.RECIPIENT ?? 'EM6GsJV3vSdsAJBj8sbvRqwtKvSb2mxU8XEyvFToiLqC'
const paid = create402Middleware({ price: 0.01, token: 'USDC', recipient, network: 'localnet' })

const server = createServer((request, response) =>
  paid(request, response, () => response.setHeader('Content-Type', 'application/json').end('{"sales":42}')),
)
server.listen(3000, '127.0.0.1', () => console.log('http://127.0.0.1:3000/report costs 0.01 USDC'))
process.once('SIGTERM', () => drain(server, paid))
