/**
 * Between Node's request and response and the paywall. All Node frameworks go through here, so a rule is kept once.
 *
 * A paid response is watched where it really happens: `writeHead`, `write` and `end` are wrapped together, bytes are
 * counted as they are handed to HTTP, and the payment is settled when the socket has taken the last of them.
 */
import type { IncomingMessage, OutgoingHttpHeader, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { Answer, Incoming } from '../core/http.ts'
import { cacheDirective } from '../core/http.ts'
import type { Entry } from '../server/entering.ts'
import type { Wrapping } from '../server/envelope.ts'
import { wrappingFor } from '../server/envelope.ts'
import type { Pass } from '../server/pass.ts'
import type { Paywall } from '../server/paywall.ts'
import { readNodeBody, readWebBody } from './body.ts'
import type { Fields } from './node-headers.ts'
import { growLength, lengthOf, listFields, setHeaders, setPaidHeader } from './node-headers.ts'
import type { Outlet } from './outlet.ts'
import { createOutlet } from './outlet.ts'

/** Sends a request through the paywall. `fail` takes what should not happen: a defect of ours. */
export function enterNode(
  paywall: Paywall,
  request: IncomingMessage,
  target: string,
  turn: {
    readonly answer: (answer: Answer) => void
    readonly admit: (pass: Pass | undefined) => void
    readonly fail: (error: unknown) => void
  },
): void {
  const proceed = (entry: Entry): void => (entry.kind === 'answer' ? turn.answer(entry) : turn.admit(entry.pass))
  const entry = paywall.enter(incomingOf(request, target))
  if (entry instanceof Promise) entry.then(proceed).catch(turn.fail)
  else proceed(entry)
}

/** `own` is the framework's own request, where it has one: an application may answer several inside one of Node's. */
export function incomingOf(request: IncomingMessage, target: string, own?: Request): Incoming {
  const { headers } = request
  return {
    request: own ?? request,
    method: own?.method ?? request.method ?? 'GET',
    target: targetOf(target),
    header: (name) => {
      const value = headers[name]
      return Array.isArray(value) ? value.join(', ') : value
    },
    peer: () => request.socket.remoteAddress,
    body: (mostBytes) => (own ? readWebBody(own, mostBytes) : readNodeBody(request, mostBytes)),
    origin: () =>
      `${'encrypted' in request.socket ? 'https' : 'http'}://${headers.host ?? headers[':authority'] ?? 'localhost'}`,
  }
}

export function targetOf(target: string): string {
  return target.startsWith('/') ? target : pathOf(target)
}

/** `GET http://host/path` asks for the path. The host in it is the client's word and no more than the Host header. */
function pathOf(target: string): string {
  const path = target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '')
  return path === '' || path.startsWith('?') ? `/${path}` : path
}

export function sendAnswer(response: ServerResponse, answer: Answer): void {
  if (answer.headers['Set-Cookie'] === undefined) response.writeHead(answer.status, answer.headers)
  else {
    const { 'Set-Cookie': cookie, ...others } = answer.headers
    // Beside the cookies that the application has set by then.
    response.appendHeader('Set-Cookie', [cookie, ...(answer.cookies ?? [])])
    response.writeHead(answer.status, others)
  }
  response.end(answer.body, 'latin1')
}

