/**
 * Heads that many answers share. Node checks every header and joins the lines anew for each response, which takes longer
 * than the rest of a 402. So the text that Node wrote is used again for half a second, for responses that Node would give
 * the same head. If Node's fields are missing, or other code has replaced a method, Node writes each head.
 */
import { ServerResponse } from 'node:http'
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

/** Writes the head of an answer, as `response.writeHead` does. */
export function writeAnswerHead(response: ServerResponse, { status, headers }: Answer): void {
  const isRepeatable = isKnownNode && isUnchanged(response) && isOrdinary(response)
  if (isRepeatable && repeat(response, status, headers)) return
  response.writeHead(status, headers)
  if (isRepeatable) remember(response, status, headers)
}

function repeat(response: ServerResponse & NodeInternals, status: number, headers: Answer['headers']): boolean {
  const known = heads.get(headers)
  if (known?.status !== status || known.keepAliveTimeout !== response._keepAliveTimeout) return false
  if (known.maxRequests !== response._maxRequestsPerSocket) return false
  response.statusCode = status
  response.statusMessage = known.message
  response._contentLength = known.length
  response._header = known.text
  return true
}

/** Frozen headers are shared by many answers. */
function remember(response: ServerResponse & NodeInternals, status: number, headers: Answer['headers']): void {
  const { _header: text, _contentLength: length, _hasBody, statusMessage: message } = response
  const isWhole = typeof text === 'string' && _hasBody === true && 'Content-Length' in headers
  if (!isWhole || !Object.isFrozen(headers) || heads.size >= mostHeads) return
  if (heads.size === 0) setTimeout(() => heads.clear(), repeatedMs).unref()
  const { _keepAliveTimeout: keepAliveTimeout, _maxRequestsPerSocket: maxRequests } = response
  heads.set(headers, { status, text, length, message, keepAliveTimeout, maxRequests })
}

/** Whether nothing but the two fields that are compared makes the head differ from that of another response. */
function isOrdinary(response: ServerResponse & NodeInternals): boolean {
  return (
    response.sendDate &&
    response.shouldKeepAlive &&
    response._removedConnection === false &&
    !response.maxRequestsOnConnectionReached &&
    !response._expect_continue &&
    response.statusMessage === undefined &&
    response.getHeaderNames().length === 0
  )
}
