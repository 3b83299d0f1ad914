/**
 * Reads single headers of Node's requests. Node builds the object of all headers when it is first read, which takes longer
 * than to find one header in the list of the lines.
 */
import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'

/** Node's field for that object: null until it is first read. Undefined if this version of Node has no such field. */
const parsedHeaders = findParsedHeaders()

/** Node ignores lines beyond a limit, which servers may lower. */
const mostFields = 128

function findParsedHeaders(): symbol | undefined {
  const request = new IncomingMessage(new Socket())
  return Object.getOwnPropertySymbols(request).find(
    (field) => field.description === 'kHeaders' && Reflect.get(request, field) === null,
  )
}

/** The same as `request.headers[name]`, as one text. `name` is in lower case. */
export function readHeader(request: IncomingMessage, name: string): string | undefined {
  const { rawHeaders } = request
  // Code before the paywall may have changed the object, and then the object counts.
  if (parsedHeaders !== undefined && Reflect.get(request, parsedHeaders) === null && rawHeaders.length <= mostFields) {
    const index = findField(rawHeaders, name, 0)
    if (index < 0) return undefined
    // Node has rules for repeated headers.
    if (findField(rawHeaders, name, index + 2) < 0) return rawHeaders[index + 1]
  }
  const value = request.headers[name]
  return Array.isArray(value) ? value.join(', ') : value
}

/** The index of the first name at or after `from`; -1 if there is none. */
function findField(rawHeaders: readonly string[], name: string, from: number): number {
  for (let index = from; index < rawHeaders.length; index += 2) {
    const field = rawHeaders[index]
    if (field?.length === name.length && (field === name || field.toLowerCase() === name)) return index
  }
  return -1
}
