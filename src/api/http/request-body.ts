/** Reads a posted JSON body, with limits of size and time. */
import type { AnyProblemCode } from './errors.ts'

export type JsonReading =
  | { readonly kind: 'json'; readonly value: unknown }
  | { readonly kind: 'wrong'; readonly code: AnyProblemCode; readonly detail: string }

export const mostBodyBytes = 4_096
const patienceMs = 10_000

export async function readJsonBody(request: Request, mostBytes = mostBodyBytes): Promise<JsonReading> {
  const type = request.headers.get('content-type') ?? ''
  if (!/^application\/json\s*(?:;|$)/i.test(type))
    return { kind: 'wrong', code: 'media_type_unsupported', detail: 'Send the body as application/json.' }
  const tooLong: JsonReading = {
    kind: 'wrong',
    code: 'body_too_long',
    detail: `The body may have at most ${mostBytes} bytes.`,
  }
  if (Number(request.headers.get('content-length') ?? 0) > mostBytes) return tooLong
  const reading = await readBytes(request, mostBytes)
  if (reading.kind === 'too_long') return tooLong
  if (reading.kind === 'broken') return { kind: 'wrong', code: 'body_invalid', detail: 'The body ended early.' }
  if (reading.kind === 'too_slow')
    return { kind: 'wrong', code: 'body_too_slow', detail: 'The body did not arrive in time. Send it without pauses.' }
  try {
    return { kind: 'json', value: JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(reading.bytes)) }
  } catch {
    return { kind: 'wrong', code: 'body_invalid', detail: 'The body is not JSON in UTF-8.' }
  }
}

type BytesReading =
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  | { readonly kind: 'too_long' }
  | { readonly kind: 'too_slow' }
  | { readonly kind: 'broken' }

async function readBytes(request: Request, mostBytes: number): Promise<BytesReading> {
  const reader = request.body?.getReader()
  if (!reader) return { kind: 'bytes', bytes: new Uint8Array() }
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(resolve, patienceMs, 'late')
  })
  const chunks: Uint8Array[] = []
  let length = 0
  try {
    for (;;) {
      const part = await Promise.race([reader.read(), late])
      if (part === 'late') return { kind: 'too_slow' }
      if (part.done) break
      chunks.push(part.value)
      length += part.value.byteLength
      if (length > mostBytes) return { kind: 'too_long' }
    }
  } catch {
    return { kind: 'broken' }
  } finally {
    clearTimeout(timer)
    reader.cancel().catch(() => {})
  }
  const bytes = new Uint8Array(length)
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.byteLength
  }
  return { kind: 'bytes', bytes }
}
