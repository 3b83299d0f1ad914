import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { size } from '../../../tests/harness/length.ts'
import { token2022Program } from '../money/tokens.ts'
import { refusals } from '../payment/refusals.ts'
import type { MppTerms } from './mpp.ts'
import { mppProblems, parseMppAccept, parseMppCredential, prepareMppCharge } from './mpp.ts'

const requestId = 'AQAAac3dAHgBAgMEBQYHCAkKCwwBkE4BI0VniavN7wABAgMEBQYHCAkKCwwNDg8'
const claim = 'AAECAwQFBgcICQoLDA0ODw'
const expiresAt = '2026-01-31T00:00:00Z'
const mint = { address: '6r2kFDVUvhgXMh5VZqKpXyWB1HyiaJr1knnDYMfNpZbM', decimals: 9, tokenProgram: token2022Program }
const recentBlockhash = 'GfVcyD4kkTrj4bKc7WA9sZCin9JDbdT4Zkd3EittNR1W'
const feePayer = '2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4'
const recipient = 'E55ojb7ZvwmDg1e7aqCZ5cCUt1pdd5KSpR2jTnmzqMxR'
const terms: MppTerms = { realm: 'api.example', network: 'mainnet', recipient, units: 10_000n, mint }
const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
const decode = (text: string): unknown => JSON.parse(Buffer.from(text, 'base64url').toString())
const requestIn = (challenge: string) => /request="([\w-]+)"/.exec(challenge)?.[1] ?? ''

describe('the challenge of a charge', () => {
  it('has these bytes', () => {
    expect(
      prepareMppCharge({ ...terms, feePayer, recentBlockhash })({ requestId, claim, expiresAt }),
    ).toMatchInlineSnapshot(
      `"Payment id="AQAAac3dAHgBAgMEBQYHCAkKCwwBkE4BI0VniavN7wABAgMEBQYHCAkKCwwNDg8.AAECAwQFBgcICQoLDA0ODw", realm="api.example", method="solana", intent="charge", request="eyJhbW91bnQiOiIxMDAwMCIsImN1cnJlbmN5IjoiNnIya0ZEVlV2aGdYTWg1VlpxS3BYeVdCMUh5aWFKcjFrbm5EWU1mTnBaYk0iLCJleHRlcm5hbElkIjoiQVFBQWFjM2RBSGdCQWdNRUJRWUhDQWtLQ3d3QmtFNEJJMFZuaWF2Tjd3QUJBZ01FQlFZSENBa0tDd3dORGc4IiwibWV0aG9kRGV0YWlscyI6eyJkZWNpbWFscyI6OSwiZmVlUGF5ZXIiOnRydWUsImZlZVBheWVyS2V5IjoiMndLdXBMUjlxNndYWXBwdzhHcjJOdld4S0JVcW00UFBKS2tRZm94SERCZzQiLCJuZXR3b3JrIjoibWFpbm5ldC1iZXRhIiwicmVjZW50QmxvY2toYXNoIjoiR2ZWY3lENGtrVHJqNGJLYzdXQTlzWkNpbjlKRGJkVDRaa2QzRWl0dE5SMVciLCJ0b2tlblByb2dyYW0iOiJUb2tlbnpRZEJOYkxxUDVWRWhka0FTNkVQRkxDMVBIbkJxQ1hFcFB4dUViIn0sInJlY2lwaWVudCI6IkU1NW9qYjdadndtRGcxZTdhcUNaNWNDVXQxcGRkNUtTcFIyalRubXpxTXhSIn0", expires="2026-01-31T00:00:00Z""`,
    )
  })

  const tokenDetails = { decimals: 9, tokenProgram: token2022Program }
  it.each([
    ['for a token', {}, mint.address, { ...tokenDetails, network: 'mainnet-beta' }],
    [
      'that the service sponsors',
      { feePayer, recentBlockhash },
      mint.address,
      { ...tokenDetails, feePayer: true, feePayerKey: feePayer, network: 'mainnet-beta', recentBlockhash },
    ],
    ['on devnet', { network: 'devnet' as const }, mint.address, { ...tokenDetails, network: 'devnet' }],
    ['on a localnet', { network: 'localnet' as const }, mint.address, { ...tokenDetails, network: 'localnet' }],
    ['for SOL', { mint: undefined }, 'sol', { network: 'mainnet-beta' }],
    [
      'for SOL that the service sponsors',
      { mint: undefined, feePayer },
      'sol',
      { feePayer: true, feePayerKey: feePayer, network: 'mainnet-beta' },
    ],
  ])('%s is canonical JSON', (_, more, currency, methodDetails) => {
    const challenge = prepareMppCharge({ ...terms, ...more })({ requestId, claim, expiresAt })
    const request = { amount: '10000', currency, externalId: requestId, methodDetails, recipient }
    expect(decode(requestIn(challenge))).toEqual(request)
    const sortedKeys = [...Object.keys(request), ...Object.keys(methodDetails)].sort()
    expect(requestIn(challenge)).toBe(Buffer.from(JSON.stringify(request, sortedKeys)).toString('base64url'))
    expect(challenge).toBe(
      `Payment id="${requestId}.${claim}", realm="api.example", method="solana", intent="charge", ` +
        `request="${requestIn(challenge)}", expires="${expiresAt}"`,
    )
  })

  it('escapes the realm', () => {
    const challenge = prepareMppCharge({ ...terms, realm: 'a "b" \\' })({ requestId, claim, expiresAt })
    expect(challenge).toContain('realm="a \\"b\\" \\\\"')
  })
})

