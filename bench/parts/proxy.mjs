// The gateway's measurement: our gateway, a bare streaming proxy, and the upstream behind both.
import { createServer } from 'node:http'
import { Pool } from 'undici'

/**
 * @typedef {import('../../dist/index.js').ProviderOptions} ProviderOptions
 * @typedef {{ kind: 'gateway', upstream: string, provider: Partial<ProviderOptions> }
 *   | { kind: 'bare', upstream: string, headers: Record<string, string> } | { kind: 'upstream' }} ProxyOptions
 * @typedef {{ url: string, close: () => unknown }} Running
 */

const path = '/api/data'
const resource = Buffer.from(JSON.stringify({ answer: 42 }))

/** @param {ProxyOptions} options */
export async function open(options) {
  const { url, close } = await start(options)
  return { facts: { url: `${url}${path}` }, answers: {}, close }
}

/**
 * @param {ProxyOptions} options
 * @returns {Promise<Running>}
 */
function start(options) {
  if (options.kind === 'gateway') return startGateway(options)
  return options.kind === 'bare' ? startBare(options) : startUpstream()
}

/**
 * @param {{ upstream: string, provider: Partial<ProviderOptions> }} options
 * @returns {Promise<Running>}
 */
async function startGateway({ upstream, provider }) {
  const { createGateway } = await import('../../dist/gateway/index.js')
  const gateway = createGateway({
    ...provider,
    token: 'USDC',
    upstream,
    listen: { port: 0 },
    log: { info: () => {}, warn: () => {}, error: () => {} },
    routes: [{ path, price: 0.01, per: { seconds: 36_000 } }],
  })
  const url = await gateway.listen()
  const { ready, why } = await gateway.readiness()
  if (!ready) throw new Error(why)
  return { url, close: () => gateway.close() }
}

/**
 * The least that a proxy does: the same client, streams both ways, no headers of the connection. It adds prepared headers
 * to each answer, so that it sends the same bytes as the gateway.
 *
 * @param {{ upstream: string, headers: Record<string, string> }} options
 * @returns {Promise<Running>}
 */
async function startBare({ upstream, headers: added }) {
  const prepared = Object.entries(added).flat()
  const pool = new Pool(upstream, { pipelining: 1 })
  const hopByHop = new Set(['connection', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'host'])
  const passing = (/** @type {readonly (string | Buffer)[]} */ raw) => {
    const kept = []
    for (let index = 0; index < raw.length; index += 2) {
      const name = raw[index]?.toString('latin1') ?? ''
      if (!hopByHop.has(name.toLowerCase())) kept.push(name, raw[index + 1]?.toString('latin1') ?? '')
    }
    return kept
  }
  const server = createServer((request, response) => {
    const { method = 'GET', url = '/', rawHeaders, headers } = request
    const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
    /** @type {import('undici').Dispatcher.DispatchController | undefined} */
    let control
    response.once('close', () => response.writableFinished || control?.abort(new Error('the client left')))
    pool.dispatch(
      {
        path: url,
        method: /** @type {import('undici').Dispatcher.HttpMethod} */ (method),
        headers: passing(rawHeaders),
        body: hasBody ? request : null,
      },
      {
        onRequestStart: (controller) => {
          control = controller
        },
        onResponseStart: (controller, status) => {
          response.writeHead(status, [...passing(/** @type {Buffer[]} */ (controller.rawHeaders)), ...prepared])
          response.on('drain', () => controller.resume())
        },
        onResponseData: (controller, chunk) => {
          if (!response.write(chunk)) controller.pause()
        },
        onResponseEnd: () => response.end(),
        onResponseError: () => response.destroy(),
      },
    )
  })
  const { url, close } = await listen(server)
  return { url, close: () => Promise.all([close(), pool.destroy()]) }
}

/** @returns {Promise<Running>} */
function startUpstream() {
  return listen(
    createServer((_request, response) => {
      response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': resource.length })
      response.end(resource)
    }),
  )
}

/**
 * @param {import('node:http').Server} server
 * @returns {Promise<Running>}
 */
async function listen(server) {
  server.keepAliveTimeout = 60_000
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)))
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  const close = () => {
    server.close()
    server.closeAllConnections()
  }
  return { url: `http://127.0.0.1:${port}`, close }
}
