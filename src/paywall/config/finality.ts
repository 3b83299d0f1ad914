/** The price and the exposure from which a payment must be final before it is accepted. */
import { z } from 'zod'
import { readPrice } from '../../core/money/price.ts'
import type { Amount, RateTable } from '../../core/money/rates.ts'
import { convertAll } from '../../core/money/spread.ts'
import { type Amounts, findDecimals, listTokens, type MintTable, type TokenCode } from '../../core/money/tokens.ts'
import { decimal } from './kinds.ts'

/** The requirements for a payment before it is accepted. */
export interface FinalityRule {
  /** From these amounts on a payment must be final. In a token without an entry it must always be final. */
  readonly finalizedFrom: Amounts
  readonly risk: RiskLimit
}

export function mustBeFinal({ finalizedFrom }: FinalityRule, token: TokenCode, units: bigint): boolean {
  const from = finalizedFrom[token]
  return from === undefined || units >= from
}

export const maxUnfinalizedOption = z.union(
  [decimal, z.strictObject({ recipient: decimal.optional(), payer: decimal.optional() })],
  { error: 'must be an amount, or { recipient, payer }' },
)

interface FinalityRead {
  readonly token: TokenCode
  readonly finalizedFrom?: Decimal | undefined
  readonly maxUnfinalized?: z.output<typeof maxUnfinalizedOption> | undefined
}

type Decimal = z.output<typeof decimal>

const oneDollar: Amount = { token: 'USDC', units: 1_000_000n, decimals: 6 }

/** The rule at the current rates. */
export type FinalityAt = (rates: RateTable) => FinalityRule

/** Covers all tokens, because a quote in a token that is no longer accepted can still be paid. */
export function readFinality(read: FinalityRead, mints: MintTable, problems: string[]): FinalityAt {
  const decimals = findDecimals(read.token, mints) ?? 0
  const limitOf = (option: string, value: Decimal | undefined): Amount | undefined => {
    if (value === undefined) return undefined
    return { token: read.token, units: readLimit(option, value, read.token, decimals, problems), decimals }
  }
  const { maxUnfinalized } = read
  const most = typeof maxUnfinalized === 'object' ? maxUnfinalized : { recipient: maxUnfinalized }
  const from = limitOf('finalizedFrom', read.finalizedFrom) ?? oneDollar
  const recipient = limitOf('maxUnfinalized', most.recipient)
  const payer = limitOf('maxUnfinalized.payer', most.payer)
  let known: { readonly rates: RateTable; readonly rule: FinalityRule } | undefined
  return (rates) => {
    if (known?.rates === rates) return known.rule
    const worth = (limit: Amount): Amounts => convertAll(limit, listTokens(mints), mints, rates)
    const risk = { recipient: recipient && worth(recipient), payer: payer && worth(payer) }
    known = { rates, rule: { finalizedFrom: worth(from), risk } }
    return known.rule
  }
}

function readLimit(option: string, value: Decimal, token: TokenCode, decimals: number, problems: string[]): bigint {
  if (value === 0 || value === '0') return 0n
  const limit = readPrice(value, token, decimals)
  if (limit.kind === 'price') return limit.units
  problems.push(`${option}: ${limit.why}`)
  return 0n
}

/** The maximum amount at risk, for each token separately. */
export interface RiskLimit {
  readonly recipient: Amounts | undefined
  readonly payer: Amounts | undefined
}
