import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fuzzRuns } from '../../../tests/harness/length.ts'
import { encodeBase58 } from '../encoding/base58.ts'
import { decodeBase64url, encodeBase64url } from '../encoding/base64url.ts'
import { prepareHmac } from '../encoding/hmac.ts'
import { maxUnits } from '../money/money.ts'
import { type Amounts, isKnownCode, knownCodes } from '../money/tokens.ts'
import { units } from '../payment/allowance.ts'
import type { RecipientSet } from '../payment/splits.ts'
import type { Seal } from './request-id.ts'
import {
  fitsRequestId,
  isAuthentic,
  openRequest,
  proofKinds,
  requestIdPattern,
  sealContext,
  sealRequest,
} from './request-id.ts'

const recipientSet: RecipientSet = { recipient: encodeBase58(new Uint8Array(32).fill(5)), splits: [] }
const partner = { recipient: encodeBase58(new Uint8Array(32).fill(7)), basisPoints: 1_000n }
const mac = prepareHmac(new Uint8Array(32).fill(1), sealContext('localnet', 'default', recipientSet))
const seal: Seal = {
  keyId: 1,
  proof: 'bare',
  issuedAt: 1_760_000_000,
  ttlSeconds: 300,
  routeTag: Uint8Array.of(1, 2, 3, 4),
  bindingTag: Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8),
  claimTag: undefined,
  allowance: { unit: 'request', amount: 1n },
  amounts: { USDC: 10_000n },
}
const claimed: Seal = { ...seal, proof: 'claim', claimTag: new Uint8Array(8).fill(9) }

const amount = fc.oneof(fc.bigInt({ min: 0n, max: 300n }), fc.bigInt({ min: 0n, max: maxUnits }))
const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length })
const anySeal: fc.Arbitrary<Seal> = fc
  .record({
    keyId: fc.integer({ min: 1, max: 255 }),
    proof: fc.constantFrom(...proofKinds),
    issuedAt: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
    ttlSeconds: fc.integer({ min: 0, max: 86_400 }),
    routeTag: bytes(4),
    bindingTag: bytes(8),
    claimTag: bytes(8),
    allowance: fc.record({ unit: fc.constantFrom(...units), amount }),
    amounts: fc.record(Object.fromEntries<fc.Arbitrary<bigint>>(knownCodes.map((token) => [token, amount])), {
      requiredKeys: [],
    }) as fc.Arbitrary<Amounts>,
    others: fc.dictionary(
      fc.stringMatching(/^[A-Z][A-Z0-9]{1,9}$/).filter((code) => !isKnownCode(code)),
      amount,
    ),
  })
  .map(({ others, ...seal }) => {
    const given = { ...seal, claimTag: seal.proof === 'claim' ? seal.claimTag : undefined }
    const all = { ...given, amounts: { ...seal.amounts, ...others } }
    return fitsRequestId(all) ? all : given
  })

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'
const codeOf = (code: string): number => [...code].reduce((sum, one) => sum * 36 + alphabet.indexOf(one) + 1, 0)
const varint = (value: number): number[] => (value > 127 ? [(value & 127) | 128, ...varint(value >> 7)] : [value])

