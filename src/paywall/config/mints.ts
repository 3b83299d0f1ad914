/** The options that say what the tokens are: their mints, what these may have, and the key that opens accounts for them. */
import { z } from 'zod'
import { decodeAddress } from '../../core/encoding/base58.ts'
import type { Mint, MintTable, Network, TokenCode } from '../../core/money/tokens.ts'
import { knownMints, splTokenProgram, token2022Program } from '../../core/money/tokens.ts'
import type { DoubtfulTrait } from '../../core/payment/token-rules.ts'
import { doubtfulTraits } from '../../core/payment/token-rules.ts'
import type { AccountKey } from './options.ts'

const notAddress = 'is not a Solana address'
export const address = z.string(notAddress).refine((text) => decodeAddress(text) !== undefined, {
  error: ({ input }) => (isEthereumAddress(input) ? `${notAddress} but an Ethereum address` : notAddress),
})

function isEthereumAddress(text: unknown): boolean {
  return typeof text === 'string' && /^0x[0-9a-f]{40}$/i.test(text)
}

const mint = z.union(
  [
    address,
    z.strictObject({
      address,
      decimals: z.int().min(0).max(18).optional(),
      tokenProgram: z.enum([splTokenProgram, token2022Program]).optional(),
      allow: z.array(z.enum(doubtfulTraits)).optional(),
    }),
  ],
  {
    error:
      'must be the address of a mint, or { address, decimals, tokenProgram, allow } with decimals from 0 to 18; ' +
      `allow may list ${doubtfulTraits.join(', ')}`,
  },
)
export const mintsOption = z.strictObject({ NATIVE: mint.optional(), USDC: mint.optional() }).default({})

export const accountKeyOption = z
  .custom<AccountKey>(
    isAccountKey,
    'must be the path of a key file, 64 secret bytes, a kit signer, a Keypair or a wallet',
  )
  .optional()

function isAccountKey(value: unknown): boolean {
  if (typeof value === 'string') return value !== ''
  if (typeof value !== 'object' || value === null) return false
  if ('length' in value) return value.length === 64 || value.length === 32
  return 'address' in value || 'secretKey' in value
}

export interface MintRules {
  readonly mints: MintTable
  /** What a mint may have that is refused otherwise. */
  readonly allowedTraits: Readonly<Partial<Record<TokenCode, readonly DoubtfulTrait[]>>>
}

export function readMints(network: Network, options: z.infer<typeof mintsOption>, problems: string[]): MintRules {
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
      problems.push(`mints.${code}.decimals: must be given, as the mint says`)
      continue
    }
    mints[code] = { address: given.address, decimals, tokenProgram: given.tokenProgram ?? splTokenProgram }
    if (given.allow) allowedTraits[code] = given.allow
  }
  return { mints, allowedTraits }
}
