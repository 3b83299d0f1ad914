import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import express from 'express'
import { create402Middleware } from 'paystile'

const recipient = process.env.RECIPIENT ?? 'EM6GsJV3vSdsAJBj8sbvRqwtKvSb2mxU8XEyvFToiLqC'
const file = resolve(process.env.FILE ?? 'README.md')
const paid = create402Middleware({
  price: 0.01, // per megabyte
  per: 'megabyte',
  size: async () => (await stat(file)).size,
  token: 'USDC',
  recipient,
  network: 'localnet',
})

const app = express()
app.get('/file', paid, (_request, response) => response.sendFile(file))
app
  .listen(3000, '127.0.0.1')
  .once('listening', () => console.log('http://127.0.0.1:3000/file costs 0.01 USDC per megabyte'))