/** Ties a response to its pass. False when the client has left already, and then there is nobody to serve. */
export function attachPass(response: ServerResponse, pass: Pass | undefined): boolean {
  if (!pass) return true
  // A response that waits in a pipeline has no socket yet, and would not hear of the client's leaving.
  const socket: IncomingMessage['socket'] | undefined = response.req?.socket
  if (response.destroyed || socket?.destroyed) {
    pass.end('failed', 0)
    return false
  }
  const original = { writeHead: response.writeHead, write: response.write, end: response.end }
  let begun = false
  let added: Readonly<Record<string, string>> = {}
  let bodyBytes = 0
  let wrapping: Wrapping | undefined
  let opened = false
  /** Where bytes are measured. */
  let outlet: Outlet | undefined
  /** Whether the body has all the bytes that were announced. */
  let isComplete: () => boolean = () => true
  /** Another answer is sent instead of the handler's, of which nothing goes out any more. */
  let isReplaced = false
  const write = (...args: unknown[]): boolean => Reflect.apply(original.write, response, args)
  const finish = (...args: unknown[]): ServerResponse => Reflect.apply(original.end, response, args)

  /** The status to send. `length` is that of a body that comes at once, `fields` are the headers of the response. */
  const begin = (given: unknown, fields: Fields, length?: number): number | undefined => {
    const status = statusOf(given)
    if (begun || status === undefined) return status
    begun = true
    for (const name of fields.getHeaderNames()) if (cacheDirective.test(name)) fields.removeHeader(name)
    const known = lengthOf(fields) ?? length
    const contentRange = fields.getHeader('content-range')?.toString()
    const beginning = pass.begin({ status, length: known, contentRange })
    if (beginning.instead) {
      replace(beginning.instead)
      return undefined
    }
    added = beginning.headers
    for (const name in added) setPaidHeader(fields, name, added[name] as string)
    const { gauge } = beginning
    const announced = added['Content-Length'] === undefined ? known : Number(added['Content-Length'])
    const isBodiless = response.req?.method === 'HEAD' || status === 204 || status === 304
    isComplete = () => isBodiless || announced === undefined || (gauge?.sent() ?? bodyBytes) >= announced
    if (gauge) {
      const drain = (): void => void response.emit('drain')
      outlet = createOutlet({ gauge, announced, write, end: finish, breakOff: () => breakOff(response), drain })
    }
    const type = fields.getHeader('content-type')?.toString()
    const encoding = fields.getHeader('content-encoding')?.toString()
    wrapping = wrappingFor(pass.envelope, { status, type, encoding })
    if (wrapping) growLength(fields, wrapping)
    response.statusCode = beginning.status
    return beginning.status
  }
  const replace = ({ status, headers, body }: Answer): void => {
    isReplaced = true
    for (const name of response.getHeaderNames()) response.removeHeader(name)
    original.writeHead.call(response, status, headers)
    finish(body, 'latin1')
  }
  const stopIfLost = (): boolean => {
    if (pass.isAlive()) return false
    tearDown(response)
    return true
  }
  const openWith = (chunk: Chunk | undefined, encoding: BufferEncoding | undefined): Chunk | undefined => {
    if (!wrapping || opened) return chunk
    opened = true
    return join(wrapping.prefix, chunk, encoding)
  }

  /** A head that Node refuses was never sent: the next one is the answer, and it may be of another kind. */
  const sendHead = (...args: unknown[]): ServerResponse => {
    try {
      return Reflect.apply(original.writeHead, response, args)
    } catch (error) {
      if (begun && !response.headersSent) {
        begun = false
        outlet = undefined
        for (const name of Object.keys(added)) response.removeHeader(name)
      }
      throw error
    }
  }

  // Named before they are put into the response: a function that is written straight into a property is kept by V8 among
  // what lives long, and all that a request has made would stay with it until the next large collection.
  const writeHead = (given: unknown, ...rest: HeadArguments): ServerResponse => {
    const status = statusOf(given)
    if (begun || status === undefined) return isReplaced ? response : sendHead(given, ...rest)
    if (stopIfLost()) return response
    const reason = typeof rest[0] === 'string' ? rest[0] : undefined
    const headers = typeof rest[0] === 'string' ? rest[1] : (rest[1] ?? rest[0])
    const list = listFields(response, headers)
    if (!list) setHeaders(response, headers)
    const sent = begin(status, list ?? response)
    if (sent === undefined) return response
    const said = reason === undefined || sent !== status ? [sent] : [status, reason]
    return list ? sendHead(...said, list.all()) : sendHead(...said)
  }

  const writeBody = (chunk: Chunk, ...rest: unknown[]): boolean => {
    // Node says what is wrong with it, and nothing was sent.
    if (!isChunk(chunk)) return write(chunk, ...rest)
    if (!begun) begin(response.statusCode, response)
    if (isReplaced) return swallow(rest)
    if (stopIfLost()) return false
    const encoding = typeof rest[0] === 'string' ? (rest[0] as BufferEncoding) : undefined
    if (outlet) return outlet.write(bytesOf(chunk, encoding), callbackIn(rest))
    bodyBytes += byteLength(chunk, encoding)
    return write(openWith(chunk, encoding), ...rest)
  }

  const endBody = (...args: unknown[]): ServerResponse => {
    const hasChunk = Boolean(args[0]) && typeof args[0] !== 'function'
    if (hasChunk && !isChunk(args[0])) return finish(...args)
    const encoding = typeof args[1] === 'string' ? (args[1] as BufferEncoding) : undefined
    const chunk = hasChunk ? (args[0] as Chunk) : undefined
    begin(response.statusCode, response, chunk === undefined ? 0 : byteLength(chunk, encoding))
    if (isReplaced) {
      swallow(args)
      return response
    }
    if (stopIfLost()) return response
    if (outlet) {
      outlet.end(chunk === undefined ? undefined : bytesOf(chunk, encoding), callbackIn(args))
      return response
    }
    if (chunk !== undefined) bodyBytes += byteLength(chunk, encoding)
    // A handler that sends nothing still gets a whole document.
    const body = wrapping && bodyBytes === 0 ? 'null' : chunk
    const whole = wrapping ? join(openWith(body, encoding) ?? '', wrapping.suffix, 'utf8', encoding) : chunk
    const callback = callbackIn(args)
    const rest = callback === undefined ? [] : [callback]
    return whole === undefined ? finish(...rest) : finish(whole, encoding ?? 'utf8', ...rest)
  }
  response.writeHead = writeHead as ServerResponse['writeHead']
  response.write = writeBody as ServerResponse['write']
  response.end = endBody as ServerResponse['end']

  const end = (ending: 'finished' | 'aborted'): void => {
    socket?.off('close', leave)
    pass.end(ending, bodyBytes)
  }
  const leave = (): void => end('aborted')
  pass.onLost(() => tearDown(response))
  socket?.once('close', leave)
  // Node says `finish` also when it throws away what it could not send, because the client has left. Over HTTP/2 the
  // socket is the stream's, which is closed by then either way; there the stream itself knows.
  const { stream } = response as { readonly stream?: { readonly writableFinished: boolean; readonly rstCode: number } }
  const isWhole = (): boolean => (stream ? stream.writableFinished && stream.rstCode === 0 : !socket?.destroyed)
  // A handler may have ended it before all that it had announced: the client then waits for the rest in vain.
  response.once('finish', () => end(isWhole() && isComplete() ? 'finished' : 'aborted'))
  response.once('close', leave)
  return true
}

