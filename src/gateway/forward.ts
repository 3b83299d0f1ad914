/**
 * Sends a request on to its upstream and the answer back, as both come: nothing is kept, and whoever is slow is waited for.
 *
 * The response may be tied to a pass (`attachPass`). So its real end is what counts: an upstream that breaks off ends the
 * client's connection, never a response that looks whole.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { PassThrough } from 'node:stream'
import type { Dispatcher, Pool } from 'undici'
import { tearDown } from '../adapters/bridge.ts'
import type { PaymentFacts } from '../server/pass.ts'
import { passesToClient, passingHeaders } from './headers.ts'
import type { UpstreamPlan } from './plan.ts'

export interface Errand {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** Path and query as they were matched. */
  readonly target: string
  readonly facts: PaymentFacts | undefined
}

export interface ForwardParts {
  readonly upstream: UpstreamPlan
  readonly pool: Pool
  /** The headers for the upstream, names and values in turn. */
  readonly headersFor: (errand: Errand) => string[]
  /** Answers for an upstream that failed before it had said anything. */
  readonly fail: (why: string, status: 502 | 504) => void
}

export function forward(errand: Errand, parts: ForwardParts): void {
  const { request, target } = errand
  const { upstream } = parts
  const options: Dispatcher.DispatchOptions = {
    path: upstream.prefix + target,
    method: request.method ?? 'GET',
    headers: parts.headersFor(errand),
    body: null,
    headersTimeout: upstream.answerMs,
    bodyTimeout: upstream.idleMs,
  }
  if (!hasBody(request)) {
    send(errand, parts, options, isSafe(request))
    return
  }
  // undici destroys the body it was given when an answer comes early or never. A request of Node's would take the
  // client's connection with it, on which the answer is still to be sent.
  const body = request.pipe(new PassThrough())
  request.once('error', (error) => body.destroy(error))
  request.once('close', () => request.complete || body.destroy(new Error('the client broke off')))
  body.once('error', () => {}).once('close', () => request.unpipe(body).resume())
  send(errand, parts, { ...options, body }, false)
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

function isSafe({ method }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD'
}

/** `again`: whether a connection that was closed just as it was used may be made up for by another. */
function send(errand: Errand, parts: ForwardParts, options: Dispatcher.DispatchOptions, again: boolean): void {
  const { response } = errand
  let controller: Dispatcher.DispatchController | undefined
  let isOver = false
  const leave = (): void => {
    if (isOver) return
    isOver = true
    controller?.abort(new Error('the client left'))
  }
  const finish = (): void => {
    isOver = true
    response.off('close', leave)
  }
  response.once('close', leave)

  parts.pool.dispatch(options, {
    onRequestStart: (started) => {
      controller = started
      if (isOver) started.abort(new Error('the client left'))
    },
    onResponseStart: (current, status) => {
      // What comes before the answer is of the connection to the upstream; 101 never comes here.
      if (status < 200) return
      const raw = textsOf(current.rawHeaders as readonly Buffer[])
      response.writeHead(status, passingHeaders(raw, passesToClient))
      response.on('drain', () => current.resume())
    },
    onResponseData: (current, chunk) => {
      if (!response.write(chunk)) current.pause()
    },
    onResponseEnd: () => {
      finish()
      response.end()
    },
    onResponseError: (_current, error) => {
      if (isOver) return
      finish()
      if (isWholeWithout(response, error)) response.end()
      else if (response.headersSent) tearDown(response)
      else if (again && isStale(error)) send(errand, parts, options, false)
      else parts.fail(explain(error, parts.upstream), isTimeout(error) ? 504 : 502)
    },
  })
}

function textsOf(raw: readonly Buffer[]): string[] {
  return raw.map((part) => (typeof part === 'string' ? part : part.toString('latin1')))
}

function codeOf(error: unknown): unknown {
  return (error as { readonly code?: unknown } | undefined)?.code
}

/** A 304 may say how long the body is that it does not have, which undici takes for one that broke off. */
function isWholeWithout({ headersSent, statusCode }: ServerResponse, error: unknown): boolean {
  return headersSent && statusCode === 304 && codeOf(error) === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH'
}

function isTimeout(error: unknown): boolean {
  return /TIMEOUT|ETIMEDOUT/.test(String(codeOf(error)))
}

/** For the log of the operator, to whom our stack says nothing. */
export function explain(error: unknown, { origin, connectMs, answerMs }: UpstreamPlan): string {
  const code = String(codeOf(error) ?? error)
  if (code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'ETIMEDOUT')
    return `the upstream ${origin} did not begin to answer within ${answerMs / 1000} s`
  if (code === 'UND_ERR_CONNECT_TIMEOUT') return `the upstream ${origin} did not connect within ${connectMs / 1000} s`
  return `the upstream ${origin} failed before it answered (${code})`
}

function isStale(error: unknown): boolean {
  return /^(?:UND_ERR_SOCKET|ECONNRESET|EPIPE)$/.test(String(codeOf(error)))
}
