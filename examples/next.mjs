// app/report/route.js
import { create402Middleware } from 'paystile/next'

const recipient = process.env.RECIPIENT ?? '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin'
const paid = create402Middleware({ price: 0.01, token: 'USDC', recipient, network: 'localnet' })

export const GET = paid(async () => Response.json({ sales: 42 }))
