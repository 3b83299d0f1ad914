import { createServer } from 'node:http'
import { Webhook } from 'standardwebhooks'

const webhook = new Webhook(process.env.PAYSTILE_WEBHOOK_SECRET)
const known = new Set() // in production: a table, written in the transaction that processes the message

createServer(async (request, response) => {
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  try {
    const { type, data } = webhook.verify(Buffer.concat(chunks).toString(), request.headers)
    const id = request.headers['webhook-id']
    if (!known.has(id)) console.log(type, data.amount ? `${data.amount} ${data.token} ${data.endpoint}` : data.note)
    known.add(id)
    response.writeHead(204).end()
  } catch {
    response.writeHead(401).end()
  }
}).listen(3001, '127.0.0.1', () => console.log('listening'))
