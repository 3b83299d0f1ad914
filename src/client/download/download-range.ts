/**
 * A resource of which the beginning is already here: what to ask for next, and what the answer is. Bytes are only ever put
 * together where the server vouches that they are of one piece.
 */
import { parseContentRange } from '../../core/encoding/content-range.ts'

export interface Part {
  /** How many are here, from the first on. */
  readonly bytes: number
  /** Names the representation they are from; undefined where nothing does for certain. */
  readonly validator: string | undefined
  /** Of the whole, where it is known. */
  readonly size: number | undefined
}

export const nothing: Part = { bytes: 0, validator: undefined, size: undefined }

export function isWhole({ bytes, size }: Part): boolean {
  return bytes === size
}

/** Whether the rest can be asked for on its own. */
export function isResumable({ bytes, validator, size }: Part): boolean {
  return bytes > 0 && validator !== undefined && (size === undefined || bytes < size)
}

/** The headers that ask for the rest, or for the whole where it has changed since. */
export function formatHeaders(part: Part): Readonly<Record<string, string>> {
  const { bytes, validator } = part
  return isResumable(part) && validator !== undefined ? { Range: `bytes=${bytes}-`, 'If-Range': validator } : {}
}

/** The beginning of an answer, as far as it matters here. */
export interface PartHead {
  readonly status: number
  header(name: string): string | undefined
}

export type Step =
  /** The body goes on where the part ends. */
  | { readonly kind: 'append'; readonly size: number | undefined }
  /** The body is the beginning of something else than the part, or of the same again. */
  | { readonly kind: 'restart'; readonly validator: string | undefined; readonly size: number | undefined }
  /** There is no more than what is here. */
  | { readonly kind: 'whole' }
  /** It does not fit: ask for the whole. */
  | { readonly kind: 'again' }
  /** It is not the resource. */
  | { readonly kind: 'answer' }

/** What to do with an answer. `asksForRest`: `headersFor` the part were sent. */
export function judge(part: Part, head: PartHead, asksForRest: boolean): Step {
  const { status } = head
  if (status === 206) return asksForRest ? judgeRest(part, head) : judgeBeginning(head)
  if (status === 416 && asksForRest) {
    const size = /^bytes \*\/(\d{1,15})$/.exec(head.header('content-range') ?? '')?.[1]
    // Not every server looks at If-Range first: something else may have just this length.
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
  // The whole from a server that ignored what was asked, cut where no more was paid for.
  if (range?.from === 0n) return judgeBeginning(head)
  if (!range || Number(range.from) !== part.bytes) return { kind: 'again' }
  const size = range.size === undefined ? part.size : Number(range.size)
  // A part has to name what it is of (RFC 9110, 15.3.7); one that does not may be of anything.
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
/** Within the same second there may have been two. */
const settledMs = 60_000

/**
 * What vouches that bytes are of one piece: a strong ETag, since a weak one promises the same meaning and not the same
 * bytes; or when it was changed last, if that is long enough ago (RFC 9110, 8.8.2.2).
 */
function readValidator(head: PartHead): string | undefined {
  const etag = head.header('etag')
  if (etag !== undefined && etagPattern.test(etag)) return etag
  const changed = head.header('last-modified')
  if (changed === undefined || !datePattern.test(changed)) return undefined
  return Date.parse(head.header('date') ?? '') - Date.parse(changed) >= settledMs ? changed : undefined
}

/** Whether a text can be one. */
export function isValidator(text: string): boolean {
  return etagPattern.test(text) || datePattern.test(text)
}
