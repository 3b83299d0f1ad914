/**
 * Forwards a request to its upstream and streams the response back with backpressure, without buffering.
 *
 * The response may be tied to a pass, so its real end counts: if an upstream breaks off, the client's connection is
 * closed. A truncated response never looks complete.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { PassThrough } from 'node:stream'
import type { Dispatcher, Pool } from 'undici'
import { tearDown } from '../../adapters/node-response/abort.ts'
import type { MeteredResponse } from '../../adapters/node-response/metered-response.ts'
import { endBody, isRest, wrap, writeBody, writeHead } from '../../adapters/node-response/metered-response.ts'
import type { Paywall } from '../../paywall/paywall.ts'
import type { UpstreamPlan } from '../config/plan.ts'
import { hasBody, passesToClient, passingHeaders } from '../headers.ts'
import type { RouteHealth } from '../upstream/health.ts'
import { type ErrorPages, sendFailed, sendProblem } from './problem.ts'

export interface ProxyRequest {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** Path and query as they were matched. */
  readonly target: string
  readonly upstream: UpstreamPlan
  readonly pool: Pool
  readonly health: RouteHealth
  /** Set for a paid request. */
  readonly paywall: Paywall | undefined
  readonly metered: MeteredResponse | undefined
  readonly pages: ErrorPages
}

/** `headers` are the headers for the upstream, names and values in turn. */
export function forward(proxyRequest: ProxyRequest, headers: string[]): void {
  const { request, target, upstream } = proxyRequest
  const options: Dispatcher.DispatchOptions = {
    path: upstream.prefix + target,
    method: request.method ?? 'GET',
    headers,
    body: null,
    headersTimeout: upstream.answerMs,
    bodyTimeout: upstream.idleMs,
  }
  if (!hasBody(request.headers)) {
    send(proxyRequest, options, isSafe(request))
    return
  }
  // undici destroys the body if a response comes early or never. Destroying Node's request would close the client's
  // connection, which the response still needs.
  const body = request.pipe(new PassThrough())
  request.once('error', (error) => body.destroy(error))
  request.once('close', () => request.complete || body.destroy(new Error('the client aborted the request')))
  body.once('error', () => {}).once('close', () => request.unpipe(body).resume())
  send(proxyRequest, { ...options, body }, false)
}

function isSafe({ method }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD'
}

/**
 * One attempt with its undici callbacks. This is undici's internal handler form. The newer form with a controller wraps
 * it and creates an object of all headers, which is not needed here.
 */
interface Attempt {
  readonly proxyRequest: ProxyRequest
  readonly options: Dispatcher.DispatchOptions
  /** Whether to retry on another connection if this one was closed just as it was used. */
  readonly again: boolean
  abort: ((reason: Error) => void) | undefined
  resume: (() => void) | undefined
  isOver: boolean
  /** The short last part of the body. It waits for the end, so that both are sent together. */
  rest: Buffer | undefined
  onConnect(this: Attempt, abort: (reason: Error) => void): void
  onHeaders(this: Attempt, status: number, headers: readonly Buffer[], resume: () => void): boolean
  onData(this: Attempt, chunk: Buffer): boolean
  onComplete(this: Attempt): void
  onError(this: Attempt, error: Error): void
}

function send(proxyRequest: ProxyRequest, options: Dispatcher.DispatchOptions, again: boolean): void {
  const attempt: Attempt = {
    proxyRequest,
    options,
    again,
    abort: undefined,
    resume: undefined,
    isOver: false,
    rest: undefined,
    onConnect,
    onHeaders,
    onData,
    onComplete,
    onError,
  }
  const leave = (): void => {
    if (attempt.isOver) return
    attempt.isOver = true
    attempt.abort?.(new Error('the client disconnected'))
  }
  // Saves one listener per request, on a path that runs thousands of times a second.
  if (proxyRequest.metered) proxyRequest.metered.onClose = leave
  else proxyRequest.response.on('close', leave)
  proxyRequest.pool.dispatch(options, attempt)
}