const transaction = Buffer.alloc(300, 7)
const tx = '5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZkQUW'
const request = { amount: '1', externalId: requestId, methodDetails: { network: 'devnet' } }
const id = `${requestId}.${claim}`
const challenge = { id, realm: 'api.example', method: 'solana', intent: 'charge', request: encode(request) }
const pull = { challenge, payload: { type: 'transaction', transaction: transaction.toString('base64') } }
const push = { challenge, payload: { type: 'signature', signature: tx } }
const read = (value: unknown) => parseMppCredential(`Payment ${encode(value)}`, 'api.example')

describe('the credential of a charge', () => {
  const submitted = { kind: 'transaction', transaction: Uint8Array.from(transaction), requestId, claim }

  it('yields a transaction or a signature, with the requestId and the claim', () => {
    expect(read(pull)).toEqual(submitted)
    expect(read(push)).toEqual({ kind: 'signature', tx, requestId, claim })
  })

  it('yields no claim if its id has none', () => {
    const value = { ...pull, challenge: { ...challenge, id: requestId } }
    expect(read(value)).toEqual({ ...submitted, claim: undefined })
  })

  it('may have padding, more space and another case of the scheme', () => {
    const padded = Buffer.from(JSON.stringify(pull)).toString('base64').replaceAll('+', '-').replaceAll('/', '_')
    expect(parseMppCredential(`payment  ${padded}`, 'api.example')).toEqual(submitted)
    expect(parseMppCredential(`PAYMENT\t${encode(pull)}`, 'api.example')).toEqual(submitted)
  })

  it.each(['', 'Bearer abc', 'Basic YTpi', 'Payments abc', 'Payment', 'Digest a="Payment b"'])(
    'is not in the header %j',
    (header) => {
      expect(parseMppCredential(header, 'api.example')).toBeUndefined()
    },
  )

  const withChallenge = (more: object) => ({ challenge: { ...challenge, ...more } })
  const broken: readonly (readonly [string, object, string])[] = [
    ['has no challenge', { challenge: undefined }, 'no challenge'],
    ['is of another method', withChallenge({ method: 'tempo' }), 'solana/charge'],
    ['is of another intent', withChallenge({ intent: 'session' }), 'solana/charge'],
    ['is of another realm', withChallenge({ realm: 'other.example' }), 'realm'],
    ['has no request', withChallenge({ request: undefined }), 'challenge.request'],
    ['has a request that is no text', withChallenge({ request }), 'challenge.request'],
    ['has a request that is no JSON', withChallenge({ request: 'QQ' }), 'challenge.request'],
    ['has no id', withChallenge({ id: undefined }), 'challenge.id'],
    ['has an id with a space', withChallenge({ id: 'a b', request: encode({ externalId: 'a b' }) }), 'not a requestId'],
    ['has another id', withChallenge({ id: `${requestId}A` }), 'externalId'],
    ['has an empty claim', withChallenge({ id: `${requestId}.` }), 'claim'],
    ['has a short claim', withChallenge({ id: `${requestId}.short` }), 'claim'],
    ['has two claims', withChallenge({ id: `${id}.${claim}` }), 'claim'],
    ['has no externalId', withChallenge({ request: encode({}) }), 'externalId'],
  ]

  it.each(broken)('is malformed if it %s', (_, more, why) => {
    const expected = { kind: 'malformed', why: expect.stringContaining(why) }
    expect(read({ ...pull, ...more })).toMatchObject({ ...expected, isSent: false })
    expect(read({ ...push, ...more })).toMatchObject({ ...expected, isSent: true })
  })

  it.each([
    ['is not base64', 'Payment !', 'JSON object'],
    ['is standard base64', `Payment ${Buffer.from('{"a":"??>"}').toString('base64')}`, 'JSON object'],
    ['came twice', `Payment ${encode(pull)}, Payment ${encode(pull)}`, 'JSON object'],
    ['is a list', `Payment ${encode([pull])}`, 'JSON object'],
    ['has no payload', `Payment ${encode({ challenge })}`, 'payload'],
    ['is longer than 8 KiB', `Payment ${encode({ ...pull, pad: 'x'.repeat(8000) })}`, 'longer than 8192'],
    ['has another type', `Payment ${encode({ challenge, payload: { type: 'key' } })}`, 'payload.type'],
    ['has no transaction', `Payment ${encode({ challenge, payload: { type: 'transaction' } })}`, 'payload.transaction'],
    [
      'has a transaction of 1,233 bytes',
      `Payment ${encode({ challenge, payload: { type: 'transaction', transaction: Buffer.alloc(1233).toString('base64') } })}`,
      'payload.transaction',
    ],
  ])('is malformed if it %s', (_, header, why) => {
    const expected = { kind: 'malformed', why: expect.stringContaining(why), isSent: false }
    expect(parseMppCredential(header, 'api.example')).toEqual(expected)
  })

  it.each([
    ['has no signature', { ...push, payload: { type: 'signature' } }, 'payload.signature'],
    ['has a short signature', { ...push, payload: { type: 'signature', signature: recipient } }, 'payload.signature'],
    [
      'pays a sponsored charge itself',
      { ...push, challenge: { ...challenge, request: encode({ ...request, methodDetails: { feePayer: true } }) } },
      'sponsored',
    ],
  ])('is malformed but sent if it %s', (_, value, why) => {
    expect(read(value)).toEqual({ kind: 'malformed', why: expect.stringContaining(why), isSent: true })
  })

  it('never makes the parser throw', () => {
    const json = fc.jsonValue()
    const headers = fc.oneof(
      fc.string().map((text) => `Payment ${text}`),
      fc.string(),
      json.map((value) => `Payment ${encode(value)}`),
      json.map((payload) => `Payment ${encode({ challenge, payload })}`),
      json.map((value) => `Payment ${encode({ ...push, challenge: value })}`),
      json.map((value) => `Payment ${encode({ ...push, challenge: { ...challenge, request: encode(value) } })}`),
      json.map((value) => `Payment ${encode({ ...push, payload: { type: 'signature', signature: value } })}`),
    )
    fc.assert(
      fc.property(headers, (header) => {
        expect([undefined, 'transaction', 'signature', 'malformed']).toContain(
          parseMppCredential(header, 'api.example')?.kind,
        )
      }),
      { numRuns: size(300, 20_000) },
    )
  })
})

