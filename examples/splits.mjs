import express from 'express'
import { createPaystile, drain } from 'paystile'

const recipient = process.env.RECIPIENT ?? 'EM6GsJV3vSdsAJBj8sbvRqwtKvSb2mxU8XEyvFToiLqC'
const author = process.env.AUTHOR ?? '5oPzcXVKxtWzYqpDwFkbY7MqK4F9k6XyxiFnxssMg3qX'
const paystile = createPaystile({ recipient, network: 'localnet' })

const app = express().use(paystile.routes())
const paid = paystile.charge({ price: 0.01, splits: [{ recipient: author, share: 10 }] })
app.get('/report', paid, (_request, response) => response.json({ sales: 42 }))
const server = app.listen(3000, '127.0.0.1').once('listening', () => console.log('http://127.0.0.1:3000/report'))
process.once('SIGTERM', () => drain(server, paystile))
