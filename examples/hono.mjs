import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { createPaystile, drain } from 'paystile/hono'

const recipient = process.env.RECIPIENT ?? 'EM6GsJV3vSdsAJBj8sbvRqwtKvSb2mxU8XEyvFToiLqC'
const paystile = createPaystile({ recipient, network: 'localnet' })

const app = new Hono()
app.use(paystile.routes())
app.get('/report', paystile.charge({ price: 0.01 }), (context) => context.json({ sales: 42 }))
const server = serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 3000 }, () =>
  console.log('http://127.0.0.1:3000/report costs 0.01 USDC'),
)
process.once('SIGTERM', () => drain(server, paystile))
