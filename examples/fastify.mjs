import fastify from 'fastify'
import { create402Middleware, drain } from 'paystile/fastify'

const recipient = process.env.RECIPIENT ?? 'EM6GsJV3vSdsAJBj8sbvRqwtKvSb2mxU8XEyvFToiLqC'
const paid = create402Middleware({ price: 0.01, token: 'USDC', recipient, network: 'localnet' })

const app = fastify()
app.get('/report', { onRequest: paid }, async () => ({ sales: 42 }))
await app.listen({ port: 3000, host: '127.0.0.1' })
console.log('http://127.0.0.1:3000/report costs 0.01 USDC')
process.once('SIGTERM', () => drain(app.server, paid))