function onConnect(this: Attempt, abort: (reason: Error) => void): void {
  this.abort = abort
  if (this.isOver) abort(new Error('the client disconnected'))
}

function onHeaders(this: Attempt, status: number, headers: readonly Buffer[], resume: () => void): boolean {
  // Interim responses belong to the connection to the upstream. 101 never arrives here.
  if (status < 200) return true
  this.resume = resume
  const { response, metered, health } = this.proxyRequest
  health.answered(status, metered?.pass.facts())
  const passing = passingHeaders(headers, passesToClient)
  if (metered) writeHead(metered, status, [passing])
  else response.writeHead(status, passing)
  return true
}

const shortBytes = 8_192

/** Returning false makes undici wait. */
function onData(this: Attempt, chunk: Buffer): boolean {
  const { response, metered } = this.proxyRequest
  if (metered && chunk.length <= shortBytes && isRest(metered, chunk.length)) {
    this.rest = chunk
    return true
  }
  if (metered ? writeBody(metered, chunk) : response.write(chunk)) return true
  response.once('drain', () => this.resume?.())
  return false
}

function onComplete(this: Attempt): void {
  this.isOver = true
  finish(this.proxyRequest, this.rest)
}

function finish({ response, metered }: ProxyRequest, rest?: Buffer): void {
  if (!metered) response.end()
  // As latin1 text, Node sends it together with the head.
  else if (rest) endBody(metered, rest.toString('latin1'), 'latin1')
  else endBody(metered)
}

function onError(this: Attempt, error: Error): void {
  if (this.isOver) return
  this.isOver = true
  const { proxyRequest, options, again } = this
  const { response } = proxyRequest
  if (isWholeWithout(response, error)) finish(proxyRequest)
  else if (response.headersSent) tearDown(response)
  else if (again && isStale(error)) send(proxyRequest, options, false)
  else fail(proxyRequest, error)
}

function fail(proxyRequest: ProxyRequest, error: Error): void {
  const { request, health, metered, upstream } = proxyRequest
  const why = explain(error, upstream)
  // A client that is slow to send its body is not a failure of the upstream.
  if (request.complete) health.failed(error, why, metered?.pass.facts())
  sendFailure(proxyRequest, why, chooseStatus(error))
}

/** Responds for an upstream that failed before it sent a response. */
function sendFailure({ response, paywall, metered, pages }: ProxyRequest, why: string, status: 502 | 504): void {
  if (response.headersSent || response.destroyed) return
  if (paywall && metered) {
    wrap(metered)
    sendFailed(response, pages, paywall.handlerFailed(why, status))
  } else sendProblem(response, pages, 'upstream_failed', status, 'The resource failed.')
}

function codeOf(error: unknown): unknown {
  return (error as { readonly code?: unknown } | undefined)?.code
}

/** A 304 can state the length of a body that it does not have, which undici treats as a truncated response. */
function isWholeWithout({ headersSent, statusCode }: ServerResponse, error: unknown): boolean {
  return headersSent && statusCode === 304 && codeOf(error) === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH'
}

/** The status for an upstream that failed before it sent a response. */
export function chooseStatus(error: unknown): 502 | 504 {
  return /TIMEOUT|ETIMEDOUT/.test(String(codeOf(error))) ? 504 : 502
}

/** A reason for the operator's log, without a stack. */
export function explain(error: unknown, { origin, connectMs, answerMs }: UpstreamPlan): string {
  const code = String(codeOf(error) ?? error)
  if (code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'ETIMEDOUT')
    return `the upstream ${origin} did not respond within ${answerMs / 1000} s`
  if (code === 'UND_ERR_CONNECT_TIMEOUT') return `the upstream ${origin} did not connect within ${connectMs / 1000} s`
  return `the upstream ${origin} failed before it responded (${code})`
}

function isStale(error: unknown): boolean {
  return /^(?:UND_ERR_SOCKET|ECONNRESET|EPIPE)$/.test(String(codeOf(error)))
}
