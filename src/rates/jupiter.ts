/**
 * Rates from Jupiter's price service (v3): the dollar price of the last swaps of a mint.
 *
 * The service gives neither a confidence nor a time, so a reading is as old as the question. A mint that is not traded
 * is missing from the response.
 */
import { type Fields, isFields } from '../core/encoding/fields.ts'
import { formatNumber, parseDecimal } from '../core/money/money.ts'
import { listRated, type RateReading, type RateRefusal, type RateSource } from '../core/money/rate-feed.ts'
import { type MintTable, solDecimals, type TokenCode, wrappedSol } from '../core/money/tokens.ts'
import type { Get } from '../core/runtime.ts'
import { askObject, type Decimal, readWorth } from './http-source.ts'

export interface JupiterParts {
  readonly get: Get
  readonly url: string
  readonly apiKey?: string | undefined
  /** Must include USDC. */
  readonly mints: MintTable
}

export const jupiterUrl = 'https://api.jup.ag/price/v3'

/** Jupiter lists SOL under the mint of wrapped SOL. */
const solMint = { address: wrappedSol, decimals: solDecimals }

type PricedMint = Pick<typeof solMint, 'address' | 'decimals'>

/** Asks Jupiter for the prices of SOL, USDC and the other tokens that have a mint. */
export function createJupiterSource({ get, url, apiKey, mints }: JupiterParts): RateSource {
  const dollar = mints.USDC
  if (dollar === undefined) throw new Error('Jupiter needs the mint of USDC; set mints.USDC')
  const rated = listRated(mints).flatMap((token): (readonly [TokenCode, PricedMint])[] => {
    const mint = token === 'SOL' ? solMint : mints[token]
    return mint ? [[token, mint]] : []
  })
  const ids = [dollar, ...rated.map(([, mint]) => mint)].map((mint) => mint.address)
  const address = createUrl(url, ids)
  const headers = apiKey === undefined ? {} : { 'x-api-key': apiKey }
  return {
    async read({ signal }) {
      const answer = await askObject({ get, url: address, headers, signal })
      const one = readPrice(answer, dollar)
      return rated.map(([token, mint]): RateReading | RateRefusal => {
        if (typeof one === 'string') return { token, why: `the price of USDC: ${one}` }
        const price = readPrice(answer, mint)
        return typeof price === 'string' ? { token, why: price } : { token, rate: readWorth(price, one) }
      })
    },
  }
}

function createUrl(base: string, ids: readonly string[]): string {
  const url = new URL(base)
  url.searchParams.set('ids', ids.join(','))
  return url.href
}

/** Sufficient for the shortest decimal of any price that a float can hold and a token can have. */
const priceDecimals = 40

/** The price of one mint in dollars, or the reason why it is not usable. */
function readPrice(answer: Fields, mint: PricedMint): Decimal | string {
  const entry = answer[mint.address]
  if (entry === undefined || entry === null) return 'the source has no price for the mint'
  if (!isFields(entry)) return 'the source returned an unreadable price'
  if (entry['decimals'] !== mint.decimals) return 'the source reports other decimals for the mint than configured'
  const price = entry['usdPrice']
  const text = typeof price === 'number' ? formatNumber(price) : undefined
  const units = text === undefined ? undefined : parseDecimal(text, priceDecimals)
  if (units === undefined || units <= 0n) return 'the source returned an impossible price'
  return { units, exponent: -priceDecimals }
}
