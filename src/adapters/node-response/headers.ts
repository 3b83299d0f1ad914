/** The headers of a response of Node's, as handlers give them and as a paid answer changes them. */
import type { OutgoingHttpHeader, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { emptyBody, type Wrapping } from '../../paywall/config/envelope.ts'

/** Headers that can still be changed: those of a response, or a list that goes out with its head. */
export interface Fields {
  getHeaderNames(): string[]
  /** In any case; what is there several times, as one. */
  getHeader(name: string): number | string | string[] | undefined
  setHeader(name: string, value: number | string): unknown
  removeHeader(name: string): void
}

/** The length of the body, where the handler has said it. Node knows it from a list, too, and from servers such as Hono's. */
export function readLength(fields: Fields): number | undefined {
  const untold = (fields as { _contentLength?: number | null })._contentLength
  const told = fields.getHeader('content-length')
  // Said twice, it is one length all the same; a body that is longer than its head says would run into the next answer.
  const once = typeof told === 'object' ? told.join(', ') : told
  const text = typeof once === 'string' && once.includes(',') ? once.replace(/^(\d+)(?:, \1)+$/, '$1') : once
  const length = Number(text ?? untold ?? Number.NaN)
  return Number.isSafeInteger(length) ? length : undefined
}

/** Node lets headers arrive with `writeHead` in three shapes; all become ordinary headers, so that ours can follow. */
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

/** What we say of caching is final; to `Vary` and to the exposed headers we only add. */
export function setPaidHeader(fields: Fields, name: string, value: string): void {
  const present = fields.getHeader(name)
  if (present === undefined || name === 'Cache-Control' || !/^(vary|access-control-)/i.test(name)) {
    fields.setHeader(name, value)
  } else if (name !== 'Access-Control-Allow-Origin' && present !== '*') {
    fields.setHeader(name, [present, value].flat().join(', '))
  }
}

export function growLength(fields: Fields, { prefix, suffix }: Wrapping): void {
  const said = readLength(fields)
  if (said === undefined) return
  // In place of nothing there is a `null`.
  const length = said === 0 ? emptyBody.length : said
  fields.setHeader('content-length', length + Buffer.byteLength(prefix) + Buffer.byteLength(suffix))
  // An ETag of the bare body would be wrong for the wrapped one.
  fields.removeHeader('etag')
}

/** Names and values in turn, to be sent as they are. */
export interface ListFields extends Fields {
  all(): string[]
}

/**
 * The headers of `writeHead` as a list, where they are all that the response has: Node sends a list as it is, which costs a
 * proxy a fraction of setting one header after the other. Undefined where they have to be set.
 */
export function listFields(
  response: ServerResponse,
  given: OutgoingHttpHeaders | OutgoingHttpHeader[] | null | undefined,
): ListFields | undefined {
  // Over HTTP/2 there are no lists.
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
