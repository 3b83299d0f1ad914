/** Every adapter behind one face, so that one suite can run over all of them on real sockets. */
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { getRequestListener } from '@hono/node-server'
import express from 'express'
import express4 from 'express4'
import fastify from 'fastify'
import { Hono } from 'hono'
import { drain } from '../../src/adapters/drain.ts'
import { create402Middleware as expressMiddleware } from '../../src/adapters/express.ts'
import { create402Middleware as fastifyMiddleware } from '../../src/adapters/fastify.ts'
import { create402Middleware as honoMiddleware } from '../../src/adapters/hono.ts'
import { create402Middleware as nextMiddleware } from '../../src/adapters/next.ts'
import { create402Middleware as nodeMiddleware } from '../../src/adapters/node.ts'
import type { ProviderOptions } from '../../src/paywall/config/options.ts'
import type { Readiness, ReadinessReport } from '../../src/paywall/runtime/catalog.ts'

/** What the protected handler answers. */
export interface Content {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** Text, or chunks that are sent as they come. */
  readonly body?: string | AsyncIterable<Uint8Array>
  /** The handler throws instead. */
  readonly throws?: boolean
}
/** The request as the handler finds it behind the paywall. */
export interface Visit {
  header(name: string): string | undefined
  text(): Promise<string>
}
export type Handler = (target: string, visit: Visit) => Content | Promise<Content>

export interface Served {
  readonly url: string
  /** Resolves when the paywall is up. */
  readonly ready: Lifecycle['ready']
  readonly readiness: Lifecycle['readiness']
  readonly metrics: () => Promise<string>
  /** Ends it as an operator does; `close` is for tests that are over. */
  readonly stop: () => Promise<void>
  readonly close: () => Promise<void>
}
export type Serve = (options: ProviderOptions, handler: Handler) => Promise<Served>

export interface Lifecycle {
  ready(): Promise<Readiness>
  readiness(): Promise<ReadinessReport>
  metrics(): Promise<string>
  close(): Promise<void>
}

export const adapters: readonly (readonly [name: string, serve: Serve])[] = [
  ['Express 5', (options, handler) => serveExpress(express as unknown as ExpressFactory, options, handler)],
  ['Express 4', (options, handler) => serveExpress(express4 as unknown as ExpressFactory, options, handler)],
  ['Fastify 5', serveFastify],
  ['Hono 4', serveHonoApp],
  ['Next', serveNext],
  ['node:http', serveNode],
]

async function answerOf(handler: Handler, target: string, visit: Visit): Promise<Content> {
  const content = await handler(target, visit)
  if (content.throws) throw new Error('the handler broke')
  return content
}

function nodeVisit(request: IncomingMessage): Visit {
  return {
    header: (name) => request.headers[name]?.toString(),
    text: async () => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk as Buffer)
      return Buffer.concat(chunks).toString()
    },
  }
}

function webVisit(request: Request): Visit {
  return { header: (name) => request.headers.get(name) ?? undefined, text: () => request.text() }
}

function streamOf({ body = '' }: Content): Readable {
  return typeof body === 'string' ? Readable.from([Buffer.from(body)]) : Readable.from(body)
}

function pipeTo(response: ServerResponse, content: Content): void {
  streamOf(content)
    .on('error', () => response.destroy())
    .pipe(response)
}

function webResponse(content: Content): Response {
  const { status = 200, headers, body = null } = content
  const source =
    typeof body === 'object' && body !== null ? (Readable.toWeb(Readable.from(body)) as unknown as BodyInit) : body
  return new Response(source, { status, ...(headers && { headers }) })
}

/** What Express 4 and 5 have in common here; their types share nothing. */
type ExpressFactory = () => RequestListener & {
  all(path: RegExp, ...handlers: readonly ExpressHandler[]): void
  use(handler: (error: unknown, ...rest: Parameters<ExpressHandler>) => void): void
}
type ExpressHandler = (request: ExpressRequest, response: ExpressResponse, next: (error?: unknown) => void) => void
type ExpressRequest = IncomingMessage & { readonly originalUrl: string }
type ExpressResponse = ServerResponse & {
  status(code: number): ExpressResponse
  set(headers: Readonly<Record<string, string>>): ExpressResponse
  send(body: Buffer | string | undefined): void
}

async function serveExpress(factory: ExpressFactory, options: ProviderOptions, handler: Handler): Promise<Served> {
  const app = factory()
  const paid = expressMiddleware(options)
  app.all(/.*/, paid, (request, response, next) => {
    answerOf(handler, request.originalUrl, nodeVisit(request)).then((content) => {
      response.status(content.status ?? 200).set(content.headers ?? {})
      if (typeof content.body === 'object') pipeTo(response, content)
      else response.send(content.body === undefined ? undefined : Buffer.from(content.body))
    }, next)
  })
  // Express prints errors of handlers unless it is told not to.
  app.use((_error, _request, response, _next) => {
    if (response.headersSent) response.destroy()
    else response.status(500).send('broken')
  })
  return listen(createServer(app), paid)
}

async function serveFastify(options: ProviderOptions, handler: Handler): Promise<Served> {
  const app = fastify({ exposeHeadRoutes: false })
  const paid = fastifyMiddleware(options)
  app.route({
    method: ['GET', 'POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS'],
    url: '/*',
    onRequest: paid,
    handler: async (request, reply) => {
      const text = async () => String(request.body)
      const content = await answerOf(handler, request.originalUrl, { ...nodeVisit(request.raw), text })
      reply.code(content.status ?? 200).headers({ ...content.headers })
      return typeof content.body === 'object' ? reply.send(streamOf(content)) : reply.send(content.body)
    },
  })
  await app.ready()
  const served = await listen(app.server, paid)
  return {
    ...served,
    close: async () => {
      await served.close()
      await app.close()
    },
  }
}

async function serveHonoApp(options: ProviderOptions, handler: Handler): Promise<Served> {
  const app = new Hono()
  const paid = honoMiddleware(options)
  app.onError((_error, context) => context.text('broken', 500))
  app.all('*', paid, async (context) => {
    const url = new URL(context.req.url)
    return webResponse(await answerOf(handler, `${url.pathname}${url.search}`, webVisit(context.req.raw)))
  })
  return listen(createServer(getRequestListener(app.fetch)), paid)
}

async function serveNext(options: ProviderOptions, handler: Handler): Promise<Served> {
  const paid = nextMiddleware(options)
  const route = paid(async (request: Request) => {
    const url = new URL(request.url)
    return webResponse(await answerOf(handler, `${url.pathname}${url.search}`, webVisit(request)))
  })
  return listen(createServer(getRequestListener(route)), paid)
}

async function serveNode(options: ProviderOptions, handler: Handler): Promise<Served> {
  const paid = nodeMiddleware(options)
  const server = createServer((request, response) =>
    paid(request, response, async () => {
      const content = await answerOf(handler, request.url ?? '/', nodeVisit(request))
      response.writeHead(content.status ?? 200, { ...content.headers })
      if (typeof content.body === 'object') pipeTo(response, content)
      else response.end(content.body)
    }),
  )
  return listen(server, paid)
}

export async function listen(server: Server, paid: Lifecycle): Promise<Served> {
  if (!server.listening) {
    server.listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
  }
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    ready: paid.ready,
    readiness: paid.readiness,
    metrics: paid.metrics,
    stop: () => drain(server, paid),
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      await paid.close()
    },
  }
}
