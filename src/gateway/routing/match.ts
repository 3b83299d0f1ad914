/**
 * Matches requests to routes.
 *
 * The upstream gets the path unchanged. The matcher therefore does not normalize a path. It checks whether an upstream
 * could read the path differently. Such a path has no route.
 */
import { type Path, splitPath } from '../../core/http/plain-path.ts'

/** A segment of a pattern: decoded text, any one segment, or (at the end) one or more of them. */
type Segment =
  | { readonly kind: 'text'; readonly text: string; readonly loose: string }
  | { readonly kind: 'one' | 'rest' }

export interface Pattern {
  readonly segments: readonly Segment[]
  readonly endsWithSlash: boolean
}

export type PatternReading =
  | { readonly kind: 'pattern'; readonly pattern: Pattern }
  | { readonly kind: 'problem'; readonly why: string }

/** Reads `/api/weather`, `/users/:id`, `/files/*`. */
export function parsePattern(text: string): PatternReading {
  const problem = (why: string): PatternReading => ({ kind: 'problem', why })
  if (!text.startsWith('/')) return problem('must begin with a slash')
  if (/[?#]/.test(text)) return problem('must not have a query; a route is a path')
  const parts = splitPath(text)
  if (!parts) {
    return problem('must be a plain path: no //, no . or .. segments, no ; or \\, no encoded separators')
  }
  const last = parts.texts.length - 1
  const segments: Segment[] = []
  for (const [index, part] of parts.texts.entries()) {
    if (part === '*') {
      if (index !== last) return problem('may have * only at its end')
      segments.push({ kind: 'rest' })
    } else if (/^:[A-Za-z]\w*$/.test(part)) segments.push({ kind: 'one' })
    else if (/^:|\*/.test(part)) return problem('must have * or :name as a whole segment')
    else segments.push({ kind: 'text', text: part, loose: loosen(part) })
  }
  return { kind: 'pattern', pattern: { segments, endsWithSlash: parts.endsWithSlash } }
}

export function matches(pattern: Pattern, path: Path): boolean {
  return compare(pattern, path, (segment, text) => segment.text === text)
}

/**
 * Whether some upstream, such as one that ignores case, would match the path with this pattern. Servers of CGI and PHP
 * run `/report.php` for `/report.php/more`.
 */
function mayMatch(pattern: Pattern, path: Path): boolean {
  const { segments, endsWithSlash } = pattern
  const last = segments.at(-1)
  const isFile = last?.kind === 'text' && /.\.[a-z]\w*$/i.test(last.text)
  const loosely = { texts: isFile ? path.texts.slice(0, segments.length) : path.texts, endsWithSlash }
  return compare(pattern, loosely, (segment, text) => segment.loose === loosen(text))
}

type TextSegment = Extract<Segment, { readonly kind: 'text' }>

function compare(pattern: Pattern, path: Path, isEqual: (segment: TextSegment, text: string) => boolean): boolean {
  const { segments, endsWithSlash } = pattern
  const { texts } = path
  if (endsWithSlash !== path.endsWithSlash) return false
  for (const [index, segment] of segments.entries()) {
    const text = texts[index]
    if (text === undefined) return false
    if (segment.kind === 'rest') return true
    if (segment.kind === 'text' && !isEqual(segment, text)) return false
  }
  return texts.length === segments.length
}

/** A name as the most tolerant file systems and routers see it. On Windows `a::$DATA` is the file `a`. */
function loosen(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/:{1,2}\$.*$/, '')
    .replace(/[. ]+$/, '')
}

/** Whether `outer` matches every path of `inner`. */
export function covers(outer: Pattern, inner: Pattern): boolean {
  if (outer.endsWithSlash !== inner.endsWithSlash) return false
  for (const [index, segment] of outer.segments.entries()) {
    const other = inner.segments[index]
    if (other === undefined) return false
    if (segment.kind === 'rest') return true
    if (other.kind === 'rest') return false
    if (segment.kind === 'text' && (other.kind !== 'text' || other.text !== segment.text)) return false
  }
  return outer.segments.length === inner.segments.length
}

/** Whether some path matches both. */
export function overlaps(one: Pattern, other: Pattern): boolean {
  if (one.endsWithSlash !== other.endsWithSlash) return false
  for (const [index, segment] of one.segments.entries()) {
    const against = other.segments[index]
    if (against === undefined) return false
    if (segment.kind === 'rest' || against.kind === 'rest') return true
    if (segment.kind === 'text' && against.kind === 'text' && segment.text !== against.text) return false
  }
  return one.segments.length === other.segments.length
}

/** The part of a route that matching needs. */
export interface Row {
  readonly pattern: Pattern
  readonly methods: ReadonlySet<string>
}

/** Finds the route for a method and a path. The first match counts. */
export type Find<Found extends Row> = (method: string, path: Path) => Found | undefined

/**
 * A path that matches a wildcard but resembles a more specific route (`/API/Weather` under `/*` beside `/api/weather`)
 * has no route: an upstream that ignores the difference would serve one resource for the price of the other.
 */
export function createFind<Found extends Row>(rows: readonly Found[]): Find<Found> {
  const rivals = new Map(rows.map((row) => [row, rows.filter((other) => isFiner(other.pattern, row.pattern))]))
  return (method, path) => {
    const row = rows.find((one) => one.methods.has(method) && matches(one.pattern, path))
    if (!row) return undefined
    const isUnclear = rivals
      .get(row)
      ?.some((rival) => rival.methods.has(method) && !matches(rival.pattern, path) && mayMatch(rival.pattern, path))
    return isUnclear ? undefined : row
  }
}

/** Whether the pattern has text where the other has a wildcard. */
function isFiner(pattern: Pattern, other: Pattern): boolean {
  return pattern.segments.some((segment, index) => {
    if (segment.kind !== 'text') return false
    const at = other.segments[Math.min(index, other.segments.length - 1)]
    return at?.kind === 'rest' || (at?.kind === 'one' && index < other.segments.length)
  })
}
