// One side of the gateway's measurement, in a process of its own: `proxy.mjs <gateway|bare|upstream> <options>`.
import { createServer } from 'node:http'
import { Pool } from 'undici'

const [mode, optionsText = '{}'] = process.argv.slice(2)
const options = JSON.parse(optionsText)
const path = '/api/data'
const resource = Buffer.from(JSON.stringify({ answer: 42 }))

const url = await { gateway: openGateway, bare: openBare, upstream: openUpstream }[mode]()
process.send({ kind: 'ready', url: `${url}${path}` })
process.once('disconnect', () => process.exit(0))
process.on('message', (message) => {
  if (message === 'cpu') process.send(process.cpuUsage())
  if (message === 'stop') process.exit(0)
})

async function openGateway() {
  const { createGateway } = await import('../dist/gateway/index.js')
  const gateway = createGateway({
    ...options.provider,
    token: 'USDC',
    upstream: options.upstream,
    listen: { port: 0 },
    log: { info: () => {}, warn: () => {}, error: () => {} },
    routes: [{ path, price: 0.01, per: { seconds: 36_000 } }],
  })
  const address = await gateway.listen()
  const { ready, why } = await gateway.readiness()
  if (!ready) throw new Error(why)
  return address
}

/** As much of a proxy as nobody can do without: the same client, streams both ways, no headers of the connection. */
async function openBare() {
  const pool = new Pool(options.upstream, { pipelining: 1 })
  const hopByHop = new Set(['connection', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'host'])
  const passing = (raw) => {
    const kept = []
    for (let index = 0; index < raw.length; index += 2) {
      const name = raw[index].toString('latin1')
      if (!hopByHop.has(name.toLowerCase())) kept.push(name, raw[index + 1].toString('latin1'))
    }
    return kept
  }
  return listen(
    createServer((request, response) => {
      const { method, url: target, rawHeaders, headers } = request
      const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
      let control
      response.once('close', () => response.writableFinished || control?.abort(new Error('the client left')))
      pool.dispatch(
        { path: target, method, headers: passing(rawHeaders), body: hasBody ? request : null },
        {
          onRequestStart: (controller) => {
            control = controller
          },
          onResponseStart: (controller, status) => {
            response.writeHead(status, passing(controller.rawHeaders))
            response.on('drain', () => controller.resume())
          },
          onResponseData: (controller, chunk) => {
            if (!response.write(chunk)) controller.pause()
          },
          onResponseEnd: () => response.end(),
          onResponseError: () => response.destroy(),
        },
      )
    }),
  )
}

function openUpstream() {
  return listen(
    createServer((_request, response) => {
      response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': resource.length })
      response.end(resource)
    }),
  )
}

async function listen(server) {
  server.keepAliveTimeout = 60_000
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${server.address().port}`
}
