/**
 * Node hands the head and the body of a response to the socket in two pieces, which costs more than one. So the body
 * follows the head in its text. If Node's fields are missing, or other code has replaced a method, for example to
 * compress, Node writes both.
 */
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { HeaderPairs } from '../../core/http/http.ts'
import type { Callback, Chunk } from './chunk.ts'

/** Node's own fields of a response. */
interface NodeInternals {
  /** The text of the head, from `writeHead` on. */
  _header?: unknown
  readonly _headerSent?: unknown
  /** False for an answer to HEAD. */
  readonly _hasBody?: unknown
  /** The length of a body that is sent at once, for a head that does not state it. */
  _contentLength?: unknown
  readonly chunkedEncoding?: unknown
  /** If set, Node counts the bytes of the body itself. */
  readonly strictContentLength?: unknown
}

/** The methods of a response, as they were before paystile wrapped them. */
export interface Methods {
  readonly writeHead: unknown
  readonly write: unknown
  readonly end: unknown
}

const { writeHead, write, end, setHeader } = ServerResponse.prototype
const headEnd = '\r\n\r\n'

/**
 * Whether the head of a response can get these headers as lines of text. Node checks and copies every header that it
 * is given, which takes longer than a long head takes to be written. Headers that the application has set are replaced
 * through Node.
 */
export function takesLines(response: ServerResponse, pairs: HeaderPairs, methods: Methods = response): boolean {
  if (!hasHeadText() || !isUnchanged(methods) || response.setHeader !== setHeader) return false
  return (response as NodeInternals)._header === null && !pairs.some(([name]) => response.hasHeader(name))
}

/** Adds lines to a written head. */
export function addLines(response: ServerResponse, lines: string): void {
  const internals: NodeInternals = response
  internals._header = `${String(internals._header).slice(0, -2)}${lines}\r\n`
}

let isHeadText: boolean | undefined

/** Whether `writeHead` of this version of Node leaves the head as text. */
function hasHeadText(): boolean {
  if (isHeadText !== undefined) return isHeadText
  const response: ServerResponse & NodeInternals = new ServerResponse(new IncomingMessage(new Socket()))
  response.writeHead(402, { 'Content-Length': '2' })
  isHeadText = typeof response._header === 'string' && response._header.endsWith(headEnd)
  return isHeadText
}

/**
 * Ends a response whose head is written. Each character of the body is one byte. With `isChecked`, its methods are those
 * of Node.
 */
export function endWith(response: ServerResponse, body: string, isChecked: boolean): void {
  if (!(isChecked || isUnchanged(response)) || !append(response, body)) response.end(body, 'latin1')
}

/** A longer body costs more to copy than a second piece. */
const longestBody = 8_192

/**
 * Ends a response with its whole body of so many bytes, and writes its head if that was not done. False if nothing was
 * done.
 */
export function endWithWhole(
  response: ServerResponse,
  methods: Methods,
  { chunk, bytes, encoding }: { chunk: Chunk; bytes: number; encoding: BufferEncoding | undefined },
  callback: Callback | undefined,
): boolean {
  const internals: NodeInternals = response
  if (bytes > longestBody || !isUnchanged(methods) || internals._hasBody !== true) return false
  if (!internals._header) {
    if (internals._contentLength !== null) return false
    internals._contentLength = bytes
    response.writeHead(response.statusCode)
  }
  const body = typeof chunk === 'string' && chunk.length === bytes ? chunk : toLatin1(chunk, encoding)
  return append(response, body, callback)
}

/** Text with one character for each byte. */
function toLatin1(chunk: Chunk, encoding: BufferEncoding | undefined): string {
  const bytes = typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')
}

function append(response: ServerResponse, body: string, callback?: Callback): boolean {
  const internals: NodeInternals = response
  const { _header, _headerSent, _hasBody, chunkedEncoding, strictContentLength } = internals
  const isUsual = _headerSent === false && _hasBody === true && chunkedEncoding === false && !strictContentLength
  if (!isUsual || typeof _header !== 'string') return false
  internals._header = _header + body
  if (callback) (end as (callback: Callback) => unknown).call(response, callback)
  else (end as () => unknown).call(response)
  return true
}

/** Whether no other code has replaced one of the methods. */
export function isUnchanged(methods: Methods): boolean {
  return methods.end === end && methods.write === write && methods.writeHead === writeHead
}
