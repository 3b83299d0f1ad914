// app/report/route.js; next.config.mjs needs: serverExternalPackages: ['paystile']
import { createPaystile } from 'paystile/next'

const recipient = process.env.RECIPIENT ?? 'EM6GsJV3vSdsAJBj8sbvRqwtKvSb2mxU8XEyvFToiLqC'
const paystile = createPaystile({ recipient, network: 'localnet' })

export const GET = paystile.charge({ price: 0.01 })(async () => Response.json({ sales: 42 }))
