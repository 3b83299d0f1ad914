import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fuzzRuns } from '../../../tests/harness/length.ts'
import { decodeBase64url, encodeBase64url } from '../encoding/base64url.ts'
import { prepareHmac } from '../encoding/hmac.ts'
import { maxUnits } from '../money/money.ts'
import { tokenCodes } from '../money/tokens.ts'
import { units } from '../payment/allowance.ts'
import type { Seal } from './request-id.ts'
import { isAuthentic, openRequest, proofKinds, requestIdPattern, sealContext, sealRequest } from './request-id.ts'

const recipient = new Uint8Array(32).fill(5)
const mac = prepareHmac(new Uint8Array(32).fill(1), sealContext('localnet', 'default', recipient))
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
    amounts: fc.record(Object.fromEntries(tokenCodes.map((token) => [token, amount])), { requiredKeys: [] }),
  })
  .map((seal) => (seal.proof === 'claim' ? seal : { ...seal, claimTag: undefined }))

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
    ['network', sealContext('devnet', 'default', recipient)],
    ['service', sealContext('localnet', 'other', recipient)],
    ['recipient', sealContext('localnet', 'default', new Uint8Array(32).fill(6))],
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
