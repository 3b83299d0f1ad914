/**
 * A resource of which the beginning is already here: what to ask for next, and what the answer is. Bytes are only ever put
 * together where a strong ETag vouches that they are of one piece.
 */
import { parseContentRange } from '../core/content-range.ts'

export interface Part {
  /** How many are here, from the first on. */
  readonly bytes: number
  /** Of the representation they are from; undefined where it has no strong one. */
  readonly etag: string | undefined
  /** Of the whole, where it is known. */
  readonly size: number | undefined
}

export const nothing: Part = { bytes: 0, etag: undefined, size: undefined }

export function isWhole({ bytes, size }: Part): boolean {
  return bytes === size
}

/** Whether the rest can be asked for on its own. */
export function isResumable({ bytes, etag, size }: Part): boolean {
  return bytes > 0 && etag !== undefined && (size === undefined || bytes < size)
}

/** The headers that ask for the rest, or for the whole where it has changed since. */
export function headersFor(part: Part): Readonly<Record<string, string>> {
  const { bytes, etag } = part
  return isResumable(part) && etag !== undefined ? { Range: `bytes=${bytes}-`, 'If-Range': etag } : {}
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
  | { readonly kind: 'restart'; readonly etag: string | undefined; readonly size: number | undefined }
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
    const isSame = strongEtag(head) === part.etag
    return { kind: isSame && size !== undefined && Number(size) === part.bytes ? 'whole' : 'again' }
  }
  if (status < 200 || status >= 300) return { kind: 'answer' }
  const isEncoded = (head.header('content-encoding') ?? 'identity') !== 'identity'
  const length = head.header('content-length') ?? ''
  const size = /^\d{1,15}$/.test(length) && !isEncoded ? Number(length) : undefined
  return { kind: 'restart', etag: isEncoded ? undefined : strongEtag(head), size }
}

function judgeRest(part: Part, head: PartHead): Step {
  const range = parseContentRange(head.header('content-range'))
  // The whole from a server that ignored what was asked, cut where no more was paid for.
  if (range?.from === 0n) return judgeBeginning(head)
  if (!range || Number(range.from) !== part.bytes) return { kind: 'again' }
  const size = range.size === undefined ? part.size : Number(range.size)
  // A part has to name its ETag (RFC 9110, 15.3.7); one that does not may be of anything.
  return strongEtag(head) !== part.etag || (part.size ?? size) !== size ? { kind: 'again' } : { kind: 'append', size }
}

function judgeBeginning(head: PartHead): Step {
  const range = parseContentRange(head.header('content-range'))
  if (range?.from !== 0n) return { kind: 'answer' }
  const size = range.size === undefined ? undefined : Number(range.size)
  return { kind: 'restart', etag: strongEtag(head), size }
}

/** A weak one promises the same meaning, and not the same bytes. */
export function strongEtag(head: PartHead): string | undefined {
  const etag = head.header('etag')
  return etag !== undefined && /^"[\x21\x23-\x7e]*"$/.test(etag) ? etag : undefined
}
