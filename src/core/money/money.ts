/**
 * Decimal text and base units. Money is a bigint of base units beside its token; a float never holds it.
 */
export const maxUnits = 2n ** 64n - 1n

export function smaller(one: bigint, other: bigint): bigint {
  return one < other ? one : other
}

/** Reads plain decimal text with at most `decimals` places. Undefined for anything else, and beyond 64 bits. */
export function parseUnits(text: string, decimals: number): bigint | undefined {
  const units = parseDecimal(text, decimals)
  return units !== undefined && units <= maxUnits ? units : undefined
}

/** The same without the limit of 64 bits, for numbers that are not amounts. */
export function parseDecimal(text: string, decimals: number): bigint | undefined {
  const match = /^(0|[1-9]\d{0,18})(?:\.(\d+))?$/.exec(text)
  if (!match) return undefined
  const fraction = match[2] ?? ''
  if (fraction.length > decimals) return undefined
  return BigInt(`${match[1]}${fraction.padEnd(decimals, '0')}`)
}

/** Plain decimal text: no exponent, no trailing zeros. */
export function formatUnits(units: bigint, decimals: number): string {
  if (units < 0n) return `-${formatUnits(-units, decimals)}`
  if (decimals === 0) return units.toString()
  const digits = units.toString().padStart(decimals + 1, '0')
  const fraction = digits.slice(-decimals).replace(/0+$/, '')
  return fraction === '' ? digits.slice(0, -decimals) : `${digits.slice(0, -decimals)}.${fraction}`
}

/**
 * The shortest decimal that names this number: 1e-7 becomes 0.0000001.
 *
 * What a person wrote as 0.07 is 0.07 again, where arithmetic on the float would give 7.000000000000001 cents.
 */
export function formatNumber(value: number): string | undefined {
  if (!Number.isFinite(value)) return undefined
  const [mantissa = '', exponent] = String(value).split('e')
  if (exponent === undefined) return mantissa
  const sign = mantissa.startsWith('-') ? '-' : ''
  const [whole = '', fraction = ''] = mantissa.replace('-', '').split('.')
  const point = whole.length + Number(exponent)
  const digits = `${whole}${fraction}`
  if (point <= 0) return `${sign}0.${'0'.repeat(-point)}${digits}`
  if (point >= digits.length) return `${sign}${digits}${'0'.repeat(point - digits.length)}`
  return `${sign}${digits.slice(0, point)}.${digits.slice(point)}`
}
