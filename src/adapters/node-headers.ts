/** The headers of a response of Node's, as handlers give them and as a paid answer changes them. */
import type { OutgoingHttpHeader, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { Wrapping } from '../server/envelope.ts'

/** The length of the body, where the handler has said it. Some servers (Hono's) tell Node without a header. */
export function lengthOf(response: ServerResponse): number | undefined {
  const untold = (response as { _contentLength?: number | null })._contentLength
  const length = Number(response.getHeader('content-length') ?? untold ?? Number.NaN)
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
export function setPaidHeader(response: ServerResponse, name: string, value: string): void {
  const present = response.getHeader(name)
  if (present === undefined || name === 'Cache-Control' || !/^(vary|access-control-)/i.test(name)) {
    response.setHeader(name, value)
  } else if (name !== 'Access-Control-Allow-Origin' && present !== '*') {
    response.setHeader(name, `${present}, ${value}`)
  }
}

export function growLength(response: ServerResponse, { prefix, suffix }: Wrapping): void {
  const length = lengthOf(response)
  if (length === undefined) return
  response.setHeader('content-length', length + Buffer.byteLength(prefix) + Buffer.byteLength(suffix))
  // An ETag of the bare body would be wrong for the wrapped one.
  response.removeHeader('etag')
}
