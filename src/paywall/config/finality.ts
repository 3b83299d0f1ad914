/** From which price, and beyond which exposure, a payment must be final before it is accepted. */
import { readPrice } from '../../core/money/price.ts'
import type { Amount, RateTable } from '../../core/money/rates.ts'
import { convertAll } from '../../core/money/rates.ts'
import type { Amounts, MintTable, TokenCode } from '../../core/money/tokens.ts'
import { findDecimals, tokenCodes } from '../../core/money/tokens.ts'

/** What is asked of a payment before it is accepted. */
export interface FinalityRule {
  /** From these amounts on a payment must be final; in a token that is not here, always. */
  readonly finalizedFrom: Amounts
  readonly risk: RiskLimit
}

export function mustBeFinal({ finalizedFrom }: FinalityRule, token: TokenCode, units: bigint): boolean {
  const from = finalizedFrom[token]
  return from === undefined || units >= from
}

export interface FinalityOptions {
  readonly token: TokenCode
  readonly finalizedFrom?: unknown
  readonly maxUnfinalized?: unknown
}

const oneDollar: Amount = { token: 'USDC', units: 1_000_000n, decimals: 6 }

/** The rule at the rates of the moment. */
export type FinalityAt = (rates: RateTable) => FinalityRule

/** In all tokens, because a quote in one that is no longer accepted may still be paid. */
export function readFinality(read: FinalityOptions, mints: MintTable, problems: string[]): FinalityAt {
  const decimals = findDecimals(read.token, mints) ?? 0
  const limitOf = (option: string, value: unknown): Amount | undefined => {
    if (value === undefined) return undefined
    const units = isNothing(value) ? 0n : readLimit(option, value, read.token, decimals, problems)
    return { token: read.token, units, decimals }
  }
  const { maxUnfinalized } = read
  const isSplit = typeof maxUnfinalized === 'object' && maxUnfinalized !== null
  const split = (isSplit ? maxUnfinalized : { recipient: maxUnfinalized }) as Record<string, unknown>
  for (const key of Object.keys(split))
    if (key !== 'recipient' && key !== 'payer') problems.push(`maxUnfinalized.${key}: is not an option`)
  const from = limitOf('finalizedFrom', read.finalizedFrom) ?? oneDollar
  const recipient = limitOf('maxUnfinalized', split['recipient'])
  const payer = limitOf('maxUnfinalized.payer', split['payer'])
  let known: { readonly rates: RateTable; readonly rule: FinalityRule } | undefined
  return (rates) => {
    if (known?.rates === rates) return known.rule
    const worth = (limit: Amount): Amounts => convertAll(limit, tokenCodes, mints, rates)
    const risk = { recipient: recipient && worth(recipient), payer: payer && worth(payer) }
    known = { rates, rule: { finalizedFrom: worth(from), risk } }
    return known.rule
  }
}

function readLimit(option: string, value: unknown, token: TokenCode, decimals: number, problems: string[]): bigint {
  const limit = readPrice(value, token, decimals)
  if (limit.kind === 'price') return limit.units
  problems.push(`${option}: ${limit.why}`)
  return 0n
}

function isNothing(value: unknown): boolean {
  return value === 0 || value === '0'
}

/** The most that may be at risk, in each token by itself. */
export interface RiskLimit {
  readonly recipient: Amounts | undefined
  readonly payer: Amounts | undefined
}
