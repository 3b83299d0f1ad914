/**
 * WebSockets: the handshake is the paid request.
 *
 * A price per request is used when the upstream has accepted and the client was told. A window or bytes continue to
 * count while the connection lasts, and end it.
 */
import { type ClientRequest, type IncomingMessage, request as requestHttp, ServerResponse } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { enterNode, readIncoming, sendAnswer } from '../../adapters/bridge.ts'
import { tearDown } from '../../adapters/node-response/abort.ts'
import { attachPass } from '../../adapters/node-response/metered-response.ts'
import { createQuotaWriter } from '../../adapters/node-response/quota-writer.ts'
import type { ByteQuota } from '../../paywall/delivery/byte-quota.ts'
import type { Delivery } from '../../paywall/delivery/delivery.ts'
import { hasBody, passesToClient, passingHeaders } from '../headers.ts'
import { guardedLookup } from '../upstream/connections.ts'
import { explain } from './forward.ts'
import { findRoute, type OpenRoute, type RouteTable, serve } from './handle-request.ts'
import { sendProblem } from './problem.ts'

export function createUpgrades(table: RouteTable) {
  const sockets = new Set<Socket>()
  return {
    listener: (request: IncomingMessage, duplex: Duplex, head: Buffer) => {
      // A server of `node:http` only has sockets of this type.
      const socket = duplex as Socket
      sockets.add(socket)
      socket.on('error', () => socket.destroy()).once('close', () => sockets.delete(socket))
      const response = respondOn(socket, request)
      if (!response) {
        socket.destroy()
        return
      }
      const { target } = readIncoming(request, request.url ?? '/')
      const route = isHandshake(request) ? findRoute(table, request, target) : undefined
      if (hasBody(request.headers)) {
        // Node stops parsing HTTP at an upgrade request, so the end of the body would be unknown.
        sendProblem(
          response,
          undefined,
          'upgrade_with_body',
          400,
          'A request with a body cannot upgrade to another protocol.',
        )
      } else if (route?.isWebSocket) shake({ route, request, socket, head, response, target })
      // Whoever asks for a protocol that is not spoken gets the answer in HTTP.
      else serve(table, request, response, false)
    },
    /** Ends all connections. Node's server does not track them after the upgrade. */
    close: () => {
      for (const socket of sockets) socket.destroySoon()
    },
  }
}

/** Only a GET: HEAD and OPTIONS use no allowance and have no bytes to count. */
function isHandshake({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' && /^websocket$/i.test(headers.upgrade ?? '')
}

/**
 * An HTTP response on a socket that Node has detached. It is the last one on it. Undefined while an earlier response is
 * pending: a client may not upgrade before it.
 */
function respondOn(socket: Socket, request: IncomingMessage): ServerResponse | undefined {
  const response = new ServerResponse(request)
  response.shouldKeepAlive = false
  try {
    response.assignSocket(socket)
  } catch {
    return undefined
  }
  socket.on('drain', () => response.emit('drain'))
  response.once('finish', () => socket.destroySoon())
  return response
}

interface Handshake {
  readonly route: OpenRoute
  readonly request: IncomingMessage
  readonly socket: Socket
  /** Bytes that the client sent after its handshake. */
  readonly head: Buffer
  readonly response: ServerResponse
  readonly target: string
}

function shake(handshake: Handshake): void {
  const { route, request, response, target } = handshake
  const { paywall } = route
  if (!paywall) {
    connect(handshake, undefined)
    return
  }
  enterNode(paywall, request, target, {
    answer: (answer) => sendAnswer(response, answer),
    admit: (pass) => connect(handshake, pass),
    fail: (error) => sendAnswer(response, paywall.handlerFailed(error)),
  })
}

/** Asks the upstream. Until it has answered, whoever leaves gets the payment back. */
function connect(handshake: Handshake, pass: Delivery | undefined): void {
  const { route, socket, response } = handshake
  if (socket.destroyed) {
    pass?.end('failed', 0)
    return
  }
  const asked = askUpstream(handshake, pass)
  const leave = (): void => {
    asked.destroy()
    pass?.end('aborted', 0)
  }
  const early = readAhead(socket)
  const settle = (): void => void socket.off('close', leave)
  socket.once('close', leave)
  pass?.onLost(() => socket.destroy())

  asked.on('upgrade', (answer, upstream: Socket, head: Buffer) => {
    settle()
    route.health.answered(101, pass?.facts())
    if (socket.destroyed) upstream.destroy()
    else join({ ...handshake, head: Buffer.concat([handshake.head, early()]) }, pass, { answer, upstream, head })
  })
  const fail = (error: unknown, status: 502 | 504): void => {
    if (response.writableEnded) return
    if (response.headersSent || socket.destroyed) socket.destroy()
    else if (!pass || !route.paywall)
      sendProblem(response, undefined, 'upstream_failed', status, 'The resource failed.')
    else if (attachPass(response, pass)) sendAnswer(response, route.paywall.handlerFailed(error, status))
  }
  asked.on('response', (answer) => {
    settle()
    const { statusCode = 0 } = answer
    route.health.answered(statusCode, pass?.facts())
    if (statusCode < 200) {
      // Node parses such a status, but throws when it sends it.
      answer.destroy()
      fail(new Error(`the upstream responded with status ${statusCode}`), 502)
      return
    }
    // The upstream refused, or does not support WebSockets. Its response is forwarded.
    if (!attachPass(response, pass)) {
      answer.destroy()
      return
    }
    response.once('close', () => answer.destroy())
    response.writeHead(statusCode, passingHeaders(answer.rawHeaders, passesToClient))
    answer.once('aborted', () => tearDown(response)).pipe(response)
  })
  asked.on('error', (error: NodeJS.ErrnoException) => {
    settle()
    const why = explain(error, route.upstream)
    if (!socket.destroyed) route.health.failed(error, why, pass?.facts())
    fail(why, error.code === 'ETIMEDOUT' ? 504 : 502)
  })
  asked.end()
}

/** More than any client sends before the upgrade is accepted. */
const mostAheadBytes = 65_536

/**
 * A socket that is not read does not report that its client has left. The returned function stops reading and returns
 * the received bytes.
 */
function readAhead(socket: Socket): () => Buffer {
  const chunks: Buffer[] = []
  let length = 0
  const read = (chunk: Buffer): void => {
    chunks.push(chunk)
    length += chunk.length
    if (length > mostAheadBytes) socket.pause()
  }
  const leave = (): void => void socket.destroy()
  socket.on('data', read).once('end', leave)
  return () => {
    socket.off('data', read).off('end', leave)
    return Buffer.concat(chunks)
  }
}

function askUpstream({ route, request, target }: Handshake, pass: Delivery | undefined): ClientRequest {
  const { upstream, outgoing } = route
  const { protocol, hostname, port } = new URL(upstream.origin)
  const headers: Record<string, string | string[]> = { connection: 'Upgrade', upgrade: 'websocket' }
  const raw = outgoing(request, target, pass?.facts())
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const name = (raw[index] as string).toLowerCase()
    const value = raw[index + 1] as string
    const before = headers[name]
    headers[name] = before === undefined ? value : [...(typeof before === 'string' ? [before] : before), value]
  }
  const ask = protocol === 'https:' ? requestHttps : requestHttp
  const asked = ask({
    // Brackets around an IPv6 address are for URLs only.
    hostname: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: port || undefined,
    path: upstream.prefix + target,
    headers,
    agent: false,
    lookup: guardedLookup,
    timeout: upstream.answerMs,
  })
  const late = (): void => void asked.destroy(Object.assign(new Error('no response in time'), { code: 'ETIMEDOUT' }))
  return asked.on('timeout', late)
}

