import { describe, expect, it } from 'vitest'
import { bundle, createSponsor, incomingWith, offer, parts } from '../../tests/harness/foreign-fixture.ts'
import type { HeaderPairs } from '../core/http/http.ts'
import type { RefusalCode } from '../core/payment/refusals.ts'
import { refusals, refuse } from '../core/payment/refusals.ts'
import { createMpp } from './mpp.ts'

const tx = '5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZkQUW'
const mpp = createMpp({ realm: 'a.example', sponsor: undefined, push: false })
const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

function requestIn(pairs: HeaderPairs | undefined): unknown {
  const text = /request="([\w-]+)"/.exec(pairs?.[0]?.[1] ?? '')?.[1] ?? ''
  return JSON.parse(Buffer.from(text, 'base64url').toString())
}

describe('the MPP dialect', () => {
  it('adds one challenge, with its id and expiry', () => {
    const headers = mpp.prepare(offer)?.(parts)
    expect(headers?.map(([name]) => name)).toEqual(['WWW-Authenticate'])
    const [[, value = ''] = []] = headers ?? []
    expect(value).toMatch(
      new RegExp(`^Payment id="${parts.requestId}\\.[\\w-]{22}", realm="a.example", method="solana", `),
    )
    expect(value).toMatch(/ expires="2099-01-31T00:00:00Z"$/)
    expect(mpp.prepare(offer)?.(parts)).not.toEqual(headers)
    expect(requestIn(headers)).toMatchObject({ amount: '10000', currency: offer.mints.USDC?.address })
  })

  it.each([
    ['USDC before other tokens', ['SOL', 'NATIVE', 'USDC'], offer.mints.USDC?.address],
    ['a token before SOL', ['SOL', 'NATIVE'], offer.mints.NATIVE?.address],
    ['SOL alone', ['SOL'], 'sol'],
  ] as const)('charges %s', (_, acceptedMints, currency) => {
    const amounts = { NATIVE: 5n, SOL: 6n, USDC: 7n }
    expect(requestIn(mpp.prepare({ ...offer, acceptedMints, amounts })?.(parts))).toMatchObject({ currency })
  })

  it.each([
    ['of a token without a mint', { mints: {} }],
    ['of nothing', { amounts: { USDC: 0n } }],
    ['of several requests', { allowance: bundle }],
  ] as const)('cannot sell an offer %s', (_, more) => {
    expect(mpp.prepare({ ...offer, ...more })).toBeUndefined()
  })

  it('adds nothing if the proof is not bare', () => {
    const write = mpp.prepare(offer)
    expect(write?.({ ...parts, proof: 'claim' })).toEqual([])
    expect(write?.({ ...parts, proof: 'sig' })).toEqual([])
  })

  it('names the fee payer exactly while the sponsor pays, and its latest blockhash', () => {
    const sponsor = createSponsor()
    const write = createMpp({ realm: 'a.example', sponsor, push: false }).prepare(offer)
    const details = () => (requestIn(write?.(parts)) as { methodDetails: object }).methodDetails
    const { decimals, tokenProgram } = offer.mints.USDC ?? {}
    const unsponsored = { decimals, network: 'localnet', tokenProgram }
    const sponsored = { ...unsponsored, feePayer: true, feePayerKey: sponsor.address }
    expect(details()).toEqual(sponsored)
    sponsor.blockhash = offer.recipient
    expect(details()).toEqual({ ...sponsored, recentBlockhash: offer.recipient })
    sponsor.offering = false
    expect(details()).toEqual({ ...unsponsored, recentBlockhash: offer.recipient })
    sponsor.blockhash = undefined
    expect(details()).toEqual(unsponsored)
    sponsor.offering = true
    expect(details()).toEqual(sponsored)
  })

  it.each([
    [{}, true],
    [{ 'payment-accept': 'sig' }, false],
    [{ 'accept-payment': 'solana/charge' }, true],
    [{ 'accept-payment': '*/*' }, true],
    [{ 'accept-payment': 'evm/charge' }, false],
    [{ 'accept-payment': 'solana/charge;q=0' }, false],
  ])('for a request with %j is wanted: %s', (headers, isWanted) => {
    expect(mpp.isWanted(incomingWith(headers))).toBe(isWanted)
  })

  it('adds nothing to a paid response', () => {
    expect(mpp.paid({ tx, payer: offer.recipient, requestId: 'rid_1' })).toEqual([])
  })
})

