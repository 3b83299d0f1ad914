/** From which price, and beyond which exposure, a payment must be final before it is accepted. */
import type { MintTable, TokenCode } from '../core/network.ts'
import { decimalsOf, tokenCodes } from '../core/network.ts'
import { readPrice } from '../core/price.ts'
import type { Amount, RateTable } from '../core/rates.ts'
import { convertAll } from '../core/rates.ts'
import type { Amounts } from '../core/request-id.ts'
import type { RiskLimit } from './exposure.ts'

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

/** In all tokens, because a quote in one that is no longer accepted may still be paid. */
export function readFinality(
  read: FinalityOptions,
  mints: MintTable,
  rates: RateTable,
  problems: string[],
): FinalityRule {
  const decimals = decimalsOf(read.token, mints) ?? 0
  const worth = (option: string, value: unknown): Amounts | undefined => {
    if (value === undefined) return undefined
    const units = isNothing(value) ? 0n : readLimit(option, value, read.token, decimals, problems)
    return convertAll({ token: read.token, units, decimals }, tokenCodes, mints, rates)
  }
  const { maxUnfinalized } = read
  const isSplit = typeof maxUnfinalized === 'object' && maxUnfinalized !== null
  const split = (isSplit ? maxUnfinalized : { recipient: maxUnfinalized }) as Record<string, unknown>
  for (const key of Object.keys(split))
    if (key !== 'recipient' && key !== 'payer') problems.push(`maxUnfinalized.${key}: is not an option`)
  return {
    finalizedFrom: worth('finalizedFrom', read.finalizedFrom) ?? convertAll(oneDollar, tokenCodes, mints, rates),
    risk: {
      recipient: worth('maxUnfinalized', split['recipient']),
      payer: worth('maxUnfinalized.payer', split['payer']),
    },
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
