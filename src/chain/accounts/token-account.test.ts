import { describe, expect, it } from 'vitest'
import { decodeAddress } from '../../core/encoding/base58.ts'
import { knownMints, splTokenProgram, token2022Program } from '../../core/money/tokens.ts'
import { absent } from './account.ts'
import { readTokenAccount } from './token-account.ts'

const mint = knownMints.localnet.USDC ?? { address: '', decimals: 0, tokenProgram: '' }
const [owner, other] = [
  '4zvwRjXUKGfvwnParsHAS3HuSVzV5cA4McphgmoCtajS',
  '6r2kFDVUvhgXMh5VZqKpXyWB1HyiaJr1knnDYMfNpZbM',
] as const
const key = (text: string) => decodeAddress(text) ?? new Uint8Array()

interface Parts {
  readonly mint?: string
  readonly state?: number
  readonly delegate?: string
  readonly delegated?: number
  readonly closer?: string
}
function dataOf(parts: Parts = {}): Uint8Array {
  const data = new Uint8Array(165)
  data.set(key(parts.mint ?? mint.address), 0)
  data.set(key(owner), 32)
  if (parts.delegate) data.set([1, 0, 0, 0, ...key(parts.delegate)], 72)
  data[108] = parts.state ?? 1
  data[121] = parts.delegated ?? 0
  if (parts.closer) data.set([1, 0, 0, 0, ...key(parts.closer)], 129)
  return data
}
const read = (data: Uint8Array, program: string = splTokenProgram) =>
  readTokenAccount({ lamports: 1n, owner: program, data, executable: false }, mint)
const account = { kind: 'account', owner, isFrozen: false }

describe('readTokenAccount', () => {
  it.each([
    ['as it should be', {}, account],
    ['frozen', { state: 2 }, { ...account, isFrozen: true }],
    ['with a delegate', { delegate: other, delegated: 1 }, { ...account, delegate: other }],
    ['with a delegate who may take nothing more', { delegate: other }, account],
    ['with its owner as delegate', { delegate: owner, delegated: 1 }, account],
    ['that somebody else may close', { closer: other }, { ...account, closer: other }],
    ['that its owner may close', { closer: owner }, account],
  ])('knows an account %s', (_what, parts, reading) => {
    expect(read(dataOf(parts))).toEqual(reading)
  })

  it('knows one of Token-2022, with extensions and without', () => {
    const ours = { ...mint, tokenProgram: token2022Program }
    for (const data of [dataOf(), Uint8Array.from([...dataOf(), 2, 7, 0, 0, 0])]) {
      const told = { lamports: 1n, owner: token2022Program, data, executable: false }
      expect(readTokenAccount(told, ours)).toEqual(account)
    }
  })

  it.each([
    ['of another mint', dataOf({ mint: other }), splTokenProgram],
    ['never opened', dataOf({ state: 0 }), splTokenProgram],
    ['in no known state', dataOf({ state: 3 }), splTokenProgram],
    ['of another program', dataOf(), token2022Program],
    ['too short', dataOf().subarray(0, 164), splTokenProgram],
    ['a mint', Uint8Array.from([...dataOf(), 1]), splTokenProgram],
  ])('refuses an account that is %s', (_what, data, program) => {
    expect(read(data, program)).toEqual({ kind: 'malformed' })
  })

  it('does not treat lamports that were sent to the address as an account', () => {
    expect(readTokenAccount(absent, mint)).toEqual({ kind: 'absent' })
    expect(read(new Uint8Array(), '11111111111111111111111111111111')).toEqual({ kind: 'absent' })
  })
})
