/**
 * Resumes a partial resource: chooses the next request and evaluates the response. Bytes are only joined if the server
 * guarantees that they belong to the same representation.
 */
import { parseContentRange } from '../../core/http/content-range.ts'

export interface Part {
  /** The number of bytes present, counted from the first. */
  readonly bytes: number
  /** Identifies the representation of these bytes. Undefined if no validator is reliable. */
  readonly validator: string | undefined
  /** The size of the whole resource, if it is known. */
  readonly size: number | undefined
}

export const nothing: Part = { bytes: 0, validator: undefined, size: undefined }

export function isWhole({ bytes, size }: Part): boolean {
  return bytes === size
}

/** Whether the rest can be requested separately. */
export function isResumable({ bytes, validator, size }: Part): boolean {
  return bytes > 0 && validator !== undefined && (size === undefined || bytes < size)
}

/** The headers that request the rest, or the whole resource if it has changed. */
export function formatHeaders(part: Part): Readonly<Record<string, string>> {
  const { bytes, validator } = part
  return isResumable(part) && validator !== undefined ? { Range: `bytes=${bytes}-`, 'If-Range': validator } : {}
}

/** The relevant part of a response's head. */
export interface PartHead {
  readonly status: number
  header(name: string): string | undefined
}

export type Step =
  /** The body continues the part. */
  | { readonly kind: 'append'; readonly size: number | undefined }
  /** The body starts another representation, or the same one again. */
  | { readonly kind: 'restart'; readonly validator: string | undefined; readonly size: number | undefined }
  /** The part is already complete. */
  | { readonly kind: 'whole' }
  /** The response does not fit. The whole resource must be requested. */
  | { readonly kind: 'again' }
  /** The response is not the resource. */
  | { readonly kind: 'answer' }

/** Decides how to use a response. `asksForRest`: the headers of `formatHeaders` were sent. */
export function judge(part: Part, head: PartHead, asksForRest: boolean): Step {
  const { status } = head
  if (status === 206) return asksForRest ? judgeRest(part, head) : judgeBeginning(head)
  if (status === 416 && asksForRest) {
    const size = /^bytes \*\/(\d{1,15})$/.exec(head.header('content-range') ?? '')?.[1]
    // Some servers ignore If-Range here, and another representation can have the same length.
    const isSame = readValidator(head) === part.validator
    return { kind: isSame && size !== undefined && Number(size) === part.bytes ? 'whole' : 'again' }
  }
  if (status < 200 || status >= 300) return { kind: 'answer' }
  const isEncoded = (head.header('content-encoding') ?? 'identity') !== 'identity'
  const length = head.header('content-length') ?? ''
  const size = /^\d{1,15}$/.test(length) && !isEncoded ? Number(length) : undefined
  return { kind: 'restart', validator: isEncoded ? undefined : readValidator(head), size }
}

function judgeRest(part: Part, head: PartHead): Step {
  const range = parseContentRange(head.header('content-range'))
  // The server ignored the range and sent the whole, cut at the end of the purchased bytes.
  if (range?.from === 0n) return judgeBeginning(head)
  if (!range || Number(range.from) !== part.bytes) return { kind: 'again' }
  const size = range.size === undefined ? part.size : Number(range.size)
  // A partial response must identify its representation (RFC 9110, 15.3.7). Otherwise it can belong to any.
  return readValidator(head) !== part.validator || (part.size ?? size) !== size
    ? { kind: 'again' }
    : { kind: 'append', size }
}

function judgeBeginning(head: PartHead): Step {
  const range = parseContentRange(head.header('content-range'))
  if (range?.from !== 0n) return { kind: 'answer' }
  const size = range.size === undefined ? undefined : Number(range.size)
  return { kind: 'restart', validator: readValidator(head), size }
}

const etagPattern = /^"[\x21\x23-\x7e]*"$/
const datePattern = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/
/** Two representations can have the same time stamp, which is in whole seconds. */
const settledMs = 60_000

/**
 * The validator of a representation: a strong ETag, because a weak one guarantees the same meaning and not the same
 * bytes; or the time of the last change, if it is long enough ago (RFC 9110, 8.8.2.2).
 */
function readValidator(head: PartHead): string | undefined {
  const etag = head.header('etag')
  if (etag !== undefined && etagPattern.test(etag)) return etag
  const changed = head.header('last-modified')
  if (changed === undefined || !datePattern.test(changed)) return undefined
  return Date.parse(head.header('date') ?? '') - Date.parse(changed) >= settledMs ? changed : undefined
}

/** Whether a text is a possible validator. */
export function isValidator(text: string): boolean {
  return etagPattern.test(text) || datePattern.test(text)
}
