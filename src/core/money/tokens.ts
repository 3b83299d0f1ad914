/**
 * Networks and tokens: the meaning of the token codes on each chain.
 *
 * A node proves its chain by the genesis hash, and a token is identified by its mint address. Names and symbols are
 * never compared.
 */
import { decodeAddress } from '../encoding/base58.ts'

export const networks = ['mainnet', 'devnet', 'localnet'] as const
export type Network = (typeof networks)[number]

/**
 * Whether a payment opens the recipient's token account if it is missing. Not on mainnet: the owner of the account could
 * close it and keep its rent, which would be a hidden surcharge.
 */
export function isOpenedByPayer(network: Network): boolean {
  return network !== 'mainnet'
}

/** The tokens that every service knows. The order is fixed: it is the order of amounts in a requestId. */
export const knownCodes = ['NATIVE', 'USDC', 'SOL'] as const
export type KnownCode = (typeof knownCodes)[number]

/** A known code, or the code of a token that the provider configures. */
export type TokenCode = KnownCode | (string & {})

/** Values by token. */
export type ByToken<Value> = { readonly [Code in KnownCode]?: Value } & { readonly [code: string]: Value }

export interface Mint {
  readonly address: string
  readonly decimals: number
  /** Address of the token program that owns the mint: SPL Token or Token-2022. */
  readonly tokenProgram: string
}

/** SOL is the chain's native currency and has no mint. Wrapped SOL is another token. */
export type MintTable = ByToken<Mint>

export const splTokenProgram = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'
export const token2022Program = 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb'

export const solDecimals = 9
/** The rent-exempt minimum of a wallet, in lamports. A wallet with less does not exist. */
export const smallestBalance = 890_880n
/** The mint of wrapped SOL, which is another token than SOL. */
export const wrappedSol = 'So11111111111111111111111111111111111111112'

/** A localnet has its own genesis hash, so the hash is pinned at first contact. */
export const genesisHashes: Readonly<Partial<Record<Network, string>>> = {
  mainnet: '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d',
  devnet: 'EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG',
}

/** Public nodes. Those of mainnet are for payers; a service that sells on mainnet needs its own nodes. */
export const publicNodes: Readonly<Record<Network, readonly string[]>> = {
  mainnet: ['https://api.mainnet-beta.solana.com'],
  devnet: ['https://api.devnet.solana.com'],
  localnet: [],
}

/** Reads a list of node addresses from an environment variable. Undefined if the list is empty. */
export function parseNodes(text: string | undefined): readonly string[] | undefined {
  const urls = (text ?? '').split(',').flatMap((url) => url.trim() || [])
  return urls.length > 0 ? urls : undefined
}

/** Test tokens: the project's own mints. */
const testMints = {
  NATIVE: { address: '6r2kFDVUvhgXMh5VZqKpXyWB1HyiaJr1knnDYMfNpZbM', decimals: 9, tokenProgram: splTokenProgram },
  USDC: { address: '7rkNvHQ2toHAyKrAQWdnRivFEVjBN4ZpBMrNREsuA4Yr', decimals: 6, tokenProgram: splTokenProgram },
}

/** Circle's mint on devnet. x402 clients take a localnet for devnet, and by default they pay in no other mint there. */
const circleDevnetUsdc = '4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU'

