/**
 * Applications as people write them: the paywall mounted on one route of a real router, in the ways each framework
 * offers, with something free beside it. Whoever gets `the secret` got past the paywall.
 */
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import express, { type Express, type RequestHandler } from 'express'
import express4 from 'express4'
import fastify, { type FastifyServerOptions } from 'fastify'
import { Hono } from 'hono'
import { create402Middleware as expressMiddleware } from '../../src/adapters/express.ts'
import { create402Middleware as fastifyMiddleware } from '../../src/adapters/fastify.ts'
import { create402Middleware as honoMiddleware } from '../../src/adapters/hono.ts'
import { create402Middleware as nextMiddleware } from '../../src/adapters/next.ts'
import { create402Middleware as nodeMiddleware } from '../../src/adapters/node.ts'
import type { ProviderOptions } from '../../src/paywall/config/options.ts'

export interface App {
  readonly url: string
  close(): Promise<void>
}
type Build = (options: ProviderOptions) => Promise<App>

interface Paid {
  ready(): Promise<unknown>
  close(): Promise<void>
}

const secret: RequestHandler = (_request, response) => void response.send('the secret')

/** Changes the method as the method-override package does, before any route is looked for. */
const override: RequestHandler = (request, _response, next) => {
  const wanted = request.headers['x-http-method-override']
  if (typeof wanted === 'string') request.method = wanted.toUpperCase()
  next()
}

/** Each sells `GET /api/data`; a POST to it is sold too where the router can tell them apart. */
export const routers: readonly (readonly [name: string, build: Build])[] = [
  ['Express 5, on a route', onExpress(express, (app, paid) => app.all('/api/data', paid, secret))],
  ['Express 4, on a route', onExpress(express4 as never, (app, paid) => app.all('/api/data', paid, secret))],
  ['Express 5, strict', onExpress(strictExpress, (app, paid) => app.all('/api/data', paid, secret))],
  ['Express 5, before a path', onExpress(express, (app, paid) => app.use('/api/data', paid, secret))],
  [
    'Express 5, in a router',
    onExpress(express, (app, paid) => app.use('/api', express.Router().all('/data', paid, secret))),
  ],
  ['Fastify 5, on a route', onFastify({})],
  [
    'Fastify 5, forgiving',
    onFastify({
      caseSensitive: false,
      ignoreTrailingSlash: true,
      ignoreDuplicateSlashes: true,
    }),
  ],
  ['Hono 4, on a route', onHono((app, paid) => app.all('/api/data', paid, (context) => context.text('the secret')))],
  [
    'Hono 4, before paths',
    onHono((app, paid) => {
      app.use('/api/*', paid)
      app.all('/api/data', (context) => context.text('the secret'))
    }),
  ],
  [
    'Hono 4, in an app of its own',
    onHono((app, paid) => {
      const inner = new Hono().all('/data', paid, (context) => context.text('the secret'))
      app.route('/api', inner)
    }),
  ],
  ['Next', onNext],
  ['node:http', onNode],
]

function strictExpress(): Express {
  return express().set('case sensitive routing', true).set('strict routing', true)
}

function onExpress(create: () => Express, mount: (app: Express, paid: RequestHandler) => void): Build {
  return async (options) => {
    const paid = expressMiddleware(options)
    const app = create()
    app.use(override)
    mount(app, paid as RequestHandler)
    return listen(createServer(app as unknown as RequestListener), paid)
  }
}

function onFastify(routerOptions: NonNullable<FastifyServerOptions['routerOptions']>): Build {
  return async (options) => {
    const paid = fastifyMiddleware(options)
    const app = fastify({ routerOptions })
    app.route({
      method: ['GET', 'POST', 'DELETE'],
      url: '/api/data',
      onRequest: paid,
      handler: async () => 'the secret',
    })
    await app.ready()
    const listening = await listen(app.server, paid)
    return { ...listening, close: () => listening.close().then(() => app.close()) }
  }
}

function onHono(mount: (app: Hono, paid: ReturnType<typeof honoMiddleware>) => void): Build {
  return async (options) => {
    const paid = honoMiddleware(options)
    const app = new Hono()
    mount(app, paid)
    return listen(createServer(getRequestListener(app.fetch)), paid)
  }
}

/** Next's own router is not here; it calls the handler for one path and nothing else. */
async function onNext(options: ProviderOptions): Promise<App> {
  const paid = nextMiddleware(options)
  const handler = paid(async () => new Response('the secret'))
  const route = (request: Request) =>
    new URL(request.url).pathname === '/api/data' ? handler(request) : new Response('not here', { status: 404 })
  return listen(createServer(getRequestListener(route)), paid)
}

async function onNode(options: ProviderOptions): Promise<App> {
  const paid = nodeMiddleware(options)
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost')
    if (pathname === '/api/data') paid(request, response, () => response.end('the secret'))
    else response.writeHead(404).end('not here')
  })
  return listen(server, paid)
}

async function listen(server: Server, paid: Paid): Promise<App> {
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  await paid.ready()
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      await paid.close()
    },
  }
}
