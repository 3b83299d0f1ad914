/** Reads the paths that all programs read in the same way. */
import { attempt } from '../errors/attempt.ts'

/** A path that every upstream reads in the same way. */
export interface Path {
  /** Decoded, for comparison only. */
  readonly texts: readonly string[]
  readonly endsWithSlash: boolean
}

/** The characters that RFC 3986 allows in a path, without `;`, and some more that browsers send unescaped. */
const plainPath = /^\/(?:[\w\-.~!$&'()*+,=:@/[\]|^]|%[0-9A-Fa-f]{2})*$/
/** Escapes that would split, end or change a path after decoding. `%2541` is for upstreams that decode twice. */
const unclear = /%(?:2[fF3]|5[cC]|3[bBfF]|[01][0-9A-Fa-f]|7[fF]|25[0-9A-Fa-f]{2})/

/** The segments of a path; undefined for an ambiguous path. */
export function splitPath(path: string): Path | undefined {
  if (!plainPath.test(path) || path.includes('//') || unclear.test(path)) return undefined
  const endsWithSlash = path.length > 1 && path.endsWith('/')
  const inner = path.slice(1, endsWithSlash ? -1 : undefined)
  const raw = inner === '' ? [] : inner.split('/')
  const texts = path.includes('%') ? decodeAll(raw) : raw
  if (!texts || texts.some(isUnclear)) return undefined
  return { texts, endsWithSlash }
}

/** Characters that split or end a path. */
const parting = /[/\\;?#%]/g

/**
 * Windows reads `.. ` as `..` and ignores a space. Programs that normalize Unicode read `．．` and `‥` as `..`, and `／`
 * as a slash.
 */
function isUnclear(text: string): boolean {
  if (/^[!-~]*$/.test(text)) return /^\.*$/.test(text)
  const plain = text.normalize('NFKC')
  return /^[.\s\p{Cf}]*$/u.test(plain) || countOf(plain) !== countOf(text)
}

function countOf(text: string): number {
  return text.match(parting)?.length ?? 0
}

function decodeAll(segments: readonly string[]): readonly string[] | undefined {
  return attempt(() => segments.map((segment) => decodeURIComponent(segment)))
}

/** Escapes of letters, digits, `-`, `.` and `_`. No client needs them, and a program that does not decode differs. */
const needless = /%(?:2[dDeE]|3\d|4[1-9a-fA-F]|5[\daA]|5[fF]|6[1-9a-fA-F]|7[\daA])/

/** A path, decoded; undefined unless it is in its only spelling, apart from case. A final slash is another path. */
export function decodePath(path: string, endsWithSlash: boolean): string | undefined {
  const parts = needless.test(path) ? undefined : splitPath(path)
  if (parts?.endsWithSlash !== endsWithSlash) return undefined
  return `/${parts.texts.join('/')}${endsWithSlash ? '/' : ''}`
}
