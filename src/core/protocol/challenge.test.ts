import { describe, expect, it } from 'vitest'
import { asciiJson } from '../http/http.ts'
import { knownMints } from '../money/tokens.ts'
import { type Offer, prepareChallenge, readChallenge } from './challenge.ts'
import type { ProofKind } from './request-id.ts'

const recipient = '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin'
const offer: Offer = {
  recipient,
  currency: 'USDC',
  price: 10_000n,
  acceptedMints: ['USDC', 'SOL'],
  amounts: { USDC: 10_000n, SOL: 66_667n },
  mints: knownMints.localnet,
  network: 'localnet',
  genesis: 'G',
  allowance: { unit: 'request', amount: 1n },
  description: 'a "quoted" thing',
}
const write = prepareChallenge(offer)
const parts = {
  requestId: 'rid',
  resource: asciiJson('http://a.example/x?"<é'),
  expiresAt: '2026-01-01T00:05:00Z',
  proof: 'bare',
} as const

describe('challenge', () => {
  it('holds the required fields in their order, then the optional ones', () => {
    const value = JSON.parse(write(parts))
    expect(Object.keys(value).slice(0, 7)).toEqual([
      'status',
      'requestId',
      'recipient',
      'amount',
      'currency',
      'acceptedMints',
      'instructions',
    ])
    expect(value).toMatchObject({
      status: 402,
      requestId: 'rid',
      recipient,
      amount: '0.01',
      currency: 'USDC',
      acceptedMints: ['USDC', 'SOL'],
      amounts: { USDC: '0.01', SOL: '0.000066667' },
      mints: { USDC: knownMints.localnet.USDC },
      network: 'localnet',
      genesis: 'G',
      resource: JSON.parse(parts.resource),
      expiresAt: parts.expiresAt,
      allowance: { unit: 'request', amount: '1' },
      proof: [],
      payUrl: `solana:${recipient}?amount=0.01&spl-token=${knownMints.localnet.USDC?.address}&memo=rid`,
      description: 'a "quoted" thing',
    })
    expect(value.mints).not.toHaveProperty('SOL')
  })

  it('tells a person the next step, with the header ready to paste', () => {
    const { instructions } = JSON.parse(write({ ...parts, proof: 'claim' }))
    expect(instructions).toContain('Pay 0.01 USDC or 0.000066667 SOL to')
    expect(instructions).toContain(
      'Payment-Proof: tx=<transaction signature>; requestId=rid; payer=<your wallet address>; claim=',
    )
  })

  it('names the payment page, except for requests that only the payer can sign', () => {
    const onPage = prepareChallenge({ ...offer, payPage: 'https://shop.example/pay/' })
    const urlFor = (proof: ProofKind) => JSON.parse(onPage({ ...parts, proof })).payUrl
    expect([urlFor('bare'), urlFor('claim')]).toEqual(Array(2).fill('https://shop.example/pay/rid'))
    expect(urlFor('sig')).toMatch(/^solana:/)
  })

  it('is read back by the client', () => {
    expect(readChallenge(JSON.parse(write(parts)))).toEqual(JSON.parse(write(parts)))
  })

  it('reads a challenge that has only the required fields', () => {
    const { requestId, amount, currency, acceptedMints, instructions } = JSON.parse(write(parts))
    expect(readChallenge({ requestId, recipient, amount, currency, acceptedMints, instructions })).toMatchObject({
      requestId,
    })
  })

  it.each([
    null,
    [],
    'text',
    {},
    ...[
      { requestId: 'a b' },
      { requestId: 5 },
      { amount: 1 },
      { amount: '1e3' },
      { amount: '-1' },
      { currency: 'btc' },
      { acceptedMints: [] },
      { acceptedMints: ['btc'] },
      { acceptedMints: 'USDC' },
      { recipient: 7 },
      { instructions: null },
    ].map((change) => ({ ...JSON.parse(write(parts)), ...change })),
  ])('does not take %j for a challenge', (value) => {
    expect(readChallenge(value)).toBeUndefined()
  })

  it.each(['19', '1000000', '18446744073709.551615'])('is one for a price of %s', (amount) => {
    const value = { ...JSON.parse(write(parts)), amount, amounts: { USDC: amount } }
    expect(readChallenge(value)).toMatchObject({ amount, amounts: { USDC: amount } })
  })

  it('states the allowance if it is more than one request, and the message to sign', () => {
    const wide = prepareChallenge({
      recipient,
      currency: 'USDC',
      price: 10_000n,
      acceptedMints: ['USDC'],
      amounts: { USDC: 10_000n },
      mints: knownMints.localnet,
      network: 'localnet',
      allowance: { unit: 'request', amount: 100n },
    })
    const { instructions, scope } = JSON.parse(wide({ ...parts, proof: 'sig', scope: 'abc' }))
    expect(scope).toBe('abc')
    expect(instructions).toContain('This buys 100 requests')
    expect(instructions).toMatch(/section 5; .* Payment-Accept: claim=<base64url SHA-256 of a secret of yours>/)
    expect(JSON.parse(write(parts)).instructions).not.toContain('This buys')
  })

  it('T112: has no text that a terminal obeys, when a client reads it', () => {
    const evil = 'a\u001b[8m\r\nb\u009b31m\u202ec\u2066'
    const odd = {
      ...JSON.parse(write(parts)),
      ...{ recipient: evil, instructions: evil, description: evil, resource: evil, expiresAt: evil, payUrl: evil },
      ...{ proof: [evil], genesis: evil, scope: evil, splits: [{ recipient: evil, amounts: { USDC: '1' } }] },
    }
    const read = readChallenge(odd)
    expect(read?.description).toBe('a [8m b 31m c ')
    expect(JSON.stringify(read)).not.toMatch(/\\u00|\\r|\\n|\u009b|\u202e|\u2066/)
  })

  it('omits fields with the wrong form', () => {
    const odd = {
      ...JSON.parse(write(parts)),
      amounts: { USDC: 5, SOL: '1' },
      mints: { USDC: 'x' },
      network: 'moon',
      proof: [1],
      allowance: 3,
    }
    const read = readChallenge(odd)
    expect(read).toMatchObject({ amounts: { SOL: '1' }, mints: {} })
    expect(read).not.toHaveProperty('network')
    expect(read).not.toHaveProperty('proof')
    expect(read).not.toHaveProperty('allowance')
  })
})