/** The mints known without configuration. NATIVE on mainnet is the provider's own token and must be configured. */
export const knownMints: Readonly<Record<Network, MintTable>> = {
  mainnet: {
    USDC: { address: 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v', decimals: 6, tokenProgram: splTokenProgram },
  },
  devnet: testMints,
  localnet: { ...testMints, USDC: { ...testMints.USDC, address: circleDevnetUsdc } },
}

/**
 * The mints that a localnet creates: those of the known tokens, and one to try the option `tokens` with. Its address is
 * that of Circle's EURC.
 */
export const localnetMints: MintTable = {
  ...knownMints.localnet,
  EURC: { address: 'HzwqbKZw8HxMN6bF2yFZNrht3c2iXXzpKcFu7uBEDKtr', decimals: 6, tokenProgram: splTokenProgram },
}

/** Programs, sysvars and mints that could be mistaken for a wallet. Tokens sent to them are lost. */
const unspendable: ReadonlySet<string> = new Set([
  '11111111111111111111111111111111',
  splTokenProgram,
  token2022Program,
  'ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL',
  'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr',
  'Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo',
  'ComputeBudget111111111111111111111111111111',
  'Stake11111111111111111111111111111111111111',
  'Vote111111111111111111111111111111111111111',
  'SysvarC1ock11111111111111111111111111111111',
  'SysvarRent111111111111111111111111111111111',
  '1nc1nerator11111111111111111111111111111111',
  wrappedSol,
  ...Object.values(knownMints).flatMap((mints) => Object.values(mints).map(({ address }) => address)),
])

export function isUnspendable(address: string): boolean {
  return unspendable.has(address)
}

/** No code equals the name of a property that every object has, because those contain small letters. */
export const tokenCodePattern = /^[A-Z][A-Z0-9]{1,9}$/

export function isTokenCode(value: unknown): value is TokenCode {
  return typeof value === 'string' && tokenCodePattern.test(value)
}

export function isKnownCode(code: TokenCode): code is KnownCode {
  return knownCodes.includes(code as KnownCode)
}

/** The known codes, then the other codes of the table in alphabetical order. */
export function listTokens(mints: MintTable): readonly TokenCode[] {
  return [
    ...knownCodes,
    ...Object.keys(mints)
      .filter((code) => !isKnownCode(code))
      .sort(),
  ]
}

/** The option that configures the mint of a token. */
export function nameMintOption(code: TokenCode): `${'mints' | 'tokens'}.${string}` {
  return isKnownCode(code) ? `mints.${code}` : `tokens.${code}`
}

export function isNetwork(value: unknown): value is Network {
  return networks.includes(value as Network)
}

export function findMint(token: TokenCode, mints: MintTable): Mint | undefined {
  return token === 'SOL' ? undefined : mints[token]
}

/** The mints of these tokens by code. Tokens without a mint are left out. */
export function pickMints(tokens: readonly TokenCode[], mints: MintTable): MintTable {
  return Object.fromEntries(
    tokens.flatMap((token) => {
      const mint = findMint(token, mints)
      return mint ? [[token, mint]] : []
    }),
  )
}

export function isSameMint(one: Mint, other: Mint | undefined): boolean {
  return one.address === other?.address && one.decimals === other.decimals && one.tokenProgram === other.tokenProgram
}

export function findDecimals(token: TokenCode, mints: MintTable): number | undefined {
  return token === 'SOL' ? solDecimals : mints[token]?.decimals
}

/** Checks configured mints and returns one sentence per fault. */
export function checkMints(mints: unknown): readonly string[] {
  if (mints === undefined) return []
  if (typeof mints !== 'object' || mints === null || Array.isArray(mints))
    return [`mints: must be mints by token code, such as { NATIVE: ${mintShape} }`]
  return Object.entries(mints).flatMap(([code, mint]) => {
    if (!isTokenCode(code) || code === 'SOL') return [`mints.${code}: is not a token that has a mint`]
    return mint === undefined || isMint(mint) ? [] : [`mints.${code}: must be ${mintShape}`]
  })
}

const mintShape = '{ address, decimals, tokenProgram }'

function isMint(value: unknown): value is Mint {
  const { address, decimals, tokenProgram }: Partial<Record<keyof Mint, unknown>> = value ?? {}
  return (
    typeof address === 'string' &&
    decodeAddress(address) !== undefined &&
    Number.isInteger(decimals) &&
    Number(decimals) >= 0 &&
    (tokenProgram === splTokenProgram || tokenProgram === token2022Program)
  )
}

export type Amounts = ByToken<bigint>

/** `decimalsOf(token, mints)` of core, bound to the service's mints. */
export type DecimalsOf = (token: TokenCode) => number | undefined