describe('Accept-Payment', () => {
  it.each([
    [undefined, 'any'],
    ['', 'any'],
    ['nonsense', 'any'],
    ['solana/charge, nonsense', 'any'],
    ['solana/charge;q=2', 'any'],
    ['solana/charge', 'only_charge'],
    [' solana/charge ; q=0.5', 'only_charge'],
    ['solana/charge, tempo/charge;q=0', 'only_charge'],
    ['solana/charge, tempo/charge', 'charge'],
    ['solana/*', 'charge'],
    ['*/charge', 'charge'],
    ['*/*', 'charge'],
    ['*/*, tempo/charge;q=0', 'charge'],
    ['*/*;q=0, solana/charge', 'only_charge'],
    ['tempo/charge', 'other'],
    ['solana/session', 'other'],
    ['solana/charge;q=0', 'other'],
    ['solana/charge;q=0.000, */*', 'other'],
    ['*/*, solana/*;q=0', 'other'],
    ['evm/charge, tempo/session;q=0.1', 'other'],
  ])('%j states the preference %s', (header, preference) => {
    expect(parseMppAccept(header)).toBe(preference)
  })
})

it('names a problem type of MPP for every final refusal of a payment', () => {
  const final = Object.entries(refusals).flatMap(([code, row]) => (row.status === 403 && !row.retryable ? [code] : []))
  expect(Object.keys(mppProblems).sort()).toEqual([...final, 'payment_in_progress', 'payment_replay'].sort())
  expect(mppProblems.underpaid).toBe('https://paymentauth.org/problems/verification-failed')
})
