/** The price of a request and the allowance that it buys: fixed, or dependent on the request. */
import { maxUnits } from '../../core/money/money.ts'
import { computePriceOfBytes, readPrice } from '../../core/money/price.ts'
import type { TokenCode } from '../../core/money/tokens.ts'
import type { Allowance } from '../../core/payment/allowance.ts'
import type { Accept } from '../../core/protocol/proof.ts'
import type { PricedRequest } from '../config/binding.ts'
import type { Pricing } from '../config/pricing.ts'
import { within } from '../runtime/within.ts'

/** A price in base units, and its allowance. */
export interface QuotedPrice {
  readonly price: bigint
  readonly allowance: Allowance
}

export interface RoutePricing {
  /** The deal if neither price nor size is a function; otherwise undefined. */
  readonly fixedDeal: ((accept: Accept) => QuotedPrice) | undefined
  /**
   * The deal from the provider's functions. Rejects for an invalid price or size. That is an error of the provider, and
   * the message is for the log.
   */
  askDeal(accept: Accept, request: PricedRequest): Promise<QuotedPrice>
}

export function createRoutePricing(pricing: Pricing): RoutePricing {
  return { fixedDeal: fixedDealOf(pricing), askDeal: (accept, request) => askedDeal(pricing, accept, request) }
}

function fixedDealOf({ price, per }: Pricing): RoutePricing['fixedDeal'] {
  if (typeof price === 'function') return undefined
  if (per.kind === 'bytes') {
    const { size, ahead } = per
    return typeof size === 'function' ? undefined : (accept) => bytesDeal(price, size, ahead, accept)
  }
  // One object for all requests, so that its prepared offer is found again.
  const deal = { price, allowance: per.allowance }
  return () => deal
}

/** Time limit of a provider's function, because a customer waits for it. */
const longestMs = 10_000

function inTime<Result>(work: Result | Promise<Result>): Promise<Result> {
  return within(longestMs, work, () => {
    throw new RangeError('price or size: the function took longer than ten seconds')
  })
}

async function askedDeal(pricing: Pricing, accept: Accept, request: PricedRequest): Promise<QuotedPrice> {
  const { price, per, token, decimals } = pricing
  const units = typeof price === 'bigint' ? price : unitsOf(await inTime(price(request)), token, decimals)
  if (per.kind === 'allowance') return { price: units, allowance: per.allowance }
  const size = typeof per.size === 'function' ? sizeOf(await inTime(per.size(request))) : per.size
  return bytesDeal(units, size, per.ahead, accept)
}

function bytesDeal(perMegabyte: bigint, size: bigint | undefined, ahead: bigint, accept: Accept): QuotedPrice {
  const allowance: Allowance =
    size === undefined ? { unit: 'byte', amount: accept.bytes ?? ahead } : { unit: 'file', amount: size }
  const price = computePriceOfBytes(perMegabyte, allowance.amount)
  if (price > maxUnits) throw new RangeError(`${allowance.amount} bytes cost more than any token can express`)
  return { price, allowance }
}

/** The digits of a number that survive arithmetic: 0.05 + 0.002 is 0.052, and not 0.052000000000000005. */
const trueDigits = 14

function unitsOf(value: unknown, token: TokenCode, decimals: number): bigint {
  const price = typeof value === 'number' ? Number(value.toPrecision(trueDigits)) : value
  const reading = readPrice(price, token, decimals)
  if (reading.kind === 'price') return reading.units
  throw new TypeError(`price: the function's result ${reading.why}`)
}

function sizeOf(value: unknown): bigint | undefined {
  if (value === undefined) return undefined
  // An empty body costs as much as one byte, because a priced resource is never free.
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return BigInt(Math.max(1, value))
  throw new TypeError('size: the function must return a whole number of bytes, or undefined')
}
