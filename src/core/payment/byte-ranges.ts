import type { ByteSpan } from '../http/content-range.ts'
/**
 * Records how often each byte of a file was sent, and which bytes belong to a response that ended normally.
 *
 * The record is an ordered list of stretches. Each one starts at the end of the one before (or at 0) and ends at `to`.
 * No byte after the last stretch has been sent.
 */
export interface Stretch {
  readonly to: bigint
  readonly sent: number
  /** The stretch belongs to a response that ended normally on the socket. */
  readonly arrived: boolean
}
export type Positions = readonly Stretch[]

/** More than accidental interruptions need. Beyond it, neighbouring stretches are merged at the higher count. */
const mostStretches = 1_000

/** Returns the positions after a span was sent once more. */
export function sendAgain(positions: Positions, span: ByteSpan, arrived: boolean): Positions {
  if (span.from >= span.to) return positions
  const stretches: Stretch[] = []
  let [from, index] = [0n, 0]
  for (const to of inOrder([...positions.map((stretch) => stretch.to), span.from, span.to])) {
    const before = positions[index] ?? untouched
    const isInside = from >= span.from && to <= span.to
    if (to > from) stretches.push(isInside ? sentOnce(before, to, arrived) : { ...before, to })
    if (positions[index]?.to === to) index += 1
    from = to
  }
  return thin(join(stretches))
}

/**
 * Computes how far a response may send from a position so that no byte is sent more than `most` times, including bytes
 * in flight.
 */
export function reach(
  positions: Positions,
  underWay: readonly ByteSpan[],
  { from, to }: ByteSpan,
  most: number,
): bigint {
  const changes = new Map<bigint, number>()
  for (const span of underWay) {
    if (span.from >= span.to) continue
    changes.set(span.from, (changes.get(span.from) ?? 0) + 1)
    changes.set(span.to, (changes.get(span.to) ?? 0) - 1)
  }
  let [index, live] = [0, 0]
  for (const at of inOrder([...positions.map((stretch) => stretch.to), ...changes.keys(), from])) {
    if (at >= to) break
    live += changes.get(at) ?? 0
    if (positions[index]?.to === at) index += 1
    if (at >= from && (positions[index]?.sent ?? 0) + live >= most) return at
  }
  return to
}

/** Counts the bytes among the first `size` that have not arrived yet. */
export function findMissing(positions: Positions, size: bigint): bigint {
  let [missing, from] = [0n, 0n]
  for (const { to, arrived } of positions) {
    const end = to < size ? to : size
    if (!arrived && end > from) missing += end - from
    from = to
  }
  return from < size ? missing + size - from : missing
}

/** Whether each of the first `size` bytes was sent that many times. */
export function isWornOut(positions: Positions, size: bigint, most: number): boolean {
  let end = 0n
  for (const { to, sent } of positions) {
    if (sent < most && end < size) return false
    end = to
  }
  return end >= size
}

/** Text form for a database column: `to:sent`, or `to:sent+` if the stretch arrived. */
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

function sentOnce({ sent, arrived }: Omit<Stretch, 'to'>, to: bigint, hasArrived: boolean): Stretch {
  return { to, sent: sent + 1, arrived: arrived || hasArrived }
}

/** Sorts ascending and removes duplicates. */
function inOrder(cuts: readonly bigint[]): readonly bigint[] {
  return [...new Set(cuts)].sort((one, other) => (one < other ? -1 : 1))
}

function join(stretches: readonly Stretch[]): Stretch[] {
  return stretches.filter(({ sent, arrived }, index) => {
    const next = stretches[index + 1]
    if (!next) return sent > 0
    return next.sent !== sent || next.arrived !== arrived
  })
}

/** Rounds counts up, never down. */
function thin(stretches: Stretch[]): Positions {
  while (stretches.length > mostStretches) {
    const [last, before] = [stretches.pop(), stretches.pop()]
    if (!last || !before) break
    stretches.push({ to: last.to, sent: Math.max(last.sent, before.sent), arrived: last.arrived && before.arrived })
  }
  return stretches
}
