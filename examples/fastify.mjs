import fastify from 'fastify'
import { createPaystile, drain } from 'paystile/fastify'

const recipient = process.env.RECIPIENT ?? 'EM6GsJV3vSdsAJBj8sbvRqwtKvSb2mxU8XEyvFToiLqC'
const paystile = createPaystile({ recipient, network: 'localnet' })

const app = fastify()
app.addHook('onRequest', paystile.routes())
app.get('/report', { onRequest: paystile.charge({ price: 0.01 }) }, async () => ({ sales: 42 }))
await app.listen({ port: 3000, host: '127.0.0.1' })
console.log('http://127.0.0.1:3000/report costs 0.01 USDC')
process.once('SIGTERM', () => drain(app.server, paystile))
