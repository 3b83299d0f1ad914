/** Two paywalls before one resource, in the ways each framework offers: the same one twice, or another one inside. */
import { createServer, type RequestListener } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import express, { type Express, type RequestHandler } from 'express'
import express4 from 'express4'
import fastify from 'fastify'
import { Hono } from 'hono'
import { create402Middleware as expressMiddleware } from '../../src/adapters/express.ts'
import { create402Middleware as fastifyMiddleware } from '../../src/adapters/fastify.ts'
import { create402Middleware as honoMiddleware } from '../../src/adapters/hono.ts'
import { create402Middleware as nextMiddleware } from '../../src/adapters/next.ts'
import { create402Middleware as nodeMiddleware } from '../../src/adapters/node.ts'
import type { ProviderOptions } from '../../src/paywall/config/options.ts'
import { type Lifecycle, listen, type Serve } from './adapters.ts'

/** Without options of its own, the inner paywall is the outer one. Sells `GET /data`. */
type Stack = (inner?: Partial<ProviderOptions>) => Serve

export const stacks: readonly (readonly [name: string, stack: Stack])[] = [
  ['Express 5', stackOf(expressMiddleware, onExpress(express))],
  ['Express 4', stackOf(expressMiddleware, onExpress(express4 as never))],
  ['Fastify 5', stackOf(fastifyMiddleware, onFastify)],
  [
    'Hono 4',
    stackOf(honoMiddleware, (outer, inner) =>
      getRequestListener(new Hono().use(outer).get('/data', inner, text).fetch),
    ),
  ],
  [
    'Hono 4 without sockets',
    stackOf(honoMiddleware, (outer, inner) => {
      const app = new Hono().use(outer).get('/data', inner, text)
      return getRequestListener((request) => app.fetch(request))
    }),
  ],
  [
    'Next',
    stackOf(nextMiddleware, (outer, inner) => getRequestListener(outer(inner(async () => new Response('the secret'))))),
  ],
  [
    'node:http',
    stackOf(nodeMiddleware, (outer, inner) => (request, response) => {
      outer(request, response, () => inner(request, response, () => response.end('the secret')))
    }),
  ],
]

function text(): Response {
  return new Response('the secret')
}

function stackOf<Paid extends Lifecycle>(
  create: (options: ProviderOptions) => Paid,
  mount: (outer: Paid, inner: Paid) => RequestListener | Promise<RequestListener>,
): Stack {
  return (inside) => async (options) => {
    const outer = create(options)
    const inner = inside ? create({ ...options, ...inside } as ProviderOptions) : outer
    const served = await listen(createServer(await mount(outer, inner)), outer)
    return {
      ...served,
      ready: () => Promise.all([outer.ready(), inner.ready()]).then(([readiness]) => readiness),
      close: () => served.close().then(() => inner.close()),
    }
  }
}

function onExpress(create: () => Express) {
  return (outer: unknown, inner: unknown): RequestListener => {
    const app = create()
    app.use(outer as RequestHandler)
    app.get('/data', inner as RequestHandler, (_request, response) => void response.send('the secret'))
    return app as unknown as RequestListener
  }
}

type FastifyHook = ReturnType<typeof fastifyMiddleware>
async function onFastify(outer: FastifyHook, inner: FastifyHook): Promise<RequestListener> {
  const app = fastify()
  app.addHook('onRequest', outer)
  app.get('/data', { preHandler: inner }, async () => 'the secret')
  await app.ready()
  return app.routing
}
