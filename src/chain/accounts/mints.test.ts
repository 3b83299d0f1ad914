import {
  ExtensionType,
  getEpochFee,
  getExtensionTypes,
  getTransferFeeConfig,
  TransferFeeConfigLayout,
  unpackMint,
} from '@solana/spl-token'
import { PublicKey } from '@solana/web3.js'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fuzzRuns } from '../../../tests/harness/length.ts'
import { splTokenProgram, token2022Program } from '../../core/money/tokens.ts'
import type { MintTraits } from '../../core/payment/token-rules.ts'
import { absent } from './account.ts'
import { mintExtensions, readExtensions } from './extensions.ts'
import { readMint } from './mints.ts'

type Entry = readonly [type: number, value: Uint8Array]

const bare = Uint8Array.from({ length: 82 }, (_, at) => (at === 44 ? 6 : at === 45 ? 1 : 0))
const entryBytes = ([type, value]: Entry) => [type & 255, type >> 8, value.length & 255, value.length >> 8, ...value]
const extended = (...entries: readonly Entry[]) =>
  Uint8Array.from([...bare, ...new Array<number>(83).fill(0), 1, ...entries.flatMap(entryBytes)])
const read = (data: Uint8Array, owner = token2022Program, epoch = 5n) =>
  readMint({ lamports: 1n, owner, data, executable: false }, epoch)
const ones = (length: number) => new Uint8Array(length).fill(1)
const none = (length: number) => new Uint8Array(length)

interface Fee {
  readonly epoch: bigint
  readonly maximumFee: bigint
  readonly transferFeeBasisPoints: number
}
const feeConfig = (older: Fee, newer: Fee): Entry => {
  const value = new Uint8Array(TransferFeeConfigLayout.span)
  const key = PublicKey.default
  TransferFeeConfigLayout.encode(
    {
      transferFeeConfigAuthority: key,
      withdrawWithheldAuthority: key,
      withheldAmount: 7n,
      olderTransferFee: older,
      newerTransferFee: newer,
    },
    value as Buffer,
  )
  return [1, value]
}

const plain: MintTraits = {
  decimals: 6,
  fees: [],
  doubts: [],
  isTransferable: true,
  isPaused: false,
  opensFrozen: false,
}

describe('readMint', () => {
  it.each<[string, Uint8Array, Partial<MintTraits>]>([
    ['nothing', bare, {}],
    ['room for extensions and none', extended(), {}],
    ['a last byte that holds no type', Uint8Array.from([...extended(), 1]), {}],
    ['room that is not used yet', Uint8Array.from([...extended([9, none(0)]), ...none(10)]), { isTransferable: false }],
    ['what does no harm', extended([3, ones(32)], [4, ones(65)], [18, ones(64)], [19, ones(90)], [28, ones(32)]), {}],
    ['a hook', extended([14, ones(64)]), { doubts: ['transferHook'] }],
    [
      'a hook that can still be set',
      extended([14, Uint8Array.from([...ones(32), ...none(32)])]),
      { doubts: ['transferHook'] },
    ],
    ['a hook that was given up', extended([14, none(64)]), {}],
    ['a permanent delegate', extended([12, ones(32)]), { doubts: ['permanentDelegate'] }],
    ['a permanent delegate that was given up', extended([12, none(32)]), {}],
    ['interest', extended([10, none(52)]), { doubts: ['interestBearing'] }],
    ['a multiplier', extended([25, none(56)]), { doubts: ['scaledUiAmount'] }],
    ['something new', extended([99, ones(3)]), { doubts: ['unknown'] }],
    ['something that belongs to an account', extended([8, ones(1)]), { doubts: ['unknown'] }],
    ['no transfers', extended([9, none(0)]), { isTransferable: false }],
    ['a pause', extended([26, ones(33)]), { isPaused: true }],
    ['a pause that is over', extended([26, Uint8Array.from([...ones(32), 0])]), {}],
    ['frozen accounts', extended([6, Uint8Array.of(2)]), { opensFrozen: true }],
    ['accounts as usual', extended([6, Uint8Array.of(1)]), {}],
  ])('knows a mint with %s', (_what, data, traits) => {
    expect(read(data)).toEqual({ kind: 'mint', program: token2022Program, traits: { ...plain, ...traits } })
  })

  it('knows one of SPL Token', () => {
    expect(read(bare, splTokenProgram)).toMatchObject({ kind: 'mint', program: splTokenProgram, traits: plain })
  })

  const [cut, named] = [extended([12, ones(32)]), extended([19, ones(40)])]
  it.each<[string, Uint8Array, string]>([
    ['too short', bare.subarray(0, 81), token2022Program],
    ['never made', bare.with(45, 0), token2022Program],
    ['an account', extended().with(165, 2), token2022Program],
    ['something between the two', Uint8Array.from([...bare, ...none(83)]), token2022Program],
    ['not empty where it has to be', extended().with(120, 1), token2022Program],
    ['a multisig by its length', Uint8Array.from([...extended(), ...none(189)]), token2022Program],
    ['cut in a value', cut.subarray(0, cut.length - 1), token2022Program],
    ['cut in a value that nobody reads', named.subarray(0, named.length - 1), token2022Program],
    ['cut in a length', Uint8Array.from([...extended(), 12, 0, 32]), token2022Program],
    ['ambiguous', extended([12, none(32)], [12, ones(32)]), token2022Program],
    ['a hook of another length', extended([14, ones(63)]), token2022Program],
    ['a fee of another length', extended([1, none(107)]), token2022Program],
    ['a pause of another length', extended([26, none(32)]), token2022Program],
    ['extended under SPL Token', extended([12, ones(32)]), splTokenProgram],
  ])('refuses a mint that is %s', (_what, data, owner) => {
    expect(read(data, owner)).toMatchObject({ kind: 'malformed' })
  })

  it('refuses a fee of more than all', () => {
    const fee = { epoch: 0n, maximumFee: 9n, transferFeeBasisPoints: 10_001 }
    expect(read(extended(feeConfig(fee, fee)))).toMatchObject({ kind: 'malformed' })
  })

  it('tells nothing, money alone and other programs apart', () => {
    const system = '11111111111111111111111111111111'
    expect(readMint(absent, 0n)).toEqual({ kind: 'absent' })
    expect(read(none(0), system)).toEqual({ kind: 'foreign', program: system })
    expect(read(bare, system)).toEqual({ kind: 'foreign', program: system })
  })
})

