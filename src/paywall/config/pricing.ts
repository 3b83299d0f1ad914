/** The options of prices: `price`, `per`, `size`, `prepay` and `free`. */
import { z } from 'zod'
import { megabyte, readPrice } from '../../core/money/price.ts'
import { findDecimals, isKnownCode, type MintTable, type Network, type TokenCode } from '../../core/money/tokens.ts'
import { type Allowance, isOneRequest, mostBytesAhead, oneRequest } from '../../core/payment/allowance.ts'
import type { Envelope } from '../../core/payment/envelope.ts'
import type { Bind, PricedRequest } from './binding.ts'
import { callback, whole } from './kinds.ts'

/** Returns the price of a request, in units of `token`. */
export type PriceFunction = (request: PricedRequest) => number | string | Promise<number | string>
/** Returns the length of a response in bytes, or undefined if it is unknown. */
export type SizeFunction = (request: PricedRequest) => number | undefined | Promise<number | undefined>

const periods = { minute: 60, hour: 3_600, day: 86_400 } as const
const periodNames = Object.keys(periods) as (keyof typeof periods)[]
const mostSeconds = 10 * 365 * 86_400
const mostRequests = 1_000_000_000
const leastPrepay = 0.001
const mostPrepay = Number(mostBytesAhead / megabyte)
const notPrepay = `must be a number of megabytes from ${leastPrepay} to ${mostPrepay}`
const notSize = 'must be a whole number of bytes above zero, or a function of the request'

export const priceOption = z.union([z.number(), z.string(), callback<PriceFunction>()], {
  error: 'must be a number or decimal text',
})
const windowOption = z.strictObject({ seconds: whole(1, mostSeconds) })
export const perOption = z.union(
  [z.enum(['request', 'megabyte', ...periodNames]), windowOption, z.strictObject({ requests: whole(1, mostRequests) })],
  { error: "must be 'request', 'megabyte', 'minute', 'hour', 'day', { seconds } or { requests }" },
)
export const sizeOption = z.union([z.int({ error: notSize }).min(1, { error: notSize }), callback<SizeFunction>()], {
  error: notSize,
})
export const prepayOption = z
  .number({ error: notPrepay })
  .min(leastPrepay, { error: notPrepay })
  .max(mostPrepay, { error: notPrepay })
export const freeOption = z.strictObject(
  {
    requests: whole(1, Number.MAX_SAFE_INTEGER),
    per: z.union([z.enum(periodNames), windowOption], { error: "must be 'minute', 'hour', 'day' or { seconds }" }),
  },
  { error: "must be { requests, per }, such as { requests: 10, per: 'day' }" },
)

export const reopenOption = z.strictObject(
  { minutes: whole(1, 1_440) },
  { error: 'must be { minutes }, such as { minutes: 10 }' },
)

interface PricingRead {
  readonly price: z.output<typeof priceOption>
  readonly token: TokenCode
  readonly network: Network
  readonly per?: z.output<typeof perOption> | undefined
  readonly size?: z.output<typeof sizeOption> | undefined
  readonly prepay?: z.output<typeof prepayOption> | undefined
  readonly envelope: Envelope
}

export function readPricing(read: PricingRead, mints: MintTable, problems: string[]): Pricing {
  const { token, network } = read
  const decimals = findDecimals(token, mints)
  if (decimals === undefined && isKnownCode(token))
    problems.push(`mints.${token}: ${token} has no mint on ${network}; give its address and decimals`)
  const price = decimals === undefined ? 0n : readPriceOption(read.price, token, decimals, problems)
  const per = readPer(read, problems)
  checkTogether(read, price, per, problems)
  return { price, token, decimals: decimals ?? 0, per }
}

function readPriceOption(value: PricingRead['price'], token: TokenCode, decimals: number, problems: string[]) {
  if (typeof value === 'function') return value
  const reading = readPrice(value, token, decimals)
  if (reading.kind === 'price') return reading.units
  problems.push(`price: ${reading.why}`)
  return 0n
}

function readPer({ per = 'request', size, prepay }: PricingRead, problems: string[]): Per {
  if (per === 'megabyte') {
    const ahead = BigInt(Math.round((prepay ?? 1) * Number(megabyte)))
    return { kind: 'bytes', ahead, size: typeof size === 'number' ? BigInt(size) : size }
  }
  for (const [name, value] of Object.entries({ size, prepay }))
    if (value !== undefined) problems.push(`${name}: works only with per: 'megabyte'`)
  return { kind: 'allowance', allowance: readAllowance(per) }
}

function readAllowance(per: Exclude<PricingRead['per'], 'megabyte' | undefined>): Allowance {
  if (per === 'request') return oneRequest
  if (typeof per === 'object' && 'requests' in per) return { unit: 'request', amount: BigInt(per.requests) }
  return { unit: 'second', amount: BigInt(readPeriod(per)) }
}

function readPeriod(period: z.output<typeof freeOption>['per']): number {
  return typeof period === 'string' ? periods[period] : period.seconds
}

/** Checks combinations that would sell something other than described. */
function checkTogether({ envelope }: PricingRead, price: Pricing['price'], per: Per, problems: string[]): void {
  const isWide = per.kind === 'bytes' ? per.size === undefined : !isOneRequest(per.allowance)
  if (typeof price === 'function' && isWide) {
    problems.push(
      "price: a function works with per: 'request', or with per: 'megabyte' and size; otherwise an allowance bought at " +
        'the price of a cheap request would also pay for expensive ones',
    )
  }
  if (per.kind === 'bytes' && envelope !== 'none')
    problems.push("envelope: does not work with per: 'megabyte'; set it to 'none'")
}

/** The window of a purchase in a browser, or undefined. It must open only the resource that was paid for. */
export function readReopen(
  reopen: z.output<typeof reopenOption> | undefined,
  { per }: Pricing,
  bind: Bind,
  problems: string[],
): Allowance | undefined {
  if (!reopen) return undefined
  if (per.kind !== 'allowance' || !isOneRequest(per.allowance)) problems.push("reopen: works only with per: 'request'")
  // A window is bound to method, path and query. Other parts could change the resource within it.
  if (typeof bind === 'object') problems.push("reopen: works only with bind: 'request' or 'path'")
  return { unit: 'second', amount: BigInt(reopen.minutes * periods.minute) }
}

export function readFree(free: z.output<typeof freeOption> | undefined): FreeQuota | undefined {
  return free && { requests: free.requests, seconds: readPeriod(free.per) }
}

export interface FreeQuota {
  readonly requests: number
  readonly seconds: number
}

/** The unit of the price. */
export type Per =
  | { readonly kind: 'allowance'; readonly allowance: Allowance }
  /** A number of bytes in advance, or the size of the resource if it is known. */
  | { readonly kind: 'bytes'; readonly ahead: bigint; readonly size: bigint | SizeFunction | undefined }

export interface Pricing {
  /** In base units of `token`. */
  readonly price: bigint | PriceFunction
  readonly token: TokenCode
  readonly decimals: number
  readonly per: Per
}
