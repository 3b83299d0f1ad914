import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { create402Middleware } from 'paystile/hono'

const recipient = process.env.RECIPIENT ?? '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin'
const paid = create402Middleware({ price: 0.01, token: 'USDC', recipient, network: 'localnet' })

const app = new Hono()
app.get('/report', paid, (context) => context.json({ sales: 42 }))
serve({ fetch: app.fetch, port: 3000 }, () => console.log('http://127.0.0.1:3000/report costs 0.01 USDC'))
