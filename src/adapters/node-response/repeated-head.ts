/**
 * Heads that many answers share. Node checks every header and joins the lines anew for each response, which takes longer
 * than the rest of a 402. So the text that Node wrote is used again for half a second, for responses that Node would give
 * the same head. If Node's fields are missing, or other code has replaced a method, Node writes each head.
 */
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { Answer } from '../../core/http/http.ts'
import { isUnchanged } from './one-write.ts'

/** Node's own fields of a response. */
interface NodeInternals {
  /** The text of the head, from `writeHead` on. */
  _header?: unknown
  _contentLength?: unknown
  /** False for an answer to HEAD, and for a status without a body. */
  readonly _hasBody?: unknown
  readonly _keepAliveTimeout?: unknown
  readonly _maxRequestsPerSocket?: unknown
  readonly _removedConnection?: unknown
  readonly _expect_continue?: unknown
  readonly maxRequestsOnConnectionReached?: unknown
}

interface RepeatedHead {
  readonly status: number
  /** The headers that the application had set before. */
  readonly own: string
  /** Node's object of all headers, for code that reads them from a sent response. */
  readonly fields: unknown
  readonly text: string
  readonly length: unknown
  readonly message: string
  readonly keepAliveTimeout: unknown
  readonly maxRequests: unknown
}

/** By the headers, which answers share. */
const heads = new Map<object, RepeatedHead>()
const mostHeads = 64
/** A head contains the date, in seconds. */
const repeatedMs = 500

/** A version of Node in which `writeHead` does something else, or a wrapper of it, is left alone. */
const isKnownNode = /\b_storeHeader\b/.test(String(ServerResponse.prototype.writeHead))

/** Node's field for the headers that were set. Undefined if this version of Node has no such field. */
const headersField = findHeadersField()

function findHeadersField(): symbol | undefined {
  const response = new ServerResponse(new IncomingMessage(new Socket()))
  const field = Object.getOwnPropertySymbols(response).find(({ description }) => description === 'kOutHeaders')
  response.setHeader('X-A', 'b')
  const fields = field && Reflect.get(response, field)
  return JSON.stringify(fields) === '{"x-a":["X-A","b"]}' ? field : undefined
}

/** Headers that change how Node writes a head. */
const special = new Set([
  'connection',
  'content-length',
  'date',
  'expect',
  'keep-alive',
  'trailer',
  'transfer-encoding',
])

/** Writes the head of an answer, as `response.writeHead` does. */
export function writeAnswerHead(response: ServerResponse, { status, headers }: Answer): void {
  const isRepeatable = isKnownNode && isUnchanged(response) && isOrdinary(response)
  const own = isRepeatable ? readOwn(response) : undefined
  if (own !== undefined && repeat(response, status, headers, own)) return
  response.writeHead(status, headers)
  if (own !== undefined) remember(response, status, headers, own)
}

/**
 * The headers that the application has set, as text. Undefined if one is a list or changes how Node writes a head: then
 * Node writes this head.
 */
function readOwn(response: ServerResponse): string | undefined {
  if (headersField === undefined) return response.getHeaderNames().length === 0 ? '' : undefined
  const fields: Readonly<Record<string, readonly [string, unknown]>> | null = Reflect.get(response, headersField)
  if (!fields) return ''
  let text = ''
  for (const lower in fields) {
    const [name, value] = fields[lower] ?? []
    if (typeof value !== 'string' || special.has(lower)) return undefined
    text += `${name}: ${value}\r\n`
  }
  // An object that is empty after a removal differs from a missing one: Node adds the headers of the answer to it.
  return text === '' ? undefined : text
}

function repeat(
  response: ServerResponse & NodeInternals,
  status: number,
  headers: Answer['headers'],
  own: string,
): boolean {
  const known = heads.get(headers)
  if (known?.status !== status || known.own !== own || known.keepAliveTimeout !== response._keepAliveTimeout)
    return false
  if (known.maxRequests !== response._maxRequestsPerSocket) return false
  if (own !== '' && headersField !== undefined) Reflect.set(response, headersField, known.fields)
  response.statusCode = status
  response.statusMessage = known.message
  response._contentLength = known.length
  response._header = known.text
  return true
}

/** Frozen headers are shared by many answers. */
function remember(
  response: ServerResponse & NodeInternals,
  status: number,
  headers: Answer['headers'],
  own: string,
): void {
  const { _header: text, _contentLength: length, _hasBody, statusMessage: message } = response
  const isWhole = typeof text === 'string' && _hasBody === true && 'Content-Length' in headers
  if (!isWhole || !Object.isFrozen(headers) || heads.size >= mostHeads) return
  if (heads.size === 0) setTimeout(() => heads.clear(), repeatedMs).unref()
  const { _keepAliveTimeout: keepAliveTimeout, _maxRequestsPerSocket: maxRequests } = response
  const fields = headersField && Reflect.get(response, headersField)
  heads.set(headers, { status, own, fields, text, length, message, keepAliveTimeout, maxRequests })
}

/** Whether nothing but the two fields that are compared makes the head differ from that of another response. */
function isOrdinary(response: ServerResponse & NodeInternals): boolean {
  return (
    response.sendDate &&
    response.shouldKeepAlive &&
    response._removedConnection === false &&
    !response.maxRequestsOnConnectionReached &&
    !response._expect_continue &&
    response.statusMessage === undefined
  )
}
