/**
 * A response tied to its pass, and watched where it really happens: bytes are counted as they are handed to HTTP, and the
 * payment is settled when the socket has taken the last of them, or, of a large body, when it arrived. Handlers do not know of it, so for them `writeHead`,
 * `write` and `end` are wrapped together; who does, like the gateway, calls those of the tie.
 */
import type { IncomingMessage, OutgoingHttpHeader, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { Answer } from '../../core/encoding/http.ts'
import { cacheDirective } from '../../core/encoding/http.ts'
import type { Wrapping } from '../../paywall/config/envelope.ts'
import { emptyBody, wrappingFor } from '../../paywall/config/envelope.ts'
import type { ByteQuota } from '../../paywall/delivery/byte-quota.ts'
import type { Beginning, HeaderPairs, Pass } from '../../paywall/delivery/pass.ts'
import { breakOff, tearDown } from './abort.ts'
import { awaitArrival, readSession } from './arrival.ts'
import type { Chunk } from './chunk.ts'
import { byteLength, bytesOf, callbackIn, encodingIn, isChunk, joinChunks } from './chunk.ts'
import type { Fields } from './headers.ts'
import { growLength, listFields, readLength, setHeaders, setPaidHeader } from './headers.ts'
import type { QuotaWriter } from './quota-writer.ts'
import { createQuotaWriter } from './quota-writer.ts'

/** Of a response, as they were before: called with whatever a handler gives. */
interface Original {
  writeHead(...args: readonly unknown[]): ServerResponse
  write(...args: readonly unknown[]): boolean
  end(...args: readonly unknown[]): ServerResponse
}

/** How far a response has come. */
export interface MeteredResponse {
  readonly response: ServerResponse
  readonly pass: Pass
  readonly original: Original
  begun: boolean
  added: HeaderPairs
  bodyBytes: number
  /** How many bytes a whole body has at least. */
  due: number
  gauge: ByteQuota | undefined
  /** Where bytes are measured. */
  outlet: QuotaWriter | undefined
  wrapping: Wrapping | undefined
  isOpened: boolean
  /** Another answer is sent instead of the handler's, of which nothing goes out any more. */
  isReplaced: boolean
  /** Hears when the connection to the client is closed, whether or not all was sent. */
  onClose: (() => void) | undefined
  /** The body has left, and is awaited at the client; called, it counts as arrived. */
  arrive: (() => void) | undefined
}

/** Ties a response to its pass for a handler. False when the client has left already, and then there is nobody to serve. */
export function attachPass(response: ServerResponse, pass: Pass | undefined): boolean {
  const tie = pass && meterResponse(response, pass)
  if (tie) wrap(tie)
  return tie !== undefined || pass === undefined
}

/** Whatever is written into the response from now on goes through the tie. */
export function wrap(tie: MeteredResponse): void {
  const { response } = tie
  // Named before they are put into the response: a function that is written straight into a property is kept by V8 among
  // what lives long, and all that a request has made would stay with it until the next large collection.
  const tiedHead = (status: unknown, ...rest: HeadArguments): ServerResponse => writeHead(tie, status, rest)
  const tiedWrite = (chunk: unknown, encoding?: unknown, callback?: unknown): boolean =>
    writeBody(tie, chunk, encoding, callback)
  const tiedEnd = (chunk?: unknown, encoding?: unknown, callback?: unknown): ServerResponse =>
    endBody(tie, chunk, encoding, callback)
  response.writeHead = tiedHead as ServerResponse['writeHead']
  response.write = tiedWrite as ServerResponse['write']
  response.end = tiedEnd as ServerResponse['end']
}

/** Ties a response to its pass for whoever writes through the tie. Undefined when the client has left already. */
export function meterResponse(response: ServerResponse, pass: Pass): MeteredResponse | undefined {
  const socket: IncomingMessage['socket'] | undefined = response.req?.socket
  if (response.destroyed || socket?.destroyed) {
    pass.end('failed', 0)
    return undefined
  }
  const tie: MeteredResponse = {
    response,
    pass,
    original: { writeHead: response.writeHead, write: response.write, end: response.end } as Original,
    begun: false,
    added: [],
    bodyBytes: 0,
    due: 0,
    gauge: undefined,
    outlet: undefined,
    wrapping: undefined,
    isOpened: false,
    isReplaced: false,
    onClose: undefined,
    arrive: undefined,
  }
  const session = readSession(response)
  const leave = (): void => {
    if (!tie.arrive) pass.end('aborted', tie.bodyBytes)
    tie.onClose?.()
  }
  // Before Node's own listener, which may close the connection.
  response.prependListener('finish', () => finish(tie, session))
  response.on('close', leave)
  // A response that waits in a pipeline has no socket yet, and would not hear of the client's leaving.
  if (socket && !response.socket) {
    socket.once('close', leave)
    response.once('close', () => socket.off('close', leave))
  }
  pass.onLost(() => (tie.arrive ? tie.arrive() : tearDown(response)))
  return tie
}

function finish(tie: MeteredResponse, session: ReturnType<typeof readSession>): void {
  const { response, pass, bodyBytes } = tie
  const isLeft = isWhole(tie)
  if (isLeft && pass.awaitsArrival(bodyBytes))
    tie.arrive = awaitArrival(response, session, (hasArrived) =>
      pass.end(hasArrived ? 'finished' : 'aborted', bodyBytes),
    )
  if (!tie.arrive) pass.end(isLeft ? 'finished' : 'aborted', bodyBytes)
}

/**
 * Whether all of it went out. Node says `finish` also when it throws away what it could not send, because the client has
 * left; and a handler may have ended it before all that it had announced: the client then waits for the rest in vain.
 */
function isWhole({ response, bodyBytes, due, gauge }: MeteredResponse): boolean {
  if ((gauge?.sent() ?? bodyBytes) < due) return false
  // Over HTTP/2 the socket is the stream's, which is closed by then either way; there the stream itself knows.
  const { stream } = response as { readonly stream?: { readonly writableFinished: boolean; readonly rstCode: number } }
  return stream ? stream.writableFinished && stream.rstCode === 0 : !response.req?.socket?.destroyed
}

/** The status to send. `length` is that of a body that comes at once, `fields` are the headers of the response. */
function begin(tie: MeteredResponse, given: unknown, fields: Fields, length?: number): number | undefined {
  const { response, pass } = tie
  const status = statusOf(given)
  if (tie.begun || status === undefined) return status
  tie.begun = true
  for (const name of fields.getHeaderNames()) if (cacheDirective.test(name)) fields.removeHeader(name)
  const known = readLength(fields) ?? length
  const contentRange = status === 206 ? fields.getHeader('content-range')?.toString() : undefined
  const beginning = pass.begin({ status, length: known, contentRange })
  if (beginning.instead) {
    replace(tie, beginning.instead)
    return undefined
  }
  tie.added = beginning.headers
  for (const [name, value] of tie.added) setPaidHeader(fields, name, value)
  measure(tie, beginning, known)
  if (pass.envelope !== 'none') {
    const type = fields.getHeader('content-type')?.toString()
    const encoding = fields.getHeader('content-encoding')?.toString()
    tie.wrapping = wrappingFor(pass.envelope, { status, type, encoding })
    if (tie.wrapping) growLength(fields, tie.wrapping)
  }
  response.statusCode = beginning.status
  return beginning.status
}

function measure(tie: MeteredResponse, { status, length, gauge }: Beginning, known: number | undefined): void {
  const { response, original } = tie
  const announced = length ?? known
  const isBodiless = response.req?.method === 'HEAD' || status === 204 || status === 304
  tie.due = isBodiless ? 0 : (announced ?? 0)
  tie.gauge = gauge
  if (!gauge) return
  tie.outlet = createQuotaWriter({
    gauge,
    announced,
    write: (bytes, callback) => original.write.call(response, bytes, callback),
    end: (callback) => original.end.call(response, callback),
    breakOff: () => breakOff(response),
    drain: () => response.emit('drain'),
  })
}

function replace(tie: MeteredResponse, { status, headers, body }: Answer): void {
  const { response, original } = tie
  tie.isReplaced = true
  for (const name of response.getHeaderNames()) response.removeHeader(name)
  original.writeHead.call(response, status, headers)
  original.end.call(response, body, 'latin1')
}

function stopIfLost({ response, pass }: MeteredResponse): boolean {
  if (pass.isAlive()) return false
  tearDown(response)
  return true
}

type HeadArguments =
  | [string?, (OutgoingHttpHeaders | OutgoingHttpHeader[])?]
  | [(OutgoingHttpHeaders | OutgoingHttpHeader[])?]

export function writeHead(tie: MeteredResponse, given: unknown, rest: HeadArguments): ServerResponse {
  const { response } = tie
  const status = statusOf(given)
  if (tie.begun || status === undefined) return tie.isReplaced ? response : sendHead(tie, [given, ...rest])
  if (stopIfLost(tie)) return response
  const reason = typeof rest[0] === 'string' ? rest[0] : undefined
  const headers = typeof rest[0] === 'string' ? rest[1] : (rest[1] ?? rest[0])
  const list = listFields(response, headers)
  if (!list) setHeaders(response, headers)
  const sent = begin(tie, status, list ?? response)
  if (sent === undefined) return response
  const said = reason === undefined || sent !== status ? [sent] : [status, reason]
  return sendHead(tie, list ? [...said, list.all()] : said)
}

/** A head that Node refuses was never sent: the next one is the answer, and it may be of another kind. */
function sendHead(tie: MeteredResponse, args: unknown[]): ServerResponse {
  const { response, original } = tie
  try {
    return original.writeHead.apply(response, args)
  } catch (error) {
    if (tie.begun && !response.headersSent) {
      tie.begun = false
      tie.outlet = undefined
      for (const [name] of tie.added) response.removeHeader(name)
    }
    throw error
  }
}

export function writeBody(tie: MeteredResponse, chunk: unknown, second?: unknown, third?: unknown): boolean {
  const { response, original } = tie
  // Node says what is wrong with it, and nothing was sent.
  if (!isChunk(chunk)) return original.write.call(response, chunk, second, third)
  if (!tie.begun) begin(tie, response.statusCode, response)
  if (tie.isReplaced) return swallow(second, third)
  if (stopIfLost(tie)) return false
  const encoding = encodingIn(second)
  if (tie.outlet) return tie.outlet.write(bytesOf(chunk, encoding), callbackIn(second, third))
  tie.bodyBytes += byteLength(chunk, encoding)
  return original.write.call(response, openWith(tie, chunk, encoding), second, third)
}

/** Whether so many bytes are all that is left of a body whose length was announced, and may go out as they are. */
export function isRest({ outlet, bodyBytes, due }: MeteredResponse, bytes: number): boolean {
  return !outlet && bodyBytes + bytes === due
}

function openWith(tie: MeteredResponse, chunk: Chunk, encoding: BufferEncoding | undefined): Chunk {
  if (!tie.wrapping || tie.isOpened) return chunk
  tie.isOpened = true
  return joinChunks(tie.wrapping.prefix, chunk, encoding)
}

export function endBody(tie: MeteredResponse, first?: unknown, second?: unknown, third?: unknown): ServerResponse {
  const { response, original } = tie
  const hasChunk = Boolean(first) && typeof first !== 'function'
  if (hasChunk && !isChunk(first)) return original.end.call(response, first, second, third)
  const encoding = encodingIn(second)
  const chunk = hasChunk ? (first as Chunk) : undefined
  if (!tie.begun) begin(tie, response.statusCode, response, chunk === undefined ? 0 : byteLength(chunk, encoding))
  if (tie.isReplaced) {
    swallow(first, second, third)
    return response
  }
  if (stopIfLost(tie)) return response
  const callback = callbackIn(first, second, third)
  if (tie.outlet) {
    tie.outlet.end(chunk === undefined ? undefined : bytesOf(chunk, encoding), callback)
    return response
  }
  if (chunk !== undefined) tie.bodyBytes += byteLength(chunk, encoding)
  const whole = tie.wrapping ? closeWith(tie, tie.wrapping, chunk, encoding) : chunk
  if (whole !== undefined) return original.end.call(response, whole, encoding ?? 'utf8', callback)
  return callback ? original.end.call(response, callback) : original.end.call(response)
}

/** A handler that sends nothing still gets a whole document. */
function closeWith(
  tie: MeteredResponse,
  { suffix }: Wrapping,
  chunk: Chunk | undefined,
  encoding?: BufferEncoding,
): Chunk {
  const body = tie.bodyBytes === 0 ? emptyBody : (chunk ?? '')
  return joinChunks(openWith(tie, body, encoding), suffix, 'utf8', encoding)
}

/** What is written for an answer that nobody will see. */
function swallow(first: unknown, second: unknown, third?: unknown): true {
  const callback = callbackIn(first, second, third)
  if (callback) process.nextTick(callback)
  return true
}

/** The status of an answer, which Node takes as text, too. Undefined for a status before the answer, or none at all. */
function statusOf(given: unknown): number | undefined {
  const status = Math.trunc(Number(given))
  return status >= 200 && status <= 999 ? status : undefined
}
