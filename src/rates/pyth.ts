/**
 * Rates from Pyth, through Hermes.
 *
 * Pyth reports prices in dollars, each with a confidence interval, a moving average and a time in seconds. The rate of
 * a token is its price divided by that of USDC.
 */
import { isFields } from '../core/encoding/fields.ts'
import type { FeedIds, RateReading, RateRefusal, RateSource } from '../core/money/rate-feed.ts'
import type { TokenCode } from '../core/money/tokens.ts'
import type { Get } from '../core/runtime.ts'
import { askObject, type Decimal, readWorth } from './http-source.ts'

export interface PythParts {
  readonly get: Get
  readonly url: string
  readonly apiKey?: string | undefined
  /** 64 hex digits each, with or without 0x. Only SOL and USDC have a default feed. */
  readonly feeds?: FeedIds | undefined
}

export const pythUrl = 'https://pyth.dourolabs.app/hermes'

const usualFeeds = {
  SOL: 'ef0d8b6fda2ceba41da15d4095d1da392a0d2f8ed0c6c7bc0f4cfac8c280b56d',
  USDC: 'eaa020c61cc479712813461ce153894a96a6c00b21ed0cfc2798d1f9a9e9c94a',
}

/** Asks Hermes for the latest prices of SOL, USDC and the other tokens with a configured feed. */
export function createPythSource({ get, url, apiKey, feeds }: PythParts): RateSource {
  const ids: FeedIds = mapFeeds({ ...usualFeeds, ...feeds })
  const { USDC: dollar = '', ...others } = ids
  const sorted = Object.entries(others).sort(([one], [other]) => (one < other ? -1 : 1))
  const address = createUrl(url, [...new Set(Object.values(ids))])
  const headers = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }
  return {
    async read({ signal }) {
      const { parsed } = await askObject({ get, url: address, headers, signal })
      if (!Array.isArray(parsed)) throw new Error('the source returned no prices')
      const one = readFeed(parsed, dollar)
      return sorted.map(([token, id]): RateReading | RateRefusal =>
        typeof one === 'string'
          ? { token, why: `the price of USDC: ${one}` }
          : compare(token, readFeed(parsed, id), one),
      )
    },
  }
}

function compare(token: TokenCode, price: FeedPrice | string, one: FeedPrice): RateReading | RateRefusal {
  if (typeof price === 'string') return { token, why: price }
  return {
    token,
    rate: readWorth(price.price, one.price),
    average: readWorth(price.average, one.average),
    at: Math.min(price.at, one.at),
  }
}

function mapFeeds(feeds: FeedIds): FeedIds {
  return Object.fromEntries(Object.entries(feeds).map(([token, id]) => [token, plainId(id)]))
}

function plainId(id: string): string {
  return id.toLowerCase().replace(/^0x/, '')
}

function createUrl(base: string, ids: readonly string[]): string {
  const url = new URL(base)
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/v2/updates/price/latest`
  for (const id of ids) url.searchParams.append('ids[]', id)
  url.searchParams.set('parsed', 'true')
  // Otherwise one feed that does not exist would fail the whole request.
  url.searchParams.set('ignore_invalid_price_ids', 'true')
  return url.href
}

interface FeedPrice {
  readonly price: Decimal
  readonly average: Decimal
  /** Milliseconds since 1970. */
  readonly at: number
}

/** The price of one feed, or the reason why it is not usable. */
function readFeed(parsed: readonly unknown[], id: string): FeedPrice | string {
  const [entry, ...more] = parsed.filter(
    (one) => isFields(one) && typeof one['id'] === 'string' && plainId(one['id']) === id,
  )
  if (!isFields(entry)) return 'the source returned no price for the feed'
  if (more.length > 0) return 'the source returned two prices for the feed'
  const price = readPrice(entry['price'])
  const average = readPrice(entry['ema_price'])
  if (price === undefined || average === undefined) return 'the source returned an unreadable price'
  if (price.units <= 0n || average.units <= 0n) return 'the source returned a price of zero or less'
  if (price.confidence * 100n > price.units * mostDoubtPercent) return "the source's confidence interval is too wide"
  return { price, average, at: price.at }
}

const mostDoubtPercent = 2n
/** Feeds have exponents around -8. An extreme exponent would produce a number with too many digits. */
const leastExponent = -18

function readPrice(value: unknown): (Decimal & { readonly confidence: bigint; readonly at: number }) | undefined {
  if (!isFields(value)) return undefined
  const { price, conf, expo, publish_time: time } = value
  if (typeof price !== 'string' || !/^-?\d{1,19}$/.test(price)) return undefined
  if (typeof conf !== 'string' || !/^\d{1,20}$/.test(conf)) return undefined
  if (typeof expo !== 'number' || !Number.isInteger(expo) || expo < leastExponent || expo > 0) return undefined
  // The time is in seconds. Milliseconds would be in the year 50000.
  if (typeof time !== 'number' || !Number.isInteger(time) || time <= 0 || time > 1e11) return undefined
  return { units: BigInt(price), confidence: BigInt(conf), exponent: expo, at: time * 1000 }
}
