/** Reads a request's body before the handler, which can still read it. */
import type { IncomingMessage } from 'node:http'
import type { BodyReading } from '../core/http/http.ts'

const gone: BodyReading = { kind: 'gone' }
const broken: BodyReading = { kind: 'broken' }

/**
 * Takes the bytes out of Node's stream and puts them back before the stream notices its end.
 *
 * The start of a body that is too long is lost. The request is refused, so the body is not read again.
 */
export function readNodeBody(request: IncomingMessage, mostBytes: number): Promise<BodyReading> {
  if (Number(request.headers['content-length'] ?? 0) > mostBytes) return Promise.resolve({ kind: 'too_long' })
  if (request.readableDidRead || request.readableEnded) return Promise.resolve(gone)
  if (request.destroyed) return Promise.resolve(broken)
  if (isEmpty(request)) return Promise.resolve({ kind: 'body', bytes: new Uint8Array() })
  return new Promise((resolve) => {
    const chunks: Uint8Array[] = []
    let length = 0
    const settle = (reading: BodyReading): void => {
      request.off('readable', read).off('end', finish).off('close', leave)
      resolve(reading)
    }
    const finish = (): void => {
      const bytes = Buffer.concat(chunks)
      // Not empty, so the stream is not at its end yet.
      if (bytes.length > 0 && !request.readableEnded) request.unshift(bytes)
      settle({ kind: 'body', bytes })
    }
    const leave = (): void => settle(broken)
    const read = (): void => {
      for (let chunk: Buffer | null = request.read(); chunk !== null; chunk = request.read()) {
        chunks.push(chunk)
        length += chunk.length
      }
      if (length > mostBytes) settle({ kind: 'too_long' })
      else if (request.complete) finish()
    }
    request.on('readable', read).on('end', finish).on('close', leave)
  })
}

/** Reading an empty stream ends it, and a handler that listens later would wait for the end forever. */
function isEmpty(request: IncomingMessage): boolean {
  const { stream } = request as { readonly stream?: { readonly endAfterHeaders: boolean } }
  if (stream) return stream.endAfterHeaders
  const { 'transfer-encoding': encoding, 'content-length': length } = request.headers
  return encoding === undefined ? !(Number(length) > 0) : request.complete && request.readableLength === 0
}

/** Reads a copy of a `Request`'s body. The original stays unread. */
export async function readWebBody(request: Request, mostBytes: number): Promise<BodyReading> {
  if (request.bodyUsed) return gone
  if (Number(request.headers.get('content-length') ?? 0) > mostBytes) return { kind: 'too_long' }
  const reader = request.clone().body?.getReader()
  const next = async () => reader?.read().catch(() => 'broken' as const)
  const chunks: Uint8Array[] = []
  let length = 0
  for (let part = await next(); part !== undefined; part = await next()) {
    if (part === 'broken') return broken
    if (part.done) break
    chunks.push(part.value)
    length += part.value.length
    if (length > mostBytes) {
      // Not awaited: it resolves only when the other copy is cancelled, too.
      void reader?.cancel().catch(() => {})
      return { kind: 'too_long' }
    }
  }
  return { kind: 'body', bytes: Buffer.concat(chunks) }
}
