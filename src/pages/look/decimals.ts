/** Exact arithmetic on decimal texts. Amounts can have any size and any number of places, and floats lose both. */
interface Exact {
  readonly units: bigint
  readonly places: number
}

function read(text: string): Exact | undefined {
  const match = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text)
  if (!match) return undefined
  const [, sign, whole, fraction = ''] = match
  const units = BigInt(`${whole}${fraction}`)
  return { units: sign === '-' ? -units : units, places: fraction.length }
}

function write({ units, places }: Exact): string {
  const digits = (units < 0n ? -units : units).toString().padStart(places + 1, '0')
  const whole = digits.slice(0, digits.length - places)
  const fraction = digits.slice(digits.length - places).replace(/0+$/, '')
  return `${units < 0n ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`
}

const widen = ({ units, places }: Exact, to: number): bigint => units * 10n ** BigInt(to - places)

/** Rounds half away from zero. */
function divide(units: bigint, by: bigint): bigint {
  const sign = units < 0n === by < 0n ? 1n : -1n
  const [over, under] = [units < 0n ? -units : units, by < 0n ? -by : by]
  return sign * ((2n * over + under) / (2n * under))
}

/** A text that is not a decimal, such as the empty text of an unknown amount, counts as zero. */
export function addDecimals(texts: readonly string[]): string {
  const all = texts.flatMap((text) => read(text) ?? [])
  const places = Math.max(0, ...all.map((one) => one.places))
  return write({ units: all.reduce((sum, one) => sum + widen(one, places), 0n), places })
}

export function subtractDecimal(text: string, other: string): string {
  return addDecimals([text, other.startsWith('-') ? other.slice(1) : `-${other}`])
}

/** Negative, zero or positive, as for `sort`. */
export function compareDecimals(one: string, other: string): number {
  const [left, right] = [read(one) ?? { units: 0n, places: 0 }, read(other) ?? { units: 0n, places: 0 }]
  const places = Math.max(left.places, right.places)
  const difference = widen(left, places) - widen(right, places)
  return difference < 0n ? -1 : difference > 0n ? 1 : 0
}

/** Undefined for a division by zero. */
export function divideDecimal(text: string, by: number, places = 9): string | undefined {
  const value = read(text)
  if (!value || by === 0) return undefined
  return write({
    units: divide(widen(value, Math.max(places, value.places)), BigInt(by)),
    places: Math.max(places, value.places),
  })
}

/** The same share of the amount as the part has of the whole. Undefined if the whole is zero. */
export function scaleDecimal(text: string, part: string, whole: string): string | undefined {
  const [value, over, under] = [read(text), read(part), read(whole)]
  if (!value || !over || !under || under.units === 0n) return undefined
  const [places, shared] = [Math.max(9, value.places), Math.max(over.places, under.places)]
  return write({ units: divide(widen(value, places) * widen(over, shared), widen(under, shared)), places })
}

export function roundDecimal(text: string, places: number): string {
  const value = read(text)
  if (!value || value.places <= places) return text
  return write({ units: divide(value.units, 10n ** BigInt(value.places - places)), places })
}

export function countPlaces(text: string): number {
  return read(text)?.places ?? 0
}

/** The part as a share of the whole, as a number for drawing; undefined if the whole is zero. */
export function computeRatio(part: string, whole: string): number | undefined {
  const [over, under] = [read(part), read(whole)]
  if (!over || !under || under.units === 0n) return undefined
  const places = Math.max(over.places, under.places)
  return Number(divide(widen(over, places) * 1_000_000n, widen(under, places))) / 1_000_000
}
