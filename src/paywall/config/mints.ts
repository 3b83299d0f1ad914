/** The options `mints` and `tokens`: the mints of the tokens, and the traits that they may have. */
import { z } from 'zod'
import { nearest } from '../../core/errors/suggest.ts'
import type { ByToken, Mint, MintTable, Network, TokenCode } from '../../core/money/tokens.ts'
import {
  isKnownCode,
  isTokenCode,
  knownMints,
  listTokens,
  splTokenProgram,
  token2022Program,
  wrappedSol,
} from '../../core/money/tokens.ts'
import { type DoubtfulTrait, doubtfulTraits } from '../../core/payment/token-rules.ts'
import { address, list, whole } from './kinds.ts'

const isTokenProgram = (program: string) => program === splTokenProgram || program === token2022Program

const decimals = whole(0, 18)
const traits = {
  tokenProgram: z.string().refine(isTokenProgram, `must be ${splTokenProgram} or ${token2022Program}`).optional(),
  allow: list(z.enum(doubtfulTraits), `must be a list of ${doubtfulTraits.join(', ')}`).optional(),
}
const mint = z.union([address, z.strictObject({ address, decimals: decimals.optional(), ...traits })], {
  error: 'must be the address of a mint, or { address, decimals, tokenProgram, allow }',
})
export const mintsOption = z.strictObject({ NATIVE: mint.optional(), USDC: mint.optional() })
export const tokensOption = z.record(
  z.string(),
  z.strictObject({ mint: address, decimals, ...traits }, { error: 'must be { mint, decimals, tokenProgram, allow }' }),
  { error: 'must be tokens by code, such as { EURC: { mint, decimals } }' },
)

interface MintsRead {
  readonly network: Network
  readonly mints?: z.output<typeof mintsOption> | undefined
  readonly tokens?: z.output<typeof tokensOption> | undefined
}

export interface MintRules {
  readonly mints: MintTable
  /** Traits of a mint that are refused by default. */
  readonly allowedTraits: ByToken<readonly DoubtfulTrait[]>
}

export function readMints({ network, mints: options = {}, tokens = {} }: MintsRead, problems: string[]): MintRules {
  const known = knownMints[network]
  const mints: Record<string, Mint> = { ...known }
  const allowedTraits: Record<string, readonly DoubtfulTrait[]> = {}
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
  const codes = Object.keys(tokens)
  if (codes.length > mostTokens) problems.push(`tokens: must be at most ${mostTokens}`)
  for (const [code, { mint: address, decimals, tokenProgram = splTokenProgram, allow }] of Object.entries(tokens)) {
    const why = checkOwnToken(code, address, mints)
    if (why !== undefined) problems.push(`tokens.${code}${why}`)
    else mints[code] = { address, decimals, tokenProgram }
    if (allow) allowedTraits[code] = allow
  }
  return { mints, allowedTraits }
}

const mostTokens = 16

function checkOwnToken(code: string, address: string, mints: MintTable): string | undefined {
  if (!isTokenCode(code)) return ': the code must be 2 to 10 capital letters and digits, such as EURC'
  if (code === 'SOL') return ': SOL has no mint; choose another code'
  if (isKnownCode(code)) return `: ${code} is a known token; set its mint as mints.${code}`
  if (address === wrappedSol) return '.mint: is wrapped SOL; accept SOL instead'
  const [same] = Object.entries(mints).find(([, mint]) => mint.address === address) ?? []
  return same === undefined ? undefined : `.mint: is already the mint of ${same}; a mint has one code`
}

/** Reports a code that is neither known nor configured. */
export function checkCode(option: string, code: TokenCode, mints: MintTable, problems: string[]): void {
  const codes = listTokens(mints)
  if (codes.includes(code)) return
  const guess = nearest(code, codes)
  problems.push(
    `${option}: ${code} is not a token of this service; use ${codes.join(', ')}, or add it to tokens${guess ? `; did you mean ${guess}?` : ''}`,
  )
}
