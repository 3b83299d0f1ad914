// app/report/route.js; next.config.mjs needs: serverExternalPackages: ['paystile']
import { create402Middleware } from 'paystile/next'

const recipient = process.env.RECIPIENT ?? 'EM6GsJV3vSdsAJBj8sbvRqwtKvSb2mxU8XEyvFToiLqC'
const paid = create402Middleware({ price: 0.01, token: 'USDC', recipient, network: 'localnet' })

export const GET = paid(async () => Response.json({ sales: 42 }))
