/** `Range` and `Content-Range` for one span of bytes (RFC 9110, 14). */

/**
 * Reads the span that a `Range` header requests out of `size` bytes. Undefined for none, several, or a malformed one.
 */
export function parseRange(header: string | undefined, size: bigint): ByteSpan | undefined {
  const [, first = '', last = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? '') ?? []
  if (first === '') {
    const length = last === '' ? 0n : BigInt(last)
    return length === 0n ? undefined : { from: length < size ? size - length : 0n, to: size }
  }
  const from = BigInt(first)
  const to = last === '' ? size : BigInt(last) + 1n
  return to > from ? { from, to: to < size ? to : size } : undefined
}

export interface ContentRange {
  readonly from: bigint
  readonly to: bigint
  /** Undefined if the server does not know it. */
  readonly size: bigint | undefined
}

export function parseContentRange(header: string | undefined): ContentRange | undefined {
  const match = /^bytes (\d{1,15})-(\d{1,15})\/(\d{1,15}|\*)$/.exec(header ?? '')
  if (!match) return undefined
  const [from, to] = [BigInt(match[1] ?? 0), BigInt(match[2] ?? 0) + 1n]
  const size = match[3] === '*' ? undefined : BigInt(match[3] ?? 0)
  return from < to && (size === undefined || to <= size) ? { from, to, size } : undefined
}

export function formatContentRange({ from, to, size }: ContentRange): string {
  return `bytes ${from}-${to - 1n}/${size ?? '*'}`
}

/** Byte positions. `to` is exclusive. */
export interface ByteSpan {
  readonly from: bigint
  readonly to: bigint
}
