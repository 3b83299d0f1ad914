/**
 * Reads prices from the configuration, and computes the price of bytes. A price that cannot be charged exactly is
 * refused, never rounded.
 */
import { formatNumber, isExactNumber, maxUnits, parseUnits } from './money.ts'
import type { TokenCode } from './tokens.ts'

export type PriceReading =
  | { readonly kind: 'price'; readonly units: bigint }
  | { readonly kind: 'problem'; readonly why: string }

/** Reads a price in `token`: a number, or decimal text where a number is not precise enough. */
export function readPrice(value: unknown, token: TokenCode, decimals: number): PriceReading {
  if (typeof value !== 'number' && typeof value !== 'string') return problem('must be a number or decimal text')
  const text = typeof value === 'number' ? formatNumber(value) : value
  if (text === undefined || !/^-?\d+(\.\d+)?$/.test(text))
    return problem(`must be a plain decimal such as 0.01, not ${JSON.stringify(String(value))}`)
  if (text.startsWith('-') || /^0(\.0+)?$/.test(text)) return problem(`must be more than zero, not ${text}`)
  const units = parseUnits(text, decimals)
  if (units !== undefined && typeof value === 'number' && !isExactNumber(text))
    return problem(`${text} has more digits than a number keeps; write it as text, in quotes`)
  if (units !== undefined) return { kind: 'price', units }
  if ((text.split('.')[1]?.length ?? 0) > decimals)
    return problem(`${text} has more decimals than ${token} (${decimals}); round it`)
  return problem(`${text} is not a price that ${token} can express (at most ${maxUnits} base units)`)
}

export const megabyte = 1_000_000n

/** Computes the price of a number of bytes at a price per megabyte, rounded up by less than one base unit. */
export function computePriceOfBytes(perMegabyte: bigint, bytes: bigint): bigint {
  return (perMegabyte * bytes + megabyte - 1n) / megabyte
}

function problem(why: string): PriceReading {
  return { kind: 'problem', why }
}
