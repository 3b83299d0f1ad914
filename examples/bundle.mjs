import express from 'express'
import { create402Middleware } from 'paystile'

const recipient = process.env.RECIPIENT ?? 'EM6GsJV3vSdsAJBj8sbvRqwtKvSb2mxU8XEyvFToiLqC'
const paid = create402Middleware({
  price: 0.5,
  per: { requests: 100 },
  free: { requests: 1, per: 'day' }, // free trial for every client address
  token: 'USDC',
  recipient,
  network: 'localnet',
})

const app = express()
app.get('/translate', paid, (request, response) => response.json({ german: `${request.query.text}, auf Deutsch` }))
app
  .listen(3000, '127.0.0.1')
  .once('listening', () => console.log('http://127.0.0.1:3000/translate costs 0.50 USDC for 100 requests'))
