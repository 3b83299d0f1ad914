import { Readable } from 'node:stream'
import express from 'express'
import { create402Middleware } from 'paystile'

const recipient = process.env.RECIPIENT ?? 'EM6GsJV3vSdsAJBj8sbvRqwtKvSb2mxU8XEyvFToiLqC'
const paid = create402Middleware({
  price: 0.01, // per megabyte
  per: 'megabyte',
  prepay: 0.5, // megabytes, bought in advance, because the length of the response is unknown
  token: 'USDC',
  recipient,
  network: 'localnet',
})

function* lines() {
  for (let line = 1; line <= 100; line += 1) yield `line ${line}\n`
}

const app = express()
app.get('/lines', paid, (_request, response) => Readable.from(lines()).pipe(response))
app
  .listen(3000, '127.0.0.1')
  .once('listening', () => console.log('http://127.0.0.1:3000/lines costs 0.01 USDC per megabyte'))
