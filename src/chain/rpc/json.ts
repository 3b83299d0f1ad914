/** Parses JSON from the network. Each part is unknown until it is checked. */

/**
 * Parses JSON. Undefined for other text. An integer too long for a `number` becomes text of its digits: an account with
 * more than nine million SOL has such a balance, and it must not be rounded.
 */
export function parseJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    // The second parse is rare. It is safe only on valid JSON, because its pattern could take quadratic time on other
    // text.
    const isLong = /[[:,\s]\d{16}/.test(text.replaceAll(unread, ''))
    return isLong ? JSON.parse(text.replace(stringsAndNumbers, keepDigits)) : value
  } catch {
    return undefined
  }
}

/** In every account that pays no rent. Its value is never read. */
const unread = '"rentEpoch":18446744073709551615'

const stringsAndNumbers = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g

function keepDigits(token: string): string {
  return /^\d{16,}$/.test(token) ? `"${token}"` : token
}

const largest = 2n ** 64n - 1n

/** Reads an integer within the chain's 64 bits, as `parseJson` returns it. */
export function readU64(value: unknown): bigint | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value >= 0 ? BigInt(value) : undefined
  return typeof value === 'string' && value.length >= 16 ? readDigits(value) : undefined
}

/** Like `readU64`, for an integer in a JSON string. */
export function readDigits(value: unknown): bigint | undefined {
  if (typeof value !== 'string' || !/^\d{1,20}$/.test(value)) return undefined
  const number = BigInt(value)
  return number <= largest ? number : undefined
}

/** Reads a position, slot or time: an integer that a `number` holds exactly. */
export function readCount(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined
}

/** Reads all items. Undefined if one of them is unreadable. */
export function readList<T>(value: unknown, read: (item: unknown) => T | undefined): readonly T[] | undefined {
  if (!Array.isArray(value)) return undefined
  const items: T[] = []
  for (const entry of value) {
    const item = read(entry)
    if (item === undefined) return undefined
    items.push(item)
  }
  return items
}

/** Checks only the form of an address. The result is only compared with known addresses. */
export function readAddress(value: unknown): string | undefined {
  return typeof value === 'string' && /^[1-9A-HJ-NP-Za-km-z]{32,44}$/.test(value) ? value : undefined
}

export function describeError(error: unknown): string {
  if (error === undefined || error === null) return ''
  return (typeof error === 'string' ? error : JSON.stringify(error)).slice(0, 300)
}
