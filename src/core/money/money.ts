/**
 * Converts between decimal text and base units. Money is a bigint of base units beside its token, never a float.
 */
export const maxUnits = 2n ** 64n - 1n

export function smaller(one: bigint, other: bigint): bigint {
  return one < other ? one : other
}

/** Reads plain decimal text with at most `decimals` places. Undefined for other text and above 64 bits. */
export function parseUnits(text: string, decimals: number): bigint | undefined {
  const units = parseDecimal(text, decimals)
  return units !== undefined && units <= maxUnits ? units : undefined
}

/** Like `parseUnits` without the 64-bit limit, for numbers that are not amounts. */
export function parseDecimal(text: string, decimals: number): bigint | undefined {
  const match = /^(0|[1-9]\d{0,18})(?:\.(\d+))?$/.exec(text)
  if (!match) return undefined
  const fraction = match[2] ?? ''
  if (fraction.length > decimals) return undefined
  return BigInt(`${match[1]}${fraction.padEnd(decimals, '0')}`)
}

/** Writes plain decimal text without an exponent or trailing zeros. */
export function formatUnits(units: bigint, decimals: number): string {
  if (units < 0n) return `-${formatUnits(-units, decimals)}`
  if (decimals === 0) return units.toString()
  const digits = units.toString().padStart(decimals + 1, '0')
  const fraction = digits.slice(-decimals).replace(/0+$/, '')
  return fraction === '' ? digits.slice(0, -decimals) : `${digits.slice(0, -decimals)}.${fraction}`
}

/**
 * Writes the shortest decimal that names this number: 1e-7 becomes 0.0000001.
 *
 * A configured 0.07 stays 0.07. Arithmetic on the float would give 7.000000000000001 cents.
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

/** The number of decimal digits that a float preserves. */
const exactDigits = 15

/** Whether the decimal text of a number is the one that was written. */
export function isExactNumber(text: string): boolean {
  return text.replace('.', '').replace(/^0+/, '').length <= exactDigits
}

/** Latin digits in every language, so that whole and fraction match. */
const plainDigits = { numberingSystem: 'latn' } as const

/**
 * Writes plain decimal text as people of a language do: 1234.5 becomes 1,234.5 or 1.234,5. All digits are kept, and none
 * passes through a float. Other text stays as it is.
 */
export function formatDecimal(decimal: string, locale: string, leastPlaces = 0): string {
  const [, sign, whole, fraction = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(decimal) ?? []
  if (whole === undefined) return decimal
  const digits = fraction.padEnd(leastPlaces, '0')
  if (last?.locale !== locale) last = createFormat(locale)
  const grouped = last.whole.format(BigInt(whole))
  return `${sign === '-' ? '\u2212' : ''}${grouped}${digits === '' ? '' : `${last.point}${digits}`}`
}

/** The format of the last locale: to create it costs far more than to use it. */
let last: ReturnType<typeof createFormat> | undefined

function createFormat(locale: string) {
  const parts = new Intl.NumberFormat(locale, { ...plainDigits, minimumFractionDigits: 1 }).formatToParts(0)
  const point = parts.find(({ type }) => type === 'decimal')?.value ?? '.'
  return { locale, whole: new Intl.NumberFormat(locale, plainDigits), point }
}
