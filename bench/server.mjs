// One server under load, in a process of its own: `server.mjs <framework> <ours|bare>`. The parent talks to it by IPC.
import { createServer } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'

const [framework, mode, optionsText = '{}'] = process.argv.slice(2)
const options = JSON.parse(optionsText)
const path = '/api/data'
const resource = JSON.stringify({ answer: 42 })

/**
 * The bare framework sends these bytes: a challenge of ours, taken beforehand. It does so from where our middleware
 * stands, with the same handler behind it, so that the difference is ours and not that of a shorter route.
 */
const { status = 402, body = '', headers = {} } = options.bare ?? {}

const paid = mode === 'ours' ? await protect() : undefined
const server = await { node: onNode, express: onExpress, fastify: onFastify, hono: onHono }[framework]()
// Both sides wait for each other between their rounds, and must not lose their connections over it.
server.keepAliveTimeout = 60_000
if (!server.listening) await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
// Where no node can be reached it is not ready to be paid, but to ask for money.
await paid?.ready().catch(() => {})
process.send({ kind: 'ready', url: `http://127.0.0.1:${server.address().port}${path}` })

process.once('disconnect', () => process.exit(0))
process.on('message', (message) => {
  if (message === 'cpu') process.send(process.cpuUsage())
  if (message === 'metrics') paid.metrics().then((metrics) => process.send({ metrics }))
  if (message === 'memory') {
    globalThis.gc?.()
    process.send(process.memoryUsage())
  }
  if (message === 'stop') process.exit(0)
})

async function protect() {
  const { create402Middleware } = await import(`../dist/adapters/${framework}.js`)
  return create402Middleware({
    price: 0.01,
    token: 'USDC',
    ...options.provider,
    log: { info: () => {}, warn: () => {}, error: () => {} },
    ...(options.events && {
      onEvent: ({ kind }) =>
        process.send({ kind: 'event', event: kind, at: performance.timeOrigin + performance.now() }),
    }),
  })
}

function onNode() {
  return createServer((request, response) => {
    const serve = () => (options.streamBytes ? stream(response, options.streamBytes) : response.end(resource))
    if (paid) paid(request, response, serve)
    else if (options.streamBytes) serve()
    else answer(response)
  })
}

/** As many bytes as are wanted, as fast as they are taken. */
function stream(response, bytes) {
  const chunk = Buffer.alloc(65_536, 'paystile')
  let left = bytes
  const write = () => {
    while (left > 0) {
      const part = left < chunk.length ? chunk.subarray(0, left) : chunk
      left -= part.length
      if (!response.write(part)) return response.once('drain', write)
    }
    response.end()
  }
  write()
}

function onExpress() {
  const app = express()
  app.get(path, paid ?? ((_request, response) => answer(response)), (_request, response) => response.end(resource))
  return createServer(app)
}

async function onFastify() {
  const app = fastify()
  const bare = (_request, reply) => reply.code(402).headers(headers).send(body)
  app.get(path, { onRequest: paid ?? bare }, async () => resource)
  await app.ready()
  return app.server
}

function onHono() {
  const app = new Hono()
  app.get(path, paid ?? (() => new Response(body, { status: 402, headers })), (context) => context.text(resource))
  return createServer(getRequestListener(app.fetch))
}

function answer(response) {
  response.writeHead(status, { ...headers, 'Content-Length': Buffer.byteLength(body) })
  response.end(body)
}
