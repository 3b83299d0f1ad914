/**
 * A response tied to its pass. Bytes are counted when they are passed to HTTP. The delivery ends when the socket has
 * accepted the last of them or, for a large body, when it arrived. For handlers, `writeHead`, `write` and `end` are
 * wrapped together. The gateway calls the functions of this file instead.
 */
import type { IncomingMessage, OutgoingHttpHeader, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { type Answer, cacheDirective, type HeaderPairs } from '../../core/http/http.ts'
import { emptyBody, findWrapping, type Wrapping } from '../../core/payment/envelope.ts'
import type { ByteQuota } from '../../paywall/delivery/byte-quota.ts'
import type { Beginning, Delivery } from '../../paywall/delivery/delivery.ts'
import { breakOff, tearDown } from './abort.ts'
import { awaitArrival, readSession } from './arrival.ts'
import { byteLength, type Chunk, callbackIn, encodingIn, isChunk, joinChunks, readBytes } from './chunk.ts'
import { type Fields, listFields, readLength, setHeaders, setPaidHeader, wrapHeaders } from './headers.ts'
import { addLines, endWithWhole, takesLines } from './one-write.ts'
import { awaitClose } from './pipeline.ts'
import { createQuotaWriter, type QuotaWriter } from './quota-writer.ts'

/** The original methods of a response, called with the handler's arguments. */
interface Original {
  writeHead(...args: readonly unknown[]): ServerResponse
  write(...args: readonly unknown[]): boolean
  end(...args: readonly unknown[]): ServerResponse
}

/** The progress of a response. */
export interface MeteredResponse {
  readonly response: ServerResponse
  readonly pass: Delivery
  readonly original: Original
  begun: boolean
  added: HeaderPairs
  /** The added headers as lines, until the head is written. */
  lines: string | undefined
  bodyBytes: number
  /** The minimum length of a complete body. */
  due: number
  quota: ByteQuota | undefined
  /** Set if bytes are measured. */
  quotaWriter: QuotaWriter | undefined
  wrapping: Wrapping | undefined
  isOpened: boolean
  /** Another response is sent instead of the handler's, which is discarded. */
  isReplaced: boolean
  /** Called when the client's connection closes, whether or not all was sent. */
  onClose: (() => void) | undefined
  /** Set while the sent body is awaited at the client. Calling it counts the body as arrived. */
  arrive: (() => void) | undefined
}

/** Ties a response to its pass for a handler. False when the client has left already, and then there is nobody to serve. */
export function attachPass(response: ServerResponse, pass: Delivery | undefined): boolean {
  const metered = pass && meterResponse(response, pass)
  if (metered) wrap(metered)
  return metered !== undefined || pass === undefined
}

/** Routes all further writes to the response through the pass. */
export function wrap(metered: MeteredResponse): void {
  const { response } = metered
  // Named before they are assigned to the response: V8 allocates a function that is written directly into a property as
  // long-lived, and everything that a request has created would stay until the next major collection.
  const tiedHead = (status: unknown, ...rest: HeadArguments): ServerResponse => writeHead(metered, status, rest)
  const tiedWrite = (chunk: unknown, encoding?: unknown, callback?: unknown): boolean =>
    writeBody(metered, chunk, encoding, callback)
  const tiedEnd = (chunk?: unknown, encoding?: unknown, callback?: unknown): ServerResponse =>
    endBody(metered, chunk, encoding, callback)
  response.writeHead = tiedHead as ServerResponse['writeHead']
  response.write = tiedWrite as ServerResponse['write']
  response.end = tiedEnd as ServerResponse['end']
}

/** Ties a response to its pass for whoever writes through the tie. Undefined when the client has left already. */
export function meterResponse(response: ServerResponse, pass: Delivery): MeteredResponse | undefined {
  const socket: IncomingMessage['socket'] | undefined = response.req?.socket
  if (response.destroyed || socket?.destroyed) {
    pass.end('failed', 0)
    return undefined
  }
  const metered: MeteredResponse = {
    response,
    pass,
    original: { writeHead: response.writeHead, write: response.write, end: response.end } as Original,
    begun: false,
    added: [],
    lines: undefined,
    bodyBytes: 0,
    due: 0,
    quota: undefined,
    quotaWriter: undefined,
    wrapping: undefined,
    isOpened: false,
    isReplaced: false,
    onClose: undefined,
    arrive: undefined,
  }
  const session = readSession(response)
  const leave = (): void => {
    if (!metered.arrive) pass.end('aborted', metered.bodyBytes)
    metered.onClose?.()
  }
  // Before Node's own listener, which may close the connection.
  response.prependListener('finish', () => finish(metered, session))
  response.on('close', leave)
  // A response that waits in a pipeline has no socket yet, and would miss that the client leaves.
  if (socket && !response.socket) response.once('close', awaitClose(socket, leave))
  pass.onLost(() => (metered.arrive ? metered.arrive() : tearDown(response)))
  return metered
}

function finish(metered: MeteredResponse, session: ReturnType<typeof readSession>): void {
  const { response, pass, bodyBytes } = metered
  const isLeft = isWhole(metered)
  if (isLeft && pass.awaitsArrival(bodyBytes))
    metered.arrive = awaitArrival(response, session, (hasArrived) =>
      pass.end(hasArrived ? 'finished' : 'aborted', bodyBytes),
    )
  if (!metered.arrive) pass.end(isLeft ? 'finished' : 'aborted', bodyBytes)
}

/**
 * Whether the whole body was sent. Node also emits `finish` when it discards bytes because the client has left. A
 * handler may also have ended the response before the announced length, and the client waits for the rest in vain.
 */
function isWhole({ response, bodyBytes, due, quota }: MeteredResponse): boolean {
  if ((quota?.sent() ?? bodyBytes) < due) return false
  // Over HTTP/2 the socket is the stream's, which is already closed in both cases. The stream itself knows the result.
  const { stream } = response as { readonly stream?: { readonly writableFinished: boolean; readonly rstCode: number } }
  return stream ? stream.writableFinished && stream.rstCode === 0 : !response.req?.socket?.destroyed
}

/**
 * Returns the status to send. `length` is that of a body that is sent at once, `fields` are the headers of the
 * response.
 */
function begin(metered: MeteredResponse, given: unknown, fields: Fields, length?: number): number | undefined {
  const { response, pass, original } = metered
  const status = statusOf(given)
  if (metered.begun || status === undefined) return status
  metered.begun = true
  for (const name of fields.getHeaderNames()) if (cacheDirective.test(name)) fields.removeHeader(name)
  const known = readLength(fields) ?? length
  const contentRange = status === 206 ? fields.getHeader('content-range')?.toString() : undefined
  const type = fields.getHeader('content-type')?.toString()
  const beginning = pass.begin({ status, length: known, contentRange, type })
  if (beginning.instead) {
    replace(metered, beginning.instead)
    return undefined
  }
  metered.added = beginning.headers
  metered.lines = fields === response && takesLines(response, metered.added, original) ? beginning.lines : undefined
  if (metered.lines === undefined) for (const [name, value] of metered.added) setPaidHeader(fields, name, value)
  measure(metered, beginning, known)
  if (pass.envelope !== 'none') {
    const encoding = fields.getHeader('content-encoding')?.toString()
    metered.wrapping = findWrapping(pass.envelope, { status, type, encoding })
    if (metered.wrapping) wrapHeaders(fields, metered.wrapping)
  }
  response.statusCode = beginning.status
  return beginning.status
}

function measure(metered: MeteredResponse, { status, length, quota }: Beginning, known: number | undefined): void {
  const { response, original } = metered
  const announced = length ?? known
  const isBodiless = response.req?.method === 'HEAD' || status === 204 || status === 304
  metered.due = isBodiless ? 0 : (announced ?? 0)
  metered.quota = quota
  if (!quota) return
  metered.quotaWriter = createQuotaWriter({
    quota,
    announced,
    write: (bytes, callback) => original.write.call(response, bytes, callback),
    end: (callback) => original.end.call(response, callback),
    breakOff: () => breakOff(response),
    drain: () => response.emit('drain'),
  })
}

function replace(metered: MeteredResponse, { status, headers, body }: Answer): void {
  const { response, original } = metered
  metered.isReplaced = true
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

export function writeHead(metered: MeteredResponse, given: unknown, rest: HeadArguments): ServerResponse {
  const { response } = metered
  const status = statusOf(given)
  if (metered.begun || status === undefined) return metered.isReplaced ? response : sendHead(metered, [given, ...rest])
  if (stopIfLost(metered)) return response
  const reason = typeof rest[0] === 'string' ? rest[0] : undefined
  const headers = typeof rest[0] === 'string' ? rest[1] : (rest[1] ?? rest[0])
  const list = listFields(response, headers)
  if (!list) setHeaders(response, headers)
  const sent = begin(metered, status, list ?? response)
  if (sent === undefined) return response
  const said = reason === undefined || sent !== status ? [sent] : [status, reason]
  return sendHead(metered, list ? [...said, list.all()] : said)
}

/** A head that Node rejects was not sent. The next head is the response, and may be of another kind. */
function sendHead(metered: MeteredResponse, args: unknown[]): ServerResponse {
  const { response, original } = metered
  try {
    original.writeHead.apply(response, args)
    if (metered.lines !== undefined) addLines(response, metered.lines)
    metered.lines = undefined
    return response
  } catch (error) {
    if (metered.begun && !response.headersSent) {
      metered.begun = false
      metered.quotaWriter = undefined
      for (const [name] of metered.added) response.removeHeader(name)
    }
    throw error
  }
}

export function writeBody(metered: MeteredResponse, chunk: unknown, second?: unknown, third?: unknown): boolean {
  const { response, original } = metered
  // Node throws an error for it, and nothing was sent.
  if (!isChunk(chunk)) return original.write.call(response, chunk, second, third)
  if (!metered.begun) begin(metered, response.statusCode, response)
  if (metered.isReplaced) return swallow(second, third)
  if (stopIfLost(metered)) return false
  const encoding = encodingIn(second)
  if (metered.quotaWriter) return metered.quotaWriter.write(readBytes(chunk, encoding), callbackIn(second, third))
  metered.bodyBytes += byteLength(chunk, encoding)
  return original.write.call(response, openWith(metered, chunk, encoding), second, third)
}

/** Whether this many bytes complete a body of announced length, and can be sent directly. */
export function isRest({ quotaWriter, bodyBytes, due }: MeteredResponse, bytes: number): boolean {
  return !quotaWriter && bodyBytes + bytes === due
}

function openWith(metered: MeteredResponse, chunk: Chunk, encoding: BufferEncoding | undefined): Chunk {
  if (!metered.wrapping || metered.isOpened) return chunk
  metered.isOpened = true
  return joinChunks(metered.wrapping.prefix, chunk, encoding)
}

export function endBody(metered: MeteredResponse, first?: unknown, second?: unknown, third?: unknown): ServerResponse {
  const { response, original } = metered
  const hasChunk = Boolean(first) && typeof first !== 'function'
  if (hasChunk && !isChunk(first)) return original.end.call(response, first, second, third)
  const encoding = encodingIn(second)
  const chunk = hasChunk ? (first as Chunk) : undefined
  if (!metered.begun)
    begin(metered, response.statusCode, response, chunk === undefined ? 0 : byteLength(chunk, encoding))
  if (metered.isReplaced) {
    swallow(first, second, third)
    return response
  }
  if (stopIfLost(metered)) return response
  const callback = callbackIn(first, second, third)
  if (metered.quotaWriter) {
    metered.quotaWriter.end(chunk === undefined ? undefined : readBytes(chunk, encoding), callback)
    return response
  }
  const bytes = chunk === undefined ? 0 : byteLength(chunk, encoding)
  const isAll = metered.bodyBytes === 0 && !metered.wrapping
  metered.bodyBytes += bytes
  if (chunk !== undefined && isAll && endWithWhole(response, original, { chunk, bytes, encoding }, callback))
    return response
  const whole = metered.wrapping ? closeWith(metered, metered.wrapping, chunk, encoding) : chunk
  if (whole !== undefined) return original.end.call(response, whole, encoding ?? 'utf8', callback)
  return callback ? original.end.call(response, callback) : original.end.call(response)
}

/** A handler that sends no body still produces a complete document. */
function closeWith(
  metered: MeteredResponse,
  { suffix }: Wrapping,
  chunk: Chunk | undefined,
  encoding?: BufferEncoding,
): Chunk {
  const body = metered.bodyBytes === 0 ? emptyBody : (chunk ?? '')
  return joinChunks(openWith(metered, body, encoding), suffix, 'utf8', encoding)
}

/** Discards a write of a response that was replaced. */
function swallow(first: unknown, second: unknown, third?: unknown): true {
  const callback = callbackIn(first, second, third)
  if (callback) process.nextTick(callback)
  return true
}

/** The status of a response, which Node also accepts as text. Undefined for an interim or invalid status. */
function statusOf(given: unknown): number | undefined {
  const status = Math.trunc(Number(given))
  return status >= 200 && status <= 999 ? status : undefined
}
