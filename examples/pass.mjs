import express from 'express'
import { create402Middleware } from 'paystile'

const recipient = process.env.RECIPIENT ?? 'EM6GsJV3vSdsAJBj8sbvRqwtKvSb2mxU8XEyvFToiLqC'
const paid = create402Middleware({
  price: 0.1,
  per: { seconds: 3600 }, // from the first use
  scope: 'weather', // one pass for everything below /weather
  token: 'USDC',
  recipient,
  network: 'localnet',
})

const app = express()
app.use('/weather', paid)
app.get('/weather/:city', (request, response) => response.json({ city: request.params.city, sky: 'clear' }))
app
  .listen(3000, '127.0.0.1')
  .once('listening', () => console.log('http://127.0.0.1:3000/weather/… costs 0.10 USDC per hour'))
