/** Reads what a provider says about prices: `price`, `per`, `size`, `prepay` and `free`. */
import { readPrice } from '../../core/money/price.ts'
import type { MintTable, Network, TokenCode } from '../../core/money/tokens.ts'
import { findDecimals } from '../../core/money/tokens.ts'
import type { Allowance } from '../../core/payment/allowance.ts'
import { isOneRequest, megabyte, mostBytesAhead, oneRequest } from '../../core/payment/allowance.ts'
import type { PricedRequest } from './binding.ts'
import type { Envelope } from './envelope.ts'

export interface PricingOptions {
  readonly price?: unknown
  readonly token: TokenCode
  readonly network: Network
  readonly per?: unknown
  readonly size?: unknown
  readonly prepay?: unknown
  readonly envelope: Envelope
}

const mostSeconds = 10 * 365 * 86_400
const mostRequests = 1_000_000_000
const leastPrepay = 0.001
const mostPrepay = Number(mostBytesAhead / megabyte)

export function readPricing(read: PricingOptions, mints: MintTable, problems: string[]): Pricing {
  const { token, network } = read
  const decimals = findDecimals(token, mints)
  if (decimals === undefined)
    problems.push(`mints.${token}: ${token} has no mint on ${network}; give its address and decimals`)
  const price = decimals === undefined ? 0n : readPriceOption(read.price, token, decimals, problems)
  const per = readPer(read, problems)
  checkTogether(read, price, per, problems)
  return { price, token, decimals: decimals ?? 0, per }
}

function readPriceOption(
  value: unknown,
  token: TokenCode,
  decimals: number,
  problems: string[],
): bigint | PriceFunction {
  if (typeof value === 'function') return value as PriceFunction
  const reading = readPrice(value, token, decimals)
  if (reading.kind === 'price') return reading.units
  problems.push(`price: ${reading.why}`)
  return 0n
}

function readPer({ per = 'request', size, prepay }: PricingOptions, problems: string[]): Per {
  if (per === 'megabyte') return { kind: 'bytes', ahead: readPrepay(prepay, problems), size: readSize(size, problems) }
  for (const [name, value] of Object.entries({ size, prepay }))
    if (value !== undefined) problems.push(`${name}: is for per: 'megabyte' only`)
  const once: Per = { kind: 'allowance', allowance: oneRequest }
  if (per === 'request') return once
  const [[unit, amount] = [], ...more] = typeof per === 'object' && per !== null ? Object.entries(per) : []
  const most = unit === 'seconds' ? mostSeconds : unit === 'requests' ? mostRequests : 0
  if (most === 0 || more.length > 0) {
    problems.push("per: must be 'request', 'megabyte', { seconds } or { requests }")
    return once
  }
  if (typeof amount !== 'number' || !Number.isInteger(amount) || amount < 1 || amount > most) {
    problems.push(`per.${unit}: must be a whole number from 1 to ${most}`)
    return once
  }
  return {
    kind: 'allowance',
    allowance: { unit: unit === 'seconds' ? 'second' : 'request', amount: BigInt(amount) },
  }
}

function readPrepay(value: unknown, problems: string[]): bigint {
  if (value === undefined) return megabyte
  if (typeof value === 'number' && value >= leastPrepay && value <= mostPrepay)
    return BigInt(Math.round(value * Number(megabyte)))
  problems.push(`prepay: must be a number of megabytes from ${leastPrepay} to ${mostPrepay}`)
  return megabyte
}

function readSize(value: unknown, problems: string[]): bigint | SizeFunction | undefined {
  if (value === undefined) return undefined
  if (typeof value === 'function') return value as SizeFunction
  if (typeof value === 'number' && Number.isSafeInteger(value) && value > 0) return BigInt(value)
  problems.push('size: must be a whole number of bytes above zero, or a function of the request')
  return undefined
}

/** What would sell something else than it says. */
function checkTogether({ envelope }: PricingOptions, price: Pricing['price'], per: Per, problems: string[]): void {
  const isWide = per.kind === 'bytes' ? per.size === undefined : !isOneRequest(per.allowance)
  if (typeof price === 'function' && isWide) {
    problems.push(
      "price: a function is for per: 'request', or for per: 'megabyte' with size; what is bought for several requests at " +
        'the price of a cheap one would open dear ones',
    )
  }
  if (per.kind === 'bytes' && envelope !== 'none')
    problems.push("envelope: cannot be put around what is sold by the megabyte; leave it 'none'")
}

const periods: Readonly<Record<string, number>> = { minute: 60, hour: 3_600, day: 86_400 }

export function readFree(value: unknown, problems: string[]): FreeQuota | undefined {
  if (value === undefined) return undefined
  const { requests, per, ...more } = (typeof value === 'object' && value !== null ? value : {}) as Record<
    string,
    unknown
  >
  const given = typeof per === 'object' && per !== null ? (per as Record<string, unknown>)['seconds'] : undefined
  const seconds = typeof per === 'string' ? periods[per] : given
  const isWhole = (number: unknown): number is number => Number.isSafeInteger(number) && Number(number) > 0
  for (const name of Object.keys(more)) problems.push(`free.${name}: is not an option; it has requests and per`)
  if (!isWhole(requests)) problems.push('free.requests: must be a whole number above zero')
  if (!isWhole(seconds) || seconds > mostSeconds)
    problems.push("free.per: must be 'minute', 'hour', 'day' or { seconds }")
  return isWhole(requests) && isWhole(seconds) ? { requests, seconds } : undefined
}

export interface FreeQuota {
  readonly requests: number
  readonly seconds: number
}

/** Tells the price of a request, in units of `token`. */
export type PriceFunction = (request: PricedRequest) => number | string | Promise<number | string>
/** Tells how many bytes a request would bring; undefined where nobody knows. */
export type SizeFunction = (request: PricedRequest) => number | undefined | Promise<number | undefined>

/** What the price is for. */
export type Per =
  | { readonly kind: 'allowance'; readonly allowance: Allowance }
  /** So many bytes ahead, or the size of what is asked for where that is known. */
  | { readonly kind: 'bytes'; readonly ahead: bigint; readonly size: bigint | SizeFunction | undefined }

export interface Pricing {
  /** In base units of `token`. */
  readonly price: bigint | PriceFunction
  readonly token: TokenCode
  readonly decimals: number
  readonly per: Per
}