interface Agreement {
  readonly answer: IncomingMessage
  readonly upstream: Socket
  readonly head: Buffer
}

/** Tells the client that the upstream agreed, and ties the two together. */
function join({ socket, head, response }: Handshake, pass: Delivery | undefined, agreement: Agreement): void {
  const { answer, upstream } = agreement
  const beginning = pass?.begin({ status: 101, length: undefined, contentRange: undefined, type: undefined })
  if (beginning?.instead) {
    upstream.destroy()
    pass?.end('failed', 0)
    sendAnswer(response, beginning.instead)
    return
  }
  response.detachSocket(socket)
  const lines = passingHeaders(answer.rawHeaders, passesToClient)
  for (const [name, value] of beginning?.headers ?? []) lines.push(name, value)
  lines.push('Connection', 'Upgrade', 'Upgrade', answer.headers.upgrade ?? 'websocket')
  const isRequest = pass?.facts().unit === 'request'
  let isTold = false
  const told = (error?: Error | null): void => {
    isTold = !error
    // The payment was for one request, the handshake.
    if (isTold && isRequest) pass?.end('finished', 0)
  }
  socket.write(`HTTP/1.1 101 Switching Protocols\r\n${asLines(lines)}\r\n`, 'latin1', told)

  const part = (): void => {
    upstream.destroy()
    socket.destroy()
    pass?.end(isTold && pass.isAlive() ? 'finished' : 'aborted', 0)
  }
  for (const side of [socket, upstream]) {
    side.setTimeout(0)
    side.setKeepAlive(true, keepAliveMs)
    side.on('error', part).once('close', part)
  }
  if (head.length > 0) upstream.write(head)
  socket.pipe(upstream)
  deliver(upstream, socket, agreement.head, beginning?.quota)
}

const keepAliveMs = 60_000

function asLines(headers: readonly string[]): string {
  return headers.map((text, index) => (index % 2 === 0 ? `${text}: ` : `${text}\r\n`)).join('')
}

/** Copies from the upstream to the client; with a byte allowance, up to its end. */
function deliver(upstream: Socket, socket: Socket, head: Buffer, quota: ByteQuota | undefined): void {
  if (!quota) {
    if (head.length > 0) socket.write(head)
    upstream.pipe(socket)
    return
  }
  const quotaWriter = createQuotaWriter({
    quota,
    announced: undefined,
    write: (bytes, callback) => socket.write(bytes, callback),
    end: () => socket.end(),
    breakOff: () => socket.destroySoon(),
    drain: () => upstream.resume(),
  })
  socket.on('drain', () => upstream.resume())
  upstream.on('data', (chunk: Buffer) => {
    if (!quotaWriter.write(chunk)) upstream.pause()
  })
  upstream.on('end', () => quotaWriter.end(undefined))
  if (head.length > 0) quotaWriter.write(head)
}
