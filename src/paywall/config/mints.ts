/** The option `mints`: the mints of the tokens, and the traits that they may have. */
import { z } from 'zod'
import type { Mint, MintTable, Network, TokenCode } from '../../core/money/tokens.ts'
import { knownMints, splTokenProgram, token2022Program } from '../../core/money/tokens.ts'
import { type DoubtfulTrait, doubtfulTraits } from '../../core/payment/token-rules.ts'
import { address, list, whole } from './kinds.ts'

const isTokenProgram = (program: string) => program === splTokenProgram || program === token2022Program

const mint = z.union(
  [
    address,
    z.strictObject({
      address,
      decimals: whole(0, 18).optional(),
      tokenProgram: z.string().refine(isTokenProgram, `must be ${splTokenProgram} or ${token2022Program}`).optional(),
      allow: list(z.enum(doubtfulTraits), `must be a list of ${doubtfulTraits.join(', ')}`).optional(),
    }),
  ],
  { error: 'must be the address of a mint, or { address, decimals, tokenProgram, allow }' },
)
export const mintsOption = z.strictObject({ NATIVE: mint.optional(), USDC: mint.optional() })

export interface MintRules {
  readonly mints: MintTable
  /** Traits of a mint that are refused by default. */
  readonly allowedTraits: Readonly<Partial<Record<TokenCode, readonly DoubtfulTrait[]>>>
}

export function readMints(network: Network, options: z.output<typeof mintsOption> = {}, problems: string[]): MintRules {
  const known = knownMints[network]
  const mints: Partial<Record<Exclude<TokenCode, 'SOL'>, Mint>> = { ...known }
  const allowedTraits: Partial<Record<TokenCode, readonly DoubtfulTrait[]>> = {}
  for (const code of ['NATIVE', 'USDC'] as const) {
    const option = options[code]
    if (option === undefined) continue
    if (network === 'mainnet' && known[code]) {
      problems.push(`mints.${code}: is fixed on mainnet and cannot be replaced`)
      continue
    }
    const given = typeof option === 'string' ? { address: option } : option
    const decimals = given.decimals ?? known[code]?.decimals
    if (decimals === undefined) {
      problems.push(`mints.${code}.decimals: is missing; set the decimals of the mint`)
      continue
    }
    mints[code] = { address: given.address, decimals, tokenProgram: given.tokenProgram ?? splTokenProgram }
    if (given.allow) allowedTraits[code] = given.allow
  }
  return { mints, allowedTraits }
}
