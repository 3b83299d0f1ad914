/**
 * Which route a request belongs to.
 *
 * The upstream gets the path exactly as it came, so the question is never what a path becomes when it is tidied up, but
 * whether the upstream could take it for another one than we do. Where it could, there is no route.
 */

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
  if (/[?#]/.test(text)) return problem('must not have a query: a route is for a path')
  const parts = splitPath(text)
  if (!parts) {
    return problem('must be a plain path: no //, no . or .. segments, no ; or \\, nothing encoded that would part it')
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

/** A path that every upstream reads alike. */
export interface Path {
  /** Decoded, for comparison only. */
  readonly texts: readonly string[]
  readonly endsWithSlash: boolean
}

/** What RFC 3986 lets a path hold, less `;`, and some more that browsers send as they are. */
const plainPath = /^\/(?:[\w\-.~!$&'()*+,=:@/[\]|^]|%[0-9A-Fa-f]{2})*$/
/** What would part, end or change a path once it is decoded. `%2541` is for upstreams that decode twice. */
const unclear = /%(?:2[fF3]|5[cC]|3[bBfF]|[01][0-9A-Fa-f]|7[fF]|25[0-9A-Fa-f]{2})/

/** The segments of a path as it came; undefined for one that others may read in another way. */
export function splitPath(path: string): Path | undefined {
  if (!plainPath.test(path) || path.includes('//') || unclear.test(path)) return undefined
  const endsWithSlash = path.length > 1 && path.endsWith('/')
  const inner = path.slice(1, endsWithSlash ? -1 : undefined)
  const raw = inner === '' ? [] : inner.split('/')
  const texts = path.includes('%') ? decodeAll(raw) : raw
  if (!texts || texts.some(isUnclear)) return undefined
  return { texts, endsWithSlash }
}

/** Signs that part or end a path. */
const parting = /[/\\;?#%]/g

/**
 * Windows reads `.. ` as `..` and a space as nothing; programs that normalize Unicode read `．．` and `‥` so, and `／` as a slash.
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
  try {
    return segments.map((segment) => decodeURIComponent(segment))
  } catch {
    return undefined
  }
}

export function matches(pattern: Pattern, path: Path): boolean {
  return compare(pattern, path, (segment, text) => segment.text === text)
}

/** Whether some upstream would take the path for one of this pattern: those that ignore case, for example. */
function mayMatch(pattern: Pattern, path: Path): boolean {
  const loosely = { ...path, endsWithSlash: pattern.endsWithSlash }
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

/** As the most forgiving file systems and routers see a name. To Windows `a::$DATA` is the file `a`. */
function loosen(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/:{1,2}\$.*$/, '')
    .replace(/[. ]+$/, '')
}

/** Whether every path of `inner` is one of `outer`. */
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

/** Whether some path is one of both. */
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

/** A row of the route table, as far as finding it goes. */
export interface Row {
  readonly pattern: Pattern
  readonly methods: ReadonlySet<string>
}

/** Finds the route for a method and a path, of which the first that matches counts. */
export type Find<Found extends Row> = (method: string, path: Path) => Found | undefined

/**
 * A path that falls to a wildcard but resembles one that has a route of its own (`/API/Weather` under `/*` beside
 * `/api/weather`) belongs to no route: an upstream that sees no difference would serve the one for the price of the other.
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

/** Whether one pattern has text where the other takes anything. */
function isFiner(pattern: Pattern, other: Pattern): boolean {
  return pattern.segments.some((segment, index) => {
    if (segment.kind !== 'text') return false
    const at = other.segments[Math.min(index, other.segments.length - 1)]
    return at?.kind === 'rest' || (at?.kind === 'one' && index < other.segments.length)
  })
}
