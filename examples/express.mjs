import express from 'express'
import { create402Middleware, drain } from 'paystile'

const recipient = process.env.RECIPIENT ?? 'EM6GsJV3vSdsAJBj8sbvRqwtKvSb2mxU8XEyvFToiLqC'
const paid = create402Middleware({ price: 0.01, token: 'USDC', recipient, network: 'localnet' })

const app = express()
app.get('/report', paid, (_request, response) => response.json({ sales: 42 }))
const server = app.listen(3000, '127.0.0.1').once('listening', () => console.log('http://127.0.0.1:3000/report'))
process.once('SIGTERM', () => drain(server, paid))
