import { createRequire } from 'node:module'
import type * as Litesvm from 'litesvm/dist/internal.js'
import { beforeAll, describe, expect, it } from 'vitest'
import { encodeBase58 } from '../../core/encoding/base58.ts'
import { buildTransaction, computeUnitLimit } from './build.ts'
import { createKeypair, newSecret, signaturesHold } from './signature.ts'
import { decodeTransaction, type Transaction } from './wire.ts'

const signatureFailure = 11

describe('signatures beside the validator’s own check', () => {
  let svm: Litesvm.LiteSvm
  let native: typeof Litesvm
  beforeAll(() => {
    native = createRequire(import.meta.url)('litesvm/dist/internal') as typeof Litesvm
    svm = new native.LiteSvm()
    svm.setBlockhashCheck(false)
  })

  function validatorAccepts(transaction: Transaction): boolean {
    const result = svm.simulateVersionedTransaction(transaction.bytes)
    return !(result instanceof native.FailedTransactionMetadata && result.err() === signatureFailure)
  }

  function decode(bytes: Uint8Array): Transaction {
    const decoded = decodeTransaction(bytes)
    if (decoded.kind !== 'ok') throw new Error(decoded.reason)
    return decoded.value
  }

  const key = createKeypair(newSecret())
  const good = () => buildTransaction(key, [computeUnitLimit(5)], key.address)

  it('accept signed messages', () => {
    expect(signaturesHold(decode(good()))).toBe(true)
    expect(validatorAccepts(decode(good()))).toBe(true)
  })

  it.each([
    ['R', 5],
    ['S', 40],
    ['the message', 150],
  ])('refuse one bit of %s changed', (_name, at) => {
    const bytes = good()
    bytes[at] = (bytes[at] ?? 0) ^ 1
    expect(signaturesHold(decode(bytes))).toBe(false)
    expect(validatorAccepts(decode(bytes))).toBe(false)
  })

  it('refuse S plus the order of the group, a second spelling of the same number', () => {
    const bytes = good()
    const order = 2n ** 252n + 27742317777372353535851937790883648493n
    const s = BigInt(`0x${Buffer.from(bytes.subarray(33, 65)).reverse().toString('hex')}`) + order
    bytes.set(Buffer.from(s.toString(16).padStart(64, '0'), 'hex').reverse(), 33)
    expect(signaturesHold(decode(bytes))).toBe(false)
    expect(validatorAccepts(decode(bytes))).toBe(false)
  })

  /** Keys of small order: with R the neutral element and S zero, the equation holds for many messages. */
  const weak = [
    '0100000000000000000000000000000000000000000000000000000000000000',
    '0000000000000000000000000000000000000000000000000000000000000000',
    '0000000000000000000000000000000000000000000000000000000000000080',
    'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
    '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
    '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85',
    'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
    'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa',
    'edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
    'eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  ]

  it.each(weak)('refuse the weak key %s for any message', (hex) => {
    const address = encodeBase58(Buffer.from(hex, 'hex'))
    const neutral = Buffer.concat([Buffer.from(weak[0] as string, 'hex'), Buffer.alloc(32)])
    for (let attempt = 0; attempt < 16; attempt++) {
      const impostor = { address, secret: new Uint8Array(), sign: () => neutral }
      const forged = decode(buildTransaction(impostor, [computeUnitLimit(attempt)], key.address))
      expect(signaturesHold(forged)).toBe(false)
      expect(validatorAccepts(forged)).toBe(false)
    }
  })
})
