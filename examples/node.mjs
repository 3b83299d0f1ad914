import { createServer } from 'node:http'
import { createPaystile, drain } from 'paystile/node'

const recipient = process.env.RECIPIENT ?? 'EM6GsJV3vSdsAJBj8sbvRqwtKvSb2mxU8XEyvFToiLqC'
const paystile = createPaystile({ recipient, network: 'localnet' })
const [routes, paid] = [paystile.routes(), paystile.charge({ price: 0.01 })]

const server = createServer((request, response) =>
  routes(request, response, () =>
    paid(request, response, () => response.setHeader('Content-Type', 'application/json').end('{"sales":42}')),
  ),
)
server.listen(3000, '127.0.0.1', () => console.log('http://127.0.0.1:3000/report costs 0.01 USDC'))
process.once('SIGTERM', () => drain(server, paystile))
