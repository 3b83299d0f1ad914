/** The options of conversion: the tokens, thresholds, venue and key. */
import { z } from 'zod'
import { formatNumber, parseUnits } from '../../core/money/money.ts'
import {
  type ByToken,
  findDecimals,
  isKnownCode,
  listTokens,
  type MintTable,
  type Network,
  type TokenCode,
} from '../../core/money/tokens.ts'
import { type ConversionRules, usualConversionLimits, usualSolKept } from '../../core/payouts/conversion.ts'
import { type AccountKey, apiKey, decimal, url } from './kinds.ts'
import { checkCode } from './mints.ts'
import type { RatesConfig } from './rates.ts'

export type VenueConfig =
  | { readonly kind: 'rfq'; readonly url: string }
  | { readonly kind: 'jupiter'; readonly url: string | undefined; readonly apiKey: string | undefined }

export interface ConversionConfig {
  readonly rules: ConversionRules
  /** The recipient's key. Without it another process must convert. */
  readonly key: AccountKey | undefined
  readonly venue: VenueConfig | undefined
}

export const amountsOption = z.record(z.string(), decimal, { error: 'must be amounts by token, such as { SOL: 1 }' })

const mostBps = 5_000
const bps = z
  .int({ error: 'must be a whole number of hundredths of a percent' })
  .min(0, { error: 'must be at least 0' })
  .max(mostBps, { error: `must be at most ${mostBps}` })
const limits = {
  /** The accepted shortfall against the quote, in hundredths of a percent. Default 50. */
  slippageBps: bps.optional(),
  /** The accepted deviation of a quote from the rate source, in hundredths of a percent. Default 200. */
  maxDeviationBps: bps.optional(),
}
export const venueOption = z.discriminatedUnion(
  'kind',
  [
    z.strictObject({ kind: z.literal('rfq'), url, ...limits }),
    z.strictObject({ kind: z.literal('jupiter'), url: url.optional(), apiKey: apiKey.optional(), ...limits }),
  ],
  { error: "must be { kind: 'rfq', url } or { kind: 'jupiter' }" },
)

type Amounts = z.output<typeof amountsOption> | undefined

export interface ConversionRead {
  readonly network: Network
  readonly settlementToken?: TokenCode | undefined
  readonly autoConversion: boolean
  readonly conversionThreshold?: Amounts
  readonly conversionReserve?: Amounts
  readonly settlementKey?: AccountKey | undefined
  readonly venue?: z.output<typeof venueOption> | undefined
}

/** Undefined without conversion. */
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
    problems.push('autoConversion: needs settlementToken')
    return undefined
  }
  const tokens = acceptedMints.filter((token) => token !== settlementToken)
  if (tokens.length === 0) return undefined
  if (findDecimals(settlementToken, mints) === undefined && isKnownCode(settlementToken))
    problems.push(
      `mints.${settlementToken}: ${settlementToken} has no mint on ${network}; give its address and decimals`,
    )
  // Only accepted tokens are compared with the chain. Wrong decimals would spoil every price.
  if (!isKnownCode(settlementToken) && mints[settlementToken] && !acceptedMints.includes(settlementToken))
    problems.push(`settlementToken: add ${settlementToken} to acceptedMints, so that its mint is checked on chain`)
  for (const token of [settlementToken, ...tokens])
    if (!isKnownCode(token) && mints[token] && !hasRateSource(rates, token))
      problems.push(`rates.${token}: conversion of ${token} needs its rate`)
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
  // A fixed rate says nothing about the current market price.
  if (network === 'mainnet' && rates.kind === 'fixed')
    problems.push("rates: conversion needs a source of market rates: 'pyth' or 'jupiter'")
  return { rules, key, venue: readVenue(read, problems) }
}

/** Whether the configuration names a source for the rate of a token. */
function hasRateSource(rates: RatesConfig, token: TokenCode): boolean {
  if (rates.kind === 'fixed') return rates.table[token] !== undefined
  return rates.kind !== 'pyth' || rates.feeds[token] !== undefined
}

function readVenue({ network, venue }: ConversionRead, problems: string[]): VenueConfig | undefined {
  if (venue?.kind === 'rfq') return { kind: 'rfq', url: venue.url }
  if (network === 'mainnet' || venue?.url !== undefined)
    return { kind: 'jupiter', url: venue?.url, apiKey: venue?.apiKey }
  problems.push(
    venue
      ? `venue: Jupiter trades on mainnet only; on ${network} configure a desk: { kind: 'rfq', url }`
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
): ByToken<bigint> {
  const entries = Object.entries(given ?? {}).flatMap(([token, value]) => {
    if (!listTokens(mints).includes(token)) {
      checkCode(`${option}.${token}`, token, mints, problems)
      return []
    }
    const decimals = findDecimals(token, mints)
    const text = typeof value === 'number' ? formatNumber(value) : value
    const units = text === undefined || decimals === undefined ? undefined : parseUnits(text, decimals)
    if (units !== undefined && units >= least) return [[token, units] as const]
    problems.push(
      decimals === undefined
        ? `${option}.${token}: ${token} has no mint here; remove it, or set its mint`
        : `${option}.${token}: must be a number or decimal text ${least > 0n ? 'above zero' : 'of zero or more'}, with at most ${decimals} decimals`,
    )
    return []
  })
  return Object.freeze(Object.fromEntries(entries))
}