/** The status of an answer, which Node takes as text, too. Undefined for a status before the answer, or none at all. */
function statusOf(given: unknown): number | undefined {
  const status = Math.trunc(Number(given))
  return status >= 200 && status <= 999 ? status : undefined
}

type Chunk = string | Uint8Array

/** As Node sees it: also where the array is of another realm's kind. */
function isChunk(value: unknown): value is Chunk {
  return typeof value === 'string' || Object.prototype.toString.call(value) === '[object Uint8Array]'
}

type Callback = (error?: Error | null) => void

function callbackIn(args: readonly unknown[]): Callback | undefined {
  if (args.length === 0) return undefined
  return args.find((argument): argument is Callback => typeof argument === 'function')
}

/** What is written for an answer that nobody will see. */
function swallow(args: readonly unknown[]): true {
  const callback = callbackIn(args)
  if (callback) process.nextTick(callback)
  return true
}

/** Ends the connection after what was written, but without the mark by which a response ends. */
function breakOff(response: ServerResponse): void {
  const { stream } = response as { readonly stream?: { destroy(error: Error): void } }
  const { socket } = response
  if (stream) stream.destroy(new Error('the allowance is used up'))
  else if (!socket) response.destroy()
  else if (!endsWithConnection(response)) socket.destroySoon()
  // A reset overtakes what is still on its way out, and nobody here can tell when that has left.
  else socket.write('', () => setTimeout(() => socket.resetAndDestroy(), flushMs))
}

const flushMs = 25

/** Ends a response at once, so that nobody takes it for whole. */
export function tearDown(response: ServerResponse): void {
  if (endsWithConnection(response)) response.socket?.resetAndDestroy()
  response.destroy()
}

/** Whether the end of the connection is the only mark of its end, as over HTTP/1.0: one that is cut looks whole then. */
function endsWithConnection(response: ServerResponse): boolean {
  return response.headersSent && response.chunkedEncoding === false && lengthOf(response) === undefined
}

type HeadArguments =
  | [string?, (OutgoingHttpHeaders | OutgoingHttpHeader[])?]
  | [(OutgoingHttpHeaders | OutgoingHttpHeader[])?]

function join(
  head: Chunk,
  tail: Chunk | undefined,
  tailEncoding?: BufferEncoding,
  headEncoding?: BufferEncoding,
): Buffer {
  return Buffer.concat([bytesOf(head, headEncoding), ...(tail === undefined ? [] : [bytesOf(tail, tailEncoding)])])
}

function bytesOf(chunk: Chunk, encoding: BufferEncoding | undefined): Uint8Array {
  return typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk
}

function byteLength(chunk: Chunk, encoding: BufferEncoding | undefined): number {
  return typeof chunk === 'string' ? Buffer.byteLength(chunk, encoding) : chunk.byteLength
}
