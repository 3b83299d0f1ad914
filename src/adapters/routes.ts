/** The service's own endpoints for every framework: by `fetch`, and by Node's request and response. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Visitor } from '../api/http/access.ts'
import { problem } from '../api/http/errors.ts'
import type { RoutesOptions } from '../api/options.ts'
import type { GatewayView } from '../api/parts.ts'
import type { Routes } from '../api/router.ts'
import { openRoutes } from '../compose/api.ts'
import { rememberOpen } from '../compose/open-paywalls.ts'
import { openLog } from '../compose/paywall.ts'
import { parseUrl } from '../core/encoding/url.ts'

/** The client as the server knows it, or Node's own request, from which it can be read. */
export type VisitInfo = Partial<Visitor> | { readonly incoming: IncomingMessage }

export interface PaystileRoutes {
  /** Whether a path belongs to the service's own endpoints. */
  owns(path: string): boolean
  /**
   * Without `info` no client counts as being on the machine itself. With `@hono/node-server`, pass the context's `env`.
   */
  fetch(request: Request, info?: VisitInfo): Promise<Response>
  /** For `node:http`, Express and Connect. Other paths go to `next`, or get 404. */
  listener(request: IncomingMessage, response: ServerResponse, next?: (error?: unknown) => void): void
  /** Ends streams, and releases the service. */
  close(): Promise<void>
}

/**
 * Analytics, verification, health and discovery, beside the paywalls of an application.
 *
 * They share a service, and so a ledger, with paywalls that have the same `network`, `rpc`, `ledger`, `secret` and
 * `service`.
 *
 * @example
 * const routes = createPaystileRoutes({ network: 'localnet', ledger: 'payments.sqlite' })
 * app.use(routes.listener)
 */
export function createPaystileRoutes(options: RoutesOptions = {}): PaystileRoutes {
  return openPaystileRoutes(options)
}

/** The same with the parts of a gateway. */
export function openPaystileRoutes(options: RoutesOptions, gateway?: GatewayView): PaystileRoutes {
  const routes = openRoutes(options, gateway)
  return {
    owns: routes.owns,
    fetch: (request, info = {}) => routes.handle(request, visitorFrom(info)),
    listener: (incoming, response, next) => {
      const path = (incoming.url ?? '/').split(/[?#]/)[0] ?? '/'
      if (next && !routes.owns(path)) return next()
      const leaving = new AbortController()
      response.once('close', () => leaving.abort())
      serveNode(routes, incoming, leaving.signal)
        .then((answer) => sendResponse(response, answer))
        .catch((error) => {
          if (response.headersSent || !next) response.destroy()
          else next(error)
        })
    },
    close: rememberOpen(routes.close, { name: 'createPaystileRoutes', log: openLog(options.log) }),
  }
}

/** `Request` does not support TRACE and similar methods, and throws. Such an error must affect only its sender. */
async function serveNode(routes: Routes, incoming: IncomingMessage, signal: AbortSignal): Promise<Response> {
  if (/^(?:TRACE|TRACK|CONNECT)$/i.test(incoming.method ?? ''))
    return problem('method_not_allowed', { headers: { Allow: 'GET, HEAD, POST, OPTIONS' } })
  return routes.handle(createRequest(incoming, signal), readVisitor(incoming))
}

function visitorFrom(info: VisitInfo): Visitor {
  if ('incoming' in info) return readVisitor(info.incoming)
  return { peer: info.peer, isLoopback: info.isLoopback ?? false }
}

const loopback = /^(?:127(?:\.\d{1,3}){3}|::1|::ffff:127(?:\.\d{1,3}){3})$/

/** The listening address counts: a server that listens on all addresses is reachable from everywhere. */
export function readVisitor({ socket }: IncomingMessage): Visitor {
  const { server } = socket as { readonly server?: { address?(): unknown } }
  const bound = server?.address?.()
  const isBound =
    typeof bound === 'object' && bound !== null && 'address' in bound && loopback.test(String(bound.address))
  const peer = socket.remoteAddress
  return { peer, isLoopback: isBound && peer !== undefined && loopback.test(peer) }
}

/** Converts Node's request to a `Request`. A body that a parser has already read is written again. */
export function createRequest(incoming: IncomingMessage, signal: AbortSignal): Request {
  const { method = 'GET', headers } = incoming
  const host = headers.host ?? headers[':authority'] ?? ''
  const scheme = 'encrypted' in incoming.socket ? 'https' : 'http'
  const target = incoming.url?.startsWith('/') ? incoming.url : '/'
  const origin = parseUrl(`${scheme}://${host}`)?.origin ?? 'http://unknown.invalid'
  const copied = new Headers()
  for (const [name, value] of Object.entries(headers)) {
    if (name.startsWith(':') || value === undefined) continue
    for (const one of Array.isArray(value) ? value : [value]) copied.append(name, one)
  }
  const hasBody = method !== 'GET' && method !== 'HEAD'
  const init = { method, headers: copied, signal, ...(hasBody && { body: bodyOf(incoming), duplex: 'half' }) }
  return new Request(`${origin}${target}`, init as RequestInit)
}

function bodyOf(incoming: IncomingMessage): BodyInit {
  const { body } = incoming as { readonly body?: unknown }
  const isRead = incoming.readableDidRead || incoming.readableEnded
  if (isRead && body !== undefined)
    return typeof body === 'string' || body instanceof Uint8Array ? (body as BodyInit) : JSON.stringify(body)
  const iterator = incoming[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        const { done, value } = await iterator.next()
        if (done) controller.close()
        else controller.enqueue(value)
      },
      // Keeps the connection, because the response needs it.
      cancel: () => void incoming.resume(),
    },
    { highWaterMark: 0 },
  )
}

/** Streams a response with backpressure. */
export async function sendResponse(response: ServerResponse, answer: Response): Promise<void> {
  const cookies = answer.headers.getSetCookie()
  for (const [name, value] of answer.headers) if (name !== 'set-cookie') response.setHeader(name, value)
  if (cookies.length > 0) response.setHeader('set-cookie', cookies)
  response.statusCode = answer.status
  const reader = answer.body?.getReader()
  if (!reader) return void response.end()
  // The close of a client that left before the response is not observed. The body must still be cancelled.
  if (response.destroyed) return void reader.cancel().catch(() => {})
  response.flushHeaders()
  response.once('close', () => void reader.cancel().catch(() => {}))
  for (let part = await reader.read(); !part.done && !response.destroyed; part = await reader.read()) {
    if (!response.write(part.value)) await drained(response)
  }
  response.end()
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off('drain', done).off('close', done)
      resolve()
    }
    response.once('drain', done).once('close', done)
  })
}
