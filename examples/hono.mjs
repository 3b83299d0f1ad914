import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { create402Middleware, drain } from 'paystile/hono'

const recipient = process.env.RECIPIENT ?? 'EM6GsJV3vSdsAJBj8sbvRqwtKvSb2mxU8XEyvFToiLqC'
const paid = create402Middleware({ price: 0.01, token: 'USDC', recipient, network: 'localnet' })

const app = new Hono()
app.get('/report', paid, (context) => context.json({ sales: 42 }))
const server = serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 3000 }, () =>
  console.log('http://127.0.0.1:3000/report costs 0.01 USDC'),
)
process.once('SIGTERM', () => drain(server, paid))
