/** The body of the caller's request in a form that is the same each time it is sent, also after a restart. */
import { sha256 } from '@noble/hashes/sha2.js'
import { encodeBase64url } from '../../core/encoding/base64url.ts'
import { PaymentError } from '../errors.ts'

export interface ReplayableBody {
  readonly content: string | URLSearchParams | ArrayBuffer | ArrayBufferView<ArrayBuffer> | undefined
  /** The `Content-Type` that `fetch` would have derived from the caller's body. Undefined if it still does. */
  readonly type?: string
}

export async function readRequestBody(body: BodyInit | null | undefined): Promise<ReplayableBody> {
  if (body === undefined || body === null) return { content: undefined }
  if (typeof body === 'string' || body instanceof URLSearchParams || ArrayBuffer.isView(body)) return { content: body }
  // By name, because a package such as undici has its own classes, which `fetch` accepts.
  switch (Object.prototype.toString.call(body)) {
    case '[object FormData]':
      return encodeForm(body as FormData)
    case '[object Blob]':
    case '[object File]': {
      const blob = body as Blob
      return { content: await blob.arrayBuffer(), type: blob.type }
    }
    case '[object ArrayBuffer]':
      return { content: new Uint8Array(body as ArrayBuffer) }
    case '[object URLSearchParams]':
      return { content: new URLSearchParams(String(body)) }
  }
  // Node also accepts its own streams.
  if (body instanceof ReadableStream || Symbol.asyncIterator in Object(body)) {
    throw new PaymentError(
      'body_not_replayable',
      'A stream can be sent only once, but a paid request is sent twice. Pass the body as text or bytes.',
    )
  }
  return { content: String(body) }
}

/**
 * `fetch` draws a new boundary for each request, so a payment that is bound to the body would not fit. This boundary
 * depends on the content only.
 */
async function encodeForm(form: FormData): Promise<ReplayableBody> {
  const parts = await Promise.all([...form].map(encodePart))
  const hashes = parts.map((part) => encodeBase64url(sha256(new Uint8Array(part))))
  const boundary = `paystile-${encodeBase64url(sha256(new TextEncoder().encode(hashes.join('\n'))))}`
  const lines = parts.flatMap((part) => [`--${boundary}\r\n`, part, '\r\n'])
  const content = await new Blob([...lines, `--${boundary}--\r\n`]).arrayBuffer()
  return { content, type: `multipart/form-data; boundary=${boundary}` }
}

function encodePart([name, value]: readonly [string, FormDataEntryValue]): Promise<ArrayBuffer> {
  const head = `Content-Disposition: form-data; name="${escapeName(withLineEnds(name))}"`
  if (typeof value === 'string') return new Blob([`${head}\r\n\r\n${withLineEnds(value)}`]).arrayBuffer()
  const type = value.type || 'application/octet-stream'
  return new Blob([
    `${head}; filename="${escapeName(value.name)}"\r\nContent-Type: ${type}\r\n\r\n`,
    value,
  ]).arrayBuffer()
}

function withLineEnds(text: string): string {
  return text.replace(/\r\n|\r|\n/g, '\r\n')
}

function escapeName(name: string): string {
  return name.replaceAll('\n', '%0A').replaceAll('\r', '%0D').replaceAll('"', '%22')
}
