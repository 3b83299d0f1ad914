/** The options of conversion as they are used: what becomes what, from how much on, where, and with whose key. */
import { z } from 'zod'
import { isHttpUrl } from '../../core/encoding/http.ts'
import { formatNumber, parseUnits } from '../../core/money/money.ts'
import type { MintTable, Network, TokenCode } from '../../core/money/tokens.ts'
import { findDecimals, tokenCodes } from '../../core/money/tokens.ts'
import type { ConversionRules } from '../../core/payouts/conversion.ts'
import { usualConversionLimits, usualSolKept } from '../../core/payouts/conversion.ts'
import type { AccountKey } from './options.ts'
import type { RatesConfig } from './rates.ts'

export type VenueConfig =
  | { readonly kind: 'rfq'; readonly url: string }
  | { readonly kind: 'jupiter'; readonly url: string | undefined; readonly apiKey: string | undefined }

export interface ConversionConfig {
  readonly rules: ConversionRules
  /** Of the recipient. Without it somebody else has to convert. */
  readonly key: AccountKey | undefined
  readonly venue: VenueConfig | undefined
}

const amount = z.union([z.number(), z.string()], { error: 'must be a number or decimal text' }).optional()
const amounts = z.strictObject(
  { NATIVE: amount, USDC: amount, SOL: amount },
  { error: 'must be amounts by token, such as { SOL: 1 }' },
)
export const thresholdOption = amounts.optional()
export const reserveOption = amounts.optional()

const mostBps = 5_000
const bps = z
  .int({ error: 'must be a whole number of hundredths of a percent' })
  .min(0, { error: 'must be at least 0' })
  .max(mostBps, { error: `must be at most ${mostBps}` })
  .optional()
const limits = { slippageBps: bps, maxDeviationBps: bps }
const url = z.string().refine(isHttpUrl, { error: 'must be an http or https URL' })
const apiKey = z
  .string('must be printable characters without spaces')
  .regex(/^[\x21-\x7e]{1,1024}$/, 'must be printable characters without spaces')
export const venueOption = z
  .discriminatedUnion(
    'kind',
    [
      z.strictObject({ kind: z.literal('rfq'), url, ...limits }),
      z.strictObject({ kind: z.literal('jupiter'), url: url.optional(), apiKey: apiKey.optional(), ...limits }),
    ],
    { error: "must be { kind: 'rfq', url } or { kind: 'jupiter' }" },
  )
  .optional()

type Amounts = z.infer<typeof thresholdOption>

export interface ConversionRead {
  readonly network: Network
  readonly settlementToken?: TokenCode | undefined
  readonly autoConversion: boolean
  readonly conversionThreshold?: Amounts
  readonly conversionReserve?: Amounts
  readonly settlementKey?: AccountKey | undefined
  readonly venue?: z.infer<typeof venueOption>
}

/** Undefined where nothing is to be converted. */
export function readConversion(
  read: ConversionRead,
  {
    acceptedMints,
    mints,
    rates,
  }: { readonly acceptedMints: readonly TokenCode[]; readonly mints: MintTable; readonly rates: RatesConfig },
  problems: string[],
): ConversionConfig | undefined {
  const { network, settlementToken, settlementKey: key } = read
  const thresholds = readAmounts('conversionThreshold', read.conversionThreshold, mints, 1n, problems)
  const reserves = readAmounts('conversionReserve', read.conversionReserve, mints, 0n, problems)
  if (!read.autoConversion) return undefined
  if (settlementToken === undefined) {
    problems.push('autoConversion: needs settlementToken to say into what')
    return undefined
  }
  const tokens = acceptedMints.filter((token) => token !== settlementToken)
  if (tokens.length === 0) return undefined
  if (findDecimals(settlementToken, mints) === undefined)
    problems.push(
      `mints.${settlementToken}: ${settlementToken} has no mint on ${network}; give its address and decimals`,
    )
  const { slippageBps, maxDeviationBps } = read.venue ?? {}
  const rules: ConversionRules = {
    settlementToken,
    tokens,
    thresholds,
    keeps: { SOL: usualSolKept, ...reserves },
    slippageBps: slippageBps ?? usualConversionLimits.slippageBps,
    maxDeviationBps: maxDeviationBps ?? usualConversionLimits.maxDeviationBps,
  }
  if (key === undefined) return { rules, key, venue: undefined }
  // A price that somebody wrote down once says nothing about what a quote is worth today.
  if (network === 'mainnet' && rates.kind === 'fixed')
    problems.push("rates: converting needs a source that follows the market: 'pyth' or 'jupiter'")
  return { rules, key, venue: readVenue(read, problems) }
}

function readVenue({ network, venue }: ConversionRead, problems: string[]): VenueConfig | undefined {
  if (venue?.kind === 'rfq') return { kind: 'rfq', url: venue.url }
  if (network === 'mainnet' || venue?.url !== undefined)
    return { kind: 'jupiter', url: venue?.url, apiKey: venue?.apiKey }
  problems.push(
    venue
      ? `venue: Jupiter trades on mainnet only; on ${network} name a desk: { kind: 'rfq', url }`
      : `venue: ${network} needs a desk: { kind: 'rfq', url }; npx paystile desk runs one`,
  )
  return undefined
}

function readAmounts(
  option: string,
  given: Amounts,
  mints: MintTable,
  least: bigint,
  problems: string[],
): Readonly<Partial<Record<TokenCode, bigint>>> {
  const entries = tokenCodes.flatMap((token) => {
    const value = given?.[token]
    if (value === undefined) return []
    const decimals = findDecimals(token, mints)
    const text = typeof value === 'number' ? formatNumber(value) : value
    const units = text === undefined || decimals === undefined ? undefined : parseUnits(text, decimals)
    if (units !== undefined && units >= least) return [[token, units] as const]
    problems.push(
      decimals === undefined
        ? `${option}.${token}: ${token} has no mint here; leave it out, or give its mint`
        : `${option}.${token}: must be a number or decimal text ${least > 0n ? 'above zero' : 'of zero or more'}, with at most ${decimals} decimals`,
    )
    return []
  })
  return Object.freeze(Object.fromEntries(entries))
}
