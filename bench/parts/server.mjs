// One HTTP server under load: behind our middleware, or the bare framework.
import { createServer } from 'node:http'

/**
 * @typedef {import('../../dist/index.js').ProviderOptions} ProviderOptions
 * @typedef {import('../../dist/adapters/lifecycle.js').Lifecycle} Lifecycle
 * @typedef {{ status?: number, body: string, headers: Record<string, string> }} BareAnswer
 * @typedef {'node' | 'express' | 'fastify' | 'hono'} Framework
 *
 * @typedef {object} ServerOptions
 * @property {Framework} framework
 * @property {Partial<ProviderOptions>} [provider] Puts our middleware in front; without it the framework is bare.
 * @property {BareAnswer} [bare] The answer of a bare framework.
 * @property {boolean} [events] Announces the events of our middleware.
 * @property {number} [streamBytes] The resource is a stream of so many bytes. With `node` only.
 *
 * @typedef {{ server: import('node:http').Server, paid?: Lifecycle | undefined }} Built
 */

const path = '/api/data'
const resource = JSON.stringify({ answer: 42 })
const frameworks = { node: buildNode, express: buildExpress, fastify: buildFastify, hono: buildHono }

/**
 * @param {ServerOptions} options
 * @param {(event: { event: string, at: number }) => void} emit
 */
export async function open(options, emit) {
  const provider = options.provider && readProvider(options.provider, options.events ? emit : undefined)
  const { server, paid } = await frameworks[options.framework](options, provider)
  // Both sides wait for each other between their rounds, and must not lose their connections over it.
  server.keepAliveTimeout = 60_000
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)))
  // Other networks have no node here. A server without one can ask for money, but it never becomes ready to be paid.
  if (provider?.network === 'localnet') await paid?.ready()
  const address = /** @type {import('node:net').AddressInfo} */ (server.address())
  return {
    facts: { url: `http://127.0.0.1:${address.port}${path}` },
    answers: { metrics: async () => (await paid?.metrics()) ?? '' },
    close: async () => {
      server.close()
      server.closeAllConnections()
      await paid?.close()
    },
  }
}

/**
 * @param {Partial<ProviderOptions>} provider
 * @param {((event: { event: string, at: number }) => void) | undefined} emit
 * @returns {ProviderOptions}
 */
function readProvider(provider, emit) {
  return {
    price: 0.01,
    token: 'USDC',
    ...provider,
    log: { info: () => {}, warn: () => {}, error: () => {} },
    ...(emit && { onEvent: ({ kind }) => emit({ event: kind, at: performance.timeOrigin + performance.now() }) }),
  }
}

/**
 * @param {ServerOptions} options
 * @param {ProviderOptions | undefined} provider
 * @returns {Promise<Built>}
 */
async function buildNode({ bare, streamBytes }, provider) {
  /** @param {import('node:http').ServerResponse} response */
  const serve = (response) => (streamBytes ? stream(response, streamBytes) : response.end(resource))
  if (!provider) {
    const answer = prepareAnswer(bare)
    return { server: createServer((_request, response) => (streamBytes ? serve(response) : answer(response))) }
  }
  const { create402Middleware } = await import('../../dist/adapters/node.js')
  const paid = create402Middleware(provider)
  return { server: createServer((request, response) => paid(request, response, () => serve(response))), paid }
}

/**
 * The bare framework sends its answer from the place of our middleware, before the same handler, so that the difference
 * is ours and not that of a shorter route. The same holds for the frameworks below.
 *
 * @param {ServerOptions} options
 * @param {ProviderOptions | undefined} provider
 * @returns {Promise<Built>}
 */
async function buildExpress({ bare }, provider) {
  const { default: express } = await import('express')
  const { create402Middleware } = await import('../../dist/adapters/express.js')
  const app = express()
  const paid = provider && create402Middleware(provider)
  const answer = prepareAnswer(bare)
  /** @type {import('express').RequestHandler} */
  const first = paid ?? ((_request, response) => answer(response))
  app.get(path, first, (_request, response) => void response.end(resource))
  return { server: createServer(app), paid }
}

/**
 * @param {ServerOptions} options
 * @param {ProviderOptions | undefined} provider
 * @returns {Promise<Built>}
 */
async function buildFastify({ bare }, provider) {
  const { default: fastify } = await import('fastify')
  const { create402Middleware } = await import('../../dist/adapters/fastify.js')
  const app = fastify()
  const paid = provider && create402Middleware(provider)
  /** @type {import('fastify').onRequestHookHandler} */
  const refuse = (_request, reply) =>
    void reply
      .code(402)
      .headers(bare?.headers ?? {})
      .send(bare?.body)
  app.get(path, { onRequest: paid ?? refuse }, async () => resource)
  await app.ready()
  return { server: app.server, paid }
}

/**
 * @param {ServerOptions} options
 * @param {ProviderOptions | undefined} provider
 * @returns {Promise<Built>}
 */
async function buildHono({ bare }, provider) {
  const { Hono } = await import('hono')
  const { getRequestListener } = await import('@hono/node-server')
  const { create402Middleware } = await import('../../dist/adapters/hono.js')
  const app = new Hono()
  const paid = provider && create402Middleware(provider)
  /** @type {import('hono').MiddlewareHandler} */
  const first = paid ?? (async () => new Response(bare?.body ?? '', { status: 402, headers: bare?.headers ?? {} }))
  app.get(path, first, (context) => context.text(resource))
  return { server: createServer(getRequestListener(app.fetch)), paid }
}

/**
 * The headers are prepared once, as ours are.
 *
 * @param {BareAnswer | undefined} bare
 */
function prepareAnswer({ status = 402, body, headers } = { body: '', headers: {} }) {
  const all = { ...headers, 'Content-Length': Buffer.byteLength(body) }
  return (/** @type {import('node:http').ServerResponse} */ response) => {
    response.writeHead(status, all)
    response.end(body)
  }
}

/**
 * Sends so many bytes, as fast as the client takes them.
 *
 * @param {import('node:http').ServerResponse} response
 * @param {number} bytes
 */
function stream(response, bytes) {
  const chunk = Buffer.alloc(65_536, 'paystile')
  let left = bytes
  const write = () => {
    while (left > 0) {
      const part = left < chunk.length ? chunk.subarray(0, left) : chunk
      left -= part.length
      if (!response.write(part)) return response.once('drain', write)
    }
    return response.end()
  }
  write()
}