describe('requestId', () => {
  it('opens to the sealed values, is legal as memo and header value, and at most 128 characters', () => {
    fc.assert(
      fc.property(anySeal, (given) => {
        const text = sealRequest(given, mac)
        expect(text).toMatch(requestIdPattern)
        const opened = openRequest(text)
        expect(opened).toMatchObject(given)
        expect(opened && isAuthentic(opened, mac)).toBe(true)
      }),
      { numRuns: fuzzRuns },
    )
  })

  it('is about as short as designed', () => {
    expect(sealRequest(seal, mac).length).toBeLessThanOrEqual(70)
    const three = { ...claimed, amounts: { NATIVE: 100_000_000n, USDC: 10_000n, SOL: 66_667n } }
    expect(sealRequest(three, mac).length).toBeLessThanOrEqual(96)
  })

  it('has room for three amounts of any size, and for three other tokens at usual prices', () => {
    const most = { NATIVE: maxUnits, USDC: maxUnits, SOL: maxUnits }
    expect(fitsRequestId({ ...claimed, ttlSeconds: 86_400, amounts: most })).toBe(true)
    expect(fitsRequestId({ ...claimed, amounts: { ...most, EURC: maxUnits, USDT: maxUnits } })).toBe(false)
    const usual = { NATIVE: 100_000_000n, USDC: 10_000n, SOL: 66_667n, EURC: 9_000n, USDT: 10_000n, PYUSD: 10_000n }
    expect(fitsRequestId({ ...claimed, amounts: usual })).toBe(true)
    expect(openRequest(sealRequest({ ...claimed, amounts: usual }, mac))?.amounts).toEqual(usual)
  })

  it('keeps the bytes of quotes in known tokens, whose flags have the highest bit clear', () => {
    const flags = (amounts: Amounts) => decodeBase64url(sealRequest({ ...seal, amounts }, mac))?.[2]
    expect(flags({ NATIVE: 1n, USDC: 1n, SOL: 1n })).toBe(0b0111_0000)
    expect(flags({ USDC: 1n, EURC: 1n })).toBe(0b1010_0000)
  })

  it.each([
    ['no other token', []],
    ['a known code', [[codeOf('SOL'), 1]]],
    [
      'codes that do not ascend',
      [
        [codeOf('EURC'), 1],
        [codeOf('EURC'), 1],
      ],
    ],
    ['a code that starts with a digit', [[codeOf('1A'), 1]]],
    ['a code of one letter', [[codeOf('A'), 1]]],
  ])('does not open one that announces other tokens, but has %s', (_what, others) => {
    const whole = decodeBase64url(sealRequest(seal, mac)) ?? new Uint8Array()
    const at = whole.length - 24
    const varints = others.flat().flatMap((value) => varint(value))
    const bytes = Uint8Array.of(...whole.subarray(0, at), ...varints, ...whole.subarray(at))
    bytes[2] = (bytes[2] ?? 0) | 128
    expect(openRequest(encodeBase64url(bytes))).toBeUndefined()
  })

  it('T89: no two are alike', () => {
    expect(new Set(Array.from({ length: 1000 }, () => sealRequest(seal, mac))).size).toBe(1000)
  })

  it('is not authentic once any bit of it has changed', () => {
    const whole = decodeBase64url(sealRequest(claimed, mac)) ?? new Uint8Array()
    for (let bit = 0; bit < whole.length * 8; bit += 1) {
      const changed = whole.slice()
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      const opened = openRequest(encodeBase64url(changed))
      expect(opened !== undefined && isAuthentic(opened, mac)).toBe(false)
    }
  })

  it.each([
    ['network', sealContext('devnet', 'default', recipientSet)],
    ['service', sealContext('localnet', 'other', recipientSet)],
    [
      'recipient',
      sealContext('localnet', 'default', { recipient: encodeBase58(new Uint8Array(32).fill(6)), splits: [] }),
    ],
    ['splits', sealContext('localnet', 'default', { ...recipientSet, splits: [partner] })],
  ])('T88: is not authentic for another %s', (_what, context) => {
    const opened = openRequest(sealRequest(seal, mac))
    expect(opened && isAuthentic(opened, prepareHmac(new Uint8Array(32).fill(1), context))).toBe(false)
  })

  it('opens only texts that it could have written, for any input', () => {
    const mutated = fc
      .tuple(anySeal, fc.array(fc.tuple(fc.nat(120), fc.nat(255)), { minLength: 1, maxLength: 4 }))
      .map(([given, changes]) => {
        const whole = decodeBase64url(sealRequest(given, mac)) ?? new Uint8Array()
        for (const [at, value] of changes) whole[at % whole.length] = value
        return encodeBase64url(whole)
      })
    const junk = fc.uint8Array({ maxLength: 110 }).map((all) => encodeBase64url(Uint8Array.of(1, ...all)))
    fc.assert(
      fc.property(fc.oneof(mutated, junk, fc.string({ maxLength: 140 })), (text) => {
        const opened = openRequest(text)
        if (!opened) return
        const body = sealRequest(opened, () => opened.mac)
        // Written again it differs in the nonce only, the eight bytes before the MAC.
        const again = decodeBase64url(body) ?? new Uint8Array()
        const tail = again.length - 24
        expect(encodeBase64url(again.subarray(0, tail))).toBe(encodeBase64url(opened.body.subarray(0, tail)))
        expect(again.length).toBe(opened.body.length + 16)
      }),
      { numRuns: fuzzRuns },
    )
  })

  it.each([
    '',
    'A',
    '!',
    'A'.repeat(129),
    ' '.repeat(70),
    sealRequest(seal, mac).slice(0, -1),
    `${sealRequest(seal, mac)}A`,
  ])('does not open %j', (text) => {
    expect(openRequest(text)).toBeUndefined()
  })
})