describe('transfer fees', () => {
  const fee = (epoch: bigint, basisPoints: number, maximum = 50n) => ({
    epoch,
    maximumFee: maximum,
    transferFeeBasisPoints: basisPoints,
  })
  const feesAt = (epoch: bigint, older: Fee, newer: Fee) => {
    const reading = read(extended(feeConfig(older, newer)), token2022Program, epoch)
    return reading.kind === 'mint' ? reading.traits.fees : undefined
  }

  it('are those of this epoch and of the next', () => {
    const [older, newer] = [fee(0n, 100), fee(7n, 300)]
    const [first, second] = [
      { basisPoints: 100, maximum: 50n },
      { basisPoints: 300, maximum: 50n },
    ]
    expect(feesAt(5n, older, newer)).toEqual([first])
    expect(feesAt(6n, older, newer)).toEqual([first, second])
    expect(feesAt(7n, older, newer)).toEqual([second])
  })

  it('of nothing are none', () => {
    expect(feesAt(5n, fee(0n, 0), fee(6n, 0))).toEqual([])
    expect(feesAt(5n, fee(0n, 100, 0n), fee(6n, 0))).toEqual([])
  })

  it('equal those of the official library', () => {
    const anyFee = fc.record({
      epoch: fc.bigInt(0n, 10n),
      maximumFee: fc.bigInt(0n, 2n ** 64n - 1n),
      transferFeeBasisPoints: fc.integer({ min: 0, max: 10_000 }),
    })
    const property = (epoch: bigint, older: Fee, newer: Fee) => {
      const data = extended(feeConfig(older, newer))
      const config = getTransferFeeConfig(official(data))
      if (!config) throw new Error('the library sees no fee')
      const theirs = [epoch, epoch + 1n].map((one) => getEpochFee(config, one))
      const ours = feesAt(epoch, older, newer) ?? []
      for (const { transferFeeBasisPoints: basisPoints, maximumFee: maximum } of theirs) {
        if (basisPoints > 0 && maximum > 0n) expect(ours).toContainEqual({ basisPoints, maximum })
      }
      expect(ours.length).toBeLessThanOrEqual(theirs.length)
    }
    fc.assert(fc.property(fc.bigInt(0n, 10n), anyFee, anyFee, property), { numRuns: Math.min(fuzzRuns, 5_000) })
  })
})

function official(data: Uint8Array) {
  const owner = new PublicKey(token2022Program)
  const account = { data: Buffer.from(data), owner, lamports: 1, executable: false }
  return unpackMint(PublicKey.default, account, owner)
}

describe('readExtensions', () => {
  it('knows the numbers of the official library', () => {
    for (const [number, name] of Object.entries(mintExtensions)) {
      const theirs = ExtensionType[Number(number)]
      // The library has no name for three of them.
      if (theirs === undefined) expect(name).toMatch(/^confidential/)
      else expect(theirs.toLowerCase().replace(/config$|mint$/, '')).toBe(name.toLowerCase())
    }
  })

  it('finds the same extensions as the official library, and survives any input', () => {
    const entry = fc.tuple(fc.integer({ min: 1, max: 30 }), fc.uint8Array({ maxLength: 40 }))
    const entries = fc.uniqueArray(entry, { selector: ([type]) => type, maxLength: 6 })
    const property = (list: readonly Entry[], rest: Uint8Array) => {
      const data = extended(...list)
      if (data.length === 355) return
      const ours = readExtensions(data, 'mint', 82)
      expect([...(ours ?? [])].map(([type]) => type)).toEqual(getExtensionTypes(official(data).tlvData))
      expect([...(ours ?? [])]).toEqual(list.map(([type, value]) => [type, Uint8Array.from(value)]))
      expect(() => read(Uint8Array.from([...data, ...rest]))).not.toThrow()
      expect(() => read(data.subarray(0, data.length - rest.length))).not.toThrow()
    }
    fc.assert(fc.property(entries, fc.uint8Array({ maxLength: 20 }), property), { numRuns: Math.min(fuzzRuns, 5_000) })
  })
})
