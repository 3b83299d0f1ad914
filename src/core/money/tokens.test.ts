import { readFileSync } from 'node:fs'
import { TOKEN_2022_PROGRAM_ID, TOKEN_PROGRAM_ID } from '@solana/spl-token'
import { describe, expect, it } from 'vitest'
import { decodeAddress } from '../encoding/base58.ts'
import { genesisHashes, knownMints, splTokenProgram, token2022Program } from './tokens.ts'

/** A wrong letter here would be somebody else's token, and most wrong letters still make an address. */
describe('the pinned mints and genesis hashes', () => {
  it('Circle’s USDC on mainnet, as the library’s own examples write it', () => {
    const readme = readFileSync(new URL('../../../node_modules/@solana/addresses/README.md', import.meta.url), 'utf8')
    const { address, ...rest } = knownMints.mainnet.USDC ?? { address: 'none' }
    expect(readme).toContain(`'${address}'`)
    expect(rest).toEqual({ decimals: 6, tokenProgram: splTokenProgram })
  })

  it('Circle’s USDC of devnet on localnets only, where the faucet can mint it', () => {
    expect(knownMints.localnet.USDC?.address).toBe('4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU')
    expect(knownMints.devnet.USDC?.address).toBe('7rkNvHQ2toHAyKrAQWdnRivFEVjBN4ZpBMrNREsuA4Yr')
    expect(knownMints.localnet.NATIVE).toEqual(knownMints.devnet.NATIVE)
  })

  it('the token programs, as the library knows them', () => {
    expect([splTokenProgram, token2022Program]).toEqual([TOKEN_PROGRAM_ID.toBase58(), TOKEN_2022_PROGRAM_ID.toBase58()])
  })

  it('the public chains, by the heads of their genesis hashes that CAIP-2 registers', () => {
    expect(genesisHashes.mainnet?.slice(0, 32)).toBe('5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp')
    expect(genesisHashes.devnet?.slice(0, 32)).toBe('EtWTRABZaYq6iMfeYKouRu166VU2xqa1')
  })

  it('addresses that decode', () => {
    const mints = Object.values(knownMints).flatMap((table) => Object.values(table))
    const all = [
      ...mints.flatMap(({ address, tokenProgram }) => [address, tokenProgram]),
      ...Object.values(genesisHashes),
    ]
    expect(all.filter((address) => decodeAddress(address) === undefined)).toEqual([])
  })
})
