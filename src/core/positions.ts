/**
 * Which bytes of a file were sent how often, and which of them surely arrived.
 *
 * Kept as stretches in order: from the end of the one before (or 0) up to `to`. Beyond the last one nothing was sent.
 */
export interface Stretch {
  readonly to: bigint
  readonly sent: number
  /** Part of a response that ended on the socket. */
  readonly arrived: boolean
}
export type Positions = readonly Stretch[]

/** Byte positions; `to` is the first one after it. */
export interface Span {
  readonly from: bigint
  readonly to: bigint
}

/** More than anybody needs who breaks off by accident. Beyond it neighbours become one, at the higher count. */
const mostStretches = 1_000

/** The positions after a span was sent once more. */
export function sendAgain(positions: Positions, span: Span, arrived: boolean): Positions {
  if (span.from >= span.to) return positions
  const cuts = [...new Set([0n, ...positions.map(({ to }) => to), span.from, span.to])].sort(ascending)
  const stretches: Stretch[] = []
  for (const [index, to] of cuts.entries()) {
    const from = cuts[index - 1]
    if (from === undefined) continue
    const before = stretchAt(positions, from)
    const isInside = from >= span.from && to <= span.to
    stretches.push(isInside ? { to, sent: before.sent + 1, arrived: before.arrived || arrived } : { ...before, to })
  }
  return thin(join(stretches))
}

/** How far one may send from a position on, so that none is sent more than `most` times, those under way included. */
export function reach(positions: Positions, underWay: readonly Span[], { from, to }: Span, most: number): bigint {
  const cuts = [...positions.map((stretch) => stretch.to), ...underWay.flatMap((span) => [span.from, span.to])]
  let at = from
  while (at < to) {
    if (timesAt(positions, underWay, at) >= most) return at
    const next = cuts.filter((cut) => cut > at)
    at = next.length === 0 ? to : smallest(next)
  }
  return to
}

/** How many of the first `size` positions have not arrived yet. */
export function missingOf(positions: Positions, size: bigint): bigint {
  let [missing, from] = [0n, 0n]
  for (const { to, arrived } of positions) {
    const end = to < size ? to : size
    if (!arrived && end > from) missing += end - from
    from = to
  }
  return from < size ? missing + size - from : missing
}

/** Whether each of the first `size` positions was sent so often. */
export function isWornOut(positions: Positions, size: bigint, most: number): boolean {
  let end = 0n
  for (const { to, sent } of positions) {
    if (sent < most && end < size) return false
    end = to
  }
  return end >= size
}

/** As text, for a column: `to:sent` or `to:sent+` where it arrived. */
export function formatPositions(positions: Positions): string {
  return positions.map(({ to, sent, arrived }) => `${to}:${sent}${arrived ? '+' : ''}`).join(' ')
}

export function parsePositions(text: string): Positions {
  if (text === '') return []
  return text.split(' ').map((part) => {
    const [to = '', sent = ''] = part.split(':')
    return { to: BigInt(to), sent: Number.parseInt(sent, 10), arrived: sent.endsWith('+') }
  })
}

const untouched = { sent: 0, arrived: false }

function stretchAt(positions: Positions, at: bigint): Omit<Stretch, 'to'> {
  return positions.find(({ to }) => at < to) ?? untouched
}

function timesAt(positions: Positions, underWay: readonly Span[], at: bigint): number {
  return stretchAt(positions, at).sent + underWay.filter(({ from, to }) => from <= at && at < to).length
}

function join(stretches: readonly Stretch[]): Stretch[] {
  return stretches.filter(({ sent, arrived }, index) => {
    const next = stretches[index + 1]
    if (!next) return sent > 0
    return next.sent !== sent || next.arrived !== arrived
  })
}

/** Counts too high rather than too low. */
function thin(stretches: Stretch[]): Positions {
  while (stretches.length > mostStretches) {
    const [last, before] = [stretches.pop(), stretches.pop()]
    if (!last || !before) break
    stretches.push({
      to: last.to,
      sent: Math.max(last.sent, before.sent),
      arrived: last.arrived && before.arrived,
    })
  }
  return stretches
}

function ascending(one: bigint, other: bigint): number {
  return one < other ? -1 : one > other ? 1 : 0
}

function smallest(values: readonly bigint[]): bigint {
  return values.reduce((least, value) => (value < least ? value : least))
}
