import express from 'express'
import { create402Middleware } from 'paystile'

const recipient = process.env.RECIPIENT ?? 'EM6GsJV3vSdsAJBj8sbvRqwtKvSb2mxU8XEyvFToiLqC'
const paid = create402Middleware({
  price: 5, // net; the challenge adds the mint's transfer fee
  token: 'NATIVE',
  mints: {
    NATIVE: { address: process.env.MINT, decimals: 6, tokenProgram: 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb' },
  },
  recipient,
  network: 'localnet',
})

const app = express()
app.get('/report', paid, (_request, response) => response.json({ sales: 42 }))
app.listen(3000, '127.0.0.1').once('listening', () => console.log('http://127.0.0.1:3000/report costs 5 NATIVE'))
console.log('sold for:', (await paid.ready()).offered.join(', '))
