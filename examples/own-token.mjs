import express from 'express'
import { createPaystile, drain } from 'paystile'

const recipient = process.env.RECIPIENT ?? 'EM6GsJV3vSdsAJBj8sbvRqwtKvSb2mxU8XEyvFToiLqC'
const paystile = createPaystile({
  recipient,
  network: 'localnet',
  tokens: { EURC: { mint: 'HzwqbKZw8HxMN6bF2yFZNrht3c2iXXzpKcFu7uBEDKtr', decimals: 6 } },
  acceptedMints: ['USDC', 'EURC'],
  rates: { EURC: '1.25' }, // one EURC is worth 1.25 USDC
})

const app = express().use(paystile.routes())
app.get('/report', paystile.charge({ price: 0.01 }), (_request, response) => response.json({ sales: 42 }))
const server = app.listen(3000, '127.0.0.1').once('listening', () => console.log('http://127.0.0.1:3000/report'))
process.once('SIGTERM', () => drain(server, paystile))
