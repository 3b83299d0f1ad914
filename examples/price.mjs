import express from 'express'
import { create402Middleware } from 'paystile'

const recipient = process.env.RECIPIENT ?? 'EM6GsJV3vSdsAJBj8sbvRqwtKvSb2mxU8XEyvFToiLqC'
const paid = create402Middleware({
  // 0.01 USDC (0.05 for the large model) plus 0.001 USDC per 100 bytes of text. The function sees only bound parameters.
  price: ({ header, bodyBytes }) => (header('x-model') === 'large' ? 0.05 : 0.01) + Math.ceil(bodyBytes / 100) / 1000,
  bind: { headers: ['x-model'], body: true },
  token: 'USDC',
  recipient,
  network: 'localnet',
})

const app = express()
app.post('/summary', paid, express.text(), (request, response) => response.json({ read: request.body.length }))
app
  .listen(3000, '127.0.0.1')
  .once('listening', () => console.log('http://127.0.0.1:3000/summary costs at least 0.01 USDC'))
