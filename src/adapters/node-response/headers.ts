/** The headers of Node's response, as handlers set them and as a paid response changes them. */
import type { OutgoingHttpHeader, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { emptyBody, unwrappedHeaders, type Wrapping } from '../../core/payment/envelope.ts'

/** Headers that can still be changed: those of a response, or a list that is sent with its head. */
export interface Fields {
  getHeaderNames(): string[]
  /** Ignores case. Repeated headers are joined. */
  getHeader(name: string): number | string | string[] | undefined
  setHeader(name: string, value: number | string): unknown
  removeHeader(name: string): void
}

/**
 * The length of the body, if the handler has stated it. Node also knows it from a list, and from servers such as
 * Hono's.
 */
export function readLength(fields: Fields): number | undefined {
  const untold = (fields as { _contentLength?: number | null })._contentLength
  const told = fields.getHeader('content-length')
  // A repeated equal length counts as one. A body that is longer than stated would run into the next response.
  const once = typeof told === 'object' ? told.join(', ') : told
  const text = typeof once === 'string' && once.includes(',') ? once.replace(/^(\d+)(?:, \1)+$/, '$1') : once
  const length = Number(text ?? untold ?? Number.NaN)
  return Number.isSafeInteger(length) ? length : undefined
}

/** `writeHead` accepts headers in three forms. All become ordinary headers, so that others can be added. */
export function setHeaders(
  response: ServerResponse,
  headers: OutgoingHttpHeaders | OutgoingHttpHeader[] | null | undefined,
): void {
  if (!headers) return
  if (!Array.isArray(headers)) {
    for (const [name, value] of Object.entries(headers)) if (value !== undefined) response.setHeader(name, value)
    return
  }
  const flat = (Array.isArray(headers[0]) ? headers.flat() : headers) as OutgoingHttpHeader[]
  const seen = new Set<string>()
  for (let index = 0; index + 1 < flat.length; index += 2) {
    const [name, value] = [String(flat[index]), flat[index + 1] as OutgoingHttpHeader]
    if (seen.has(name.toLowerCase())) response.appendHeader(name, Array.isArray(value) ? value : String(value))
    else response.setHeader(name, value)
    seen.add(name.toLowerCase())
  }
}

/** The caching headers of paystile replace the handler's. `Vary` and the exposed headers are extended. */
export function setPaidHeader(fields: Fields, name: string, value: string): void {
  const present = fields.getHeader(name)
  if (present === undefined || name === 'Cache-Control' || !/^(vary|access-control-)/i.test(name)) {
    fields.setHeader(name, value)
  } else if (name !== 'Access-Control-Allow-Origin' && present !== '*') {
    fields.setHeader(name, [present, value].flat().join(', '))
  }
}

export function wrapHeaders(fields: Fields, { prefix, suffix }: Wrapping): void {
  for (const name of unwrappedHeaders) fields.removeHeader(name)
  const said = readLength(fields)
  if (said === undefined) return
  // An empty body is replaced by `null`.
  const length = said === 0 ? emptyBody.length : said
  fields.setHeader('content-length', length + Buffer.byteLength(prefix) + Buffer.byteLength(suffix))
}

/** Names and values in turn, ready to be sent. */
export interface ListFields extends Fields {
  all(): string[]
}

/**
 * The headers of `writeHead` as a list, if the response has no others. Node sends a list unchanged, at a fraction of
 * the cost of setting single headers. Undefined if they must be set.
 */
export function listFields(
  response: ServerResponse,
  given: OutgoingHttpHeaders | OutgoingHttpHeader[] | null | undefined,
): ListFields | undefined {
  // HTTP/2 does not support lists.
  if (!isList(given) || 'stream' in response || response.getHeaderNames().length > 0) return undefined
  const list = [...given]
  /** The names, in lower case. */
  const names: string[] = []
  for (let index = 0; index < list.length; index += 2) names.push((list[index] as string).toLowerCase())
  const remove = (name: string): void => {
    const lower = name.toLowerCase()
    for (let place = names.indexOf(lower); place >= 0; place = names.indexOf(lower)) {
      names.splice(place, 1)
      list.splice(place * 2, 2)
    }
  }
  const get = (name: string): string | undefined => {
    const lower = name.toLowerCase()
    const first = names.indexOf(lower)
    let found = first < 0 ? undefined : list[first * 2 + 1]
    for (let place = first + 1; first >= 0 && place < names.length; place += 1)
      if (names[place] === lower) found = `${found}, ${list[place * 2 + 1]}`
    return found
  }
  return {
    getHeaderNames: () => [...names],
    getHeader: get,
    setHeader: (name, value) => {
      const lower = name.toLowerCase()
      if (names.includes(lower)) remove(lower)
      names.push(lower)
      list.push(name, String(value))
    },
    removeHeader: remove,
    all: () => list,
  }
}

function isList(headers: unknown): headers is string[] {
  return Array.isArray(headers) && headers.length % 2 === 0 && headers.every((part) => typeof part === 'string')
}
