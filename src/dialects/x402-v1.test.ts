import { describe, expect, it } from 'vitest'
import { bundle, createSponsor, incomingWith, offer, parts } from '../../tests/harness/foreign-fixture.ts'
import { type RefusalCode, refusals, refuse } from '../core/payment/refusals.ts'
import { joinDialects } from './join.ts'
import { createX402 } from './x402.ts'
import { createX402V1 } from './x402-v1.ts'

const tx = '5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZkQUW'
const sponsor = createSponsor()
const v1 = createX402V1({ network: 'localnet', sponsor })

describe('the dialect of x402 v1', () => {
  it('adds its challenge to the body of the native one, beside the header of version 2', () => {
    const dialects = joinDialects([createX402({ network: 'localnet', sponsor }), v1])
    const answer = dialects.prepare(offer).answerWith(parts, incomingWith({}))
    const body = JSON.parse(answer.body) as object
    expect(body).toMatchObject({
      requestId: parts.requestId,
      x402Version: 1,
      accepts: [{ maxAmountRequired: '10000' }],
    })
    expect(answer.headers['Content-Length']).toBe(String(answer.body.length))
    expect(answer.headers['Vary']).toContain('X-PAYMENT')
    expect(answer.varying?.map(([name]) => name)).toEqual(['PAYMENT-REQUIRED'])
    const own = dialects.prepare(offer).answerWith(parts, incomingWith({ 'payment-accept': 'sig' }))
    expect(JSON.parse(own.body)).not.toHaveProperty('accepts')
  })

  it.each([
    ['for SOL alone', { acceptedMints: ['SOL'], amounts: { SOL: 5n } }],
    ['of several requests', { allowance: bundle }],
    ['that the service does not sponsor', { isUnsponsored: true }],
  ] as const)('cannot sell an offer %s', (_, more) => {
    expect(v1.prepareMembers?.({ ...offer, ...more })).toBeUndefined()
  })

  it('adds nothing if the proof is not bare, or while the sponsor does not pay', () => {
    const changing = createSponsor()
    const write = createX402V1({ network: 'localnet', sponsor: changing }).prepareMembers?.(offer)
    expect(write?.({ ...parts, proof: 'sig' })).toBe('')
    changing.offering = false
    expect(write?.(parts)).toBe('')
    changing.offering = true
    expect(write?.(parts)).toContain(changing.address)
  })

  it('reads X-PAYMENT only, which names no challenge', () => {
    expect(v1.read(incomingWith({ 'payment-signature': 'e30=' }))).toBeUndefined()
    expect(v1.read(incomingWith({ 'x-payment': '' }))?.kind).toBe('malformed')
    const payment = { x402Version: 1, scheme: 'exact', payload: { transaction: 'QQ==' } }
    const header = Buffer.from(JSON.stringify(payment)).toString('base64')
    expect(v1.read(incomingWith({ 'x-payment': header }))).toEqual({
      kind: 'credential',
      credential: { transaction: Uint8Array.of(65), isUnnamed: true },
    })
  })

  it.each(Object.keys(refusals) as RefusalCode[])('has the same status for %s as version 2', (code) => {
    const v2 = createX402({ network: 'localnet', sponsor })
    for (const facts of [{}, { tx }]) {
      const [mine, theirs] = [v1.refusal(refuse(code), facts), v2.refusal(refuse(code), facts)]
      expect(mine.status).toBe(theirs.status)
      expect(mine.headers).toHaveLength(theirs.headers.length)
    }
  })
})