describe('a credential of MPP', () => {
  const claim = 'AAECAwQFBgcICQoLDA0ODw'
  const echo = (realm: string) => ({
    id: `rid_1.${claim}`,
    realm,
    method: 'solana',
    intent: 'charge',
    request: encode({ externalId: 'rid_1' }),
  })
  const read = (payload: object, { realm = 'a.example', push = false } = {}) =>
    createMpp({ realm: 'a.example', sponsor: undefined, push }).read(
      incomingWith({ authorization: `Payment ${encode({ challenge: echo(realm), payload })}` }),
    )
  const pulled = { type: 'transaction', transaction: 'QQ==' }
  const pushed = { type: 'signature', signature: tx }

  it('is a transaction to send', () => {
    const credential = { transaction: Uint8Array.of(65), requestId: 'rid_1', claim }
    expect(read(pulled)).toEqual({ kind: 'credential', credential })
    expect(read(pulled, { push: true })).toEqual({ kind: 'credential', credential })
  })

  it('is the signature of a sent transaction only if the service accepts that', () => {
    expect(read(pushed, { push: true })).toEqual({ kind: 'signature', tx, requestId: 'rid_1', claim })
    expect(read(pushed)).toMatchObject({ kind: 'refused', code: 'transaction_invalid' })
  })

  it('has no fresh challenge if the client has sent the payment', () => {
    const refusal = read(pushed, { push: true, realm: 'b.example' })
    expect(refusal).toMatchObject({ kind: 'refused', code: 'transaction_invalid' })
    expect(refusal?.kind === 'refused' && mpp.isFresh(refusal)).toBe(false)
    expect(read(pulled, { realm: 'b.example' })).toMatchObject({ kind: 'malformed' })
  })

  it.each([[{}], [{ authorization: 'Bearer abc' }], [{ 'payment-signature': 'e30=' }]])(
    'is not in a request with %j',
    (headers) => {
      expect(mpp.read(incomingWith(headers))).toBeUndefined()
    },
  )
})

describe('a refusal in MPP', () => {
  const problem = (name: string) => `https://paymentauth.org/problems/${name}`

  it.each([
    ['proof_malformed', 402, problem('malformed-credential')],
    ['quote_expired', 402, problem('payment-expired')],
    ['underpaid', 402, problem('verification-failed')],
    ['transaction_invalid', 402, problem('verification-failed')],
    ['tx_failed', 402, problem('verification-failed')],
    ['unknown_request', 402, problem('invalid-challenge')],
    ['payment_in_progress', 409, problem('invalid-challenge')],
    ['payment_replay', 409, problem('invalid-challenge')],
    ['settlement_pending', 503, undefined],
    ['tx_not_found', 503, undefined],
    ['sponsor_exhausted', 503, undefined],
    ['rate_limited', 429, undefined],
    ['handler_failed', 502, undefined],
  ] as const)('%s has status %s and type %s', (code, status, type) => {
    expect(mpp.refusal(refuse(code), { tx })).toEqual({ status, headers: [], ...(type && { type }) })
  })

  it('has a fresh challenge only if nothing was paid', () => {
    const fresh = (Object.keys(refusals) as RefusalCode[]).filter((code) => mpp.isFresh(refuse(code)))
    expect(fresh).toEqual(['proof_malformed', 'quote_expired'])
  })
})
