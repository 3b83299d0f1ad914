import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { size } from '../../../tests/harness/length.ts'
import type { X402Terms } from './x402.ts'
import { formatX402Settlement, parseX402Signature, prepareX402Required, x402Networks } from './x402.ts'

const requestId = 'AQAAac3dAHgBAgMEBQYHCAkKCwwBkE4BI0VniavN7wABAgMEBQYHCAkKCwwNDg8'
const claim = 'AAECAwQFBgcICQoLDA0ODw'
const terms: X402Terms = {
  network: 'mainnet',
  recipient: 'E55ojb7ZvwmDg1e7aqCZ5cCUt1pdd5KSpR2jTnmzqMxR',
  feePayer: '2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4',
  entries: [{ mint: 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v', units: 10_000n }],
}
const resource = '"https://api.example/x"'
const decode = (header: string): unknown => JSON.parse(Buffer.from(header, 'base64').toString())
const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64')

describe('PAYMENT-REQUIRED', () => {
  it('states the terms, the requestId, the claim and the short memo', () => {
    expect(decode(prepareX402Required(terms)({ requestId, claim, resource }))).toEqual({
      x402Version: 2,
      error: 'Payment required',
      resource: { url: 'https://api.example/x', description: '', mimeType: '' },
      accepts: [
        {
          scheme: 'exact',
          network: 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp',
          amount: '10000',
          asset: 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v',
          payTo: terms.recipient,
          maxTimeoutSeconds: 60,
          extra: { feePayer: terms.feePayer, requestId, claim, memo: requestId.slice(-32) },
        },
      ],
      extensions: {},
    })
  })

  it('has these bytes', () => {
    expect(prepareX402Required(terms)({ requestId, claim, resource })).toMatchInlineSnapshot(
      `"eyJ4NDAyVmVyc2lvbiI6MiwiZXJyb3IiOiJQYXltZW50IHJlcXVpcmVkIiwicmVzb3VyY2UiOnsidXJsIjoiaHR0cHM6Ly9hcGkuZXhhbXBsZS94IiwiZGVzY3JpcHRpb24iOiIiLCJtaW1lVHlwZSI6IiJ9LCJhY2NlcHRzIjpbeyJzY2hlbWUiOiJleGFjdCIsIm5ldHdvcmsiOiJzb2xhbmE6NWV5a3Q0VXNGdjhQOE5KZFRSRXBZMXZ6cUtxWkt2ZHAiLCJhbW91bnQiOiIxMDAwMCIsImFzc2V0IjoiRVBqRldkZDVBdWZxU1NxZU0ycU4xeHp5YmFwQzhHNHdFR0drWnd5VER0MXYiLCJwYXlUbyI6IkU1NW9qYjdadndtRGcxZTdhcUNaNWNDVXQxcGRkNUtTcFIyalRubXpxTXhSIiwibWF4VGltZW91dFNlY29uZHMiOjYwLCJleHRyYSI6eyJmZWVQYXllciI6IjJ3S3VwTFI5cTZ3WFlwcHc4R3IyTnZXeEtCVXFtNFBQSktrUWZveEhEQmc0IiwicmVxdWVzdElkIjoiQVFBQWFjM2RBSGdCQWdNRUJRWUhDQWtLQ3d3QmtFNEJJMFZuaWF2Tjd3QUJBZ01FQlFZSENBa0tDd3dORGc4IiwiY2xhaW0iOiJBQUVDQXdRRkJnY0lDUW9MREEwT0R3IiwibWVtbyI6IkJJMFZuaWF2Tjd3QUJBZ01FQlFZSENBa0tDd3dORGc4In19XSwiZXh0ZW5zaW9ucyI6e319"`,
    )
  })

  it('has one entry for each token, the blockhash and the description', () => {
    const other = { mint: '6r2kFDVUvhgXMh5VZqKpXyWB1HyiaJr1knnDYMfNpZbM', units: 7n }
    const recentBlockhash = 'GfVcyD4kkTrj4bKc7WA9sZCin9JDbdT4Zkd3EittNR1W'
    const write = prepareX402Required({
      ...terms,
      network: 'localnet',
      recentBlockhash,
      description: 'A "weather" report for Zürich',
      entries: [...terms.entries, other],
    })
    const extra = { feePayer: terms.feePayer, recentBlockhash, requestId, claim, memo: requestId.slice(-32) }
    expect(decode(write({ requestId, claim, resource }))).toMatchObject({
      resource: { description: 'A "weather" report for Zürich' },
      accepts: [
        { network: x402Networks.devnet, amount: '10000', asset: terms.entries[0]?.mint, extra },
        { network: x402Networks.devnet, amount: '7', asset: other.mint, extra },
      ],
    })
  })

  it('is the base64 of the same text for every length of address and requestId', () => {
    const write = prepareX402Required(terms)
    fc.assert(
      fc.property(fc.webUrl(), fc.stringMatching(/^[\w-]{1,128}$/), (url, id) => {
        const header = write({ requestId: id, claim, resource: JSON.stringify(url) })
        const value = decode(header)
        expect(value).toMatchObject({
          resource: { url },
          accepts: [{ extra: { requestId: id, claim, memo: id.slice(-32) } }],
        })
        expect(encode(value)).toBe(header)
      }),
      { numRuns: size(60, 2_000) },
    )
  })
})

const transaction = Buffer.alloc(300, 7)
const payload = {
  x402Version: 2,
  resource: { url: 'https://api.example/x' },
  accepted: { scheme: 'exact', network: x402Networks.mainnet, extra: { requestId, claim } },
  payload: { transaction: transaction.toString('base64') },
}

describe('PAYMENT-SIGNATURE', () => {
  it('yields the transaction, the requestId and the claim', () => {
    const reading = { kind: 'credential', transaction: Uint8Array.from(transaction), requestId, claim }
    expect(parseX402Signature(encode(payload))).toEqual(reading)
  })

  it.each([
    ['no extra', { scheme: 'exact' }],
    ['an empty extra', { scheme: 'exact', extra: {} }],
    ['a null extra', { scheme: 'exact', extra: null }],
  ])('yields no requestId and no claim from %s', (_, accepted) => {
    const reading = parseX402Signature(encode({ ...payload, accepted }))
    const none = { requestId: undefined, claim: undefined }
    expect(reading).toEqual({ kind: 'credential', transaction: Uint8Array.from(transaction), ...none })
  })

  it('takes a transaction of 1,232 bytes', () => {
    const longest = { ...payload, payload: { transaction: Buffer.alloc(1232).toString('base64') } }
    expect(parseX402Signature(encode(longest)).kind).toBe('credential')
  })

  const header = encode(payload)
  it.each([
    ['is empty', '', 'JSON object'],
    ['is not base64', 'not base64!', 'JSON object'],
    ['lacks its padding', 'e30', 'JSON object'],
    ['is URL-safe base64', Buffer.from('{"a":"??>"}').toString('base64url'), 'JSON object'],
    ['came twice', `${header}, ${header}`, 'JSON object'],
    ['is not JSON', Buffer.from('{').toString('base64'), 'JSON object'],
    ['is not UTF-8', Buffer.from(JSON.stringify({ ...payload, pad: 'ÿ' }), 'latin1').toString('base64'), 'JSON object'],
    ['is a list', encode([payload]), 'JSON object'],
    ['is null', encode(null), 'JSON object'],
    ['is of version 1', encode({ ...payload, x402Version: 1 }), 'x402Version'],
    ['is of no version', encode({ ...payload, x402Version: undefined }), 'x402Version'],
    ['accepted nothing', encode({ ...payload, accepted: undefined }), 'accepted.scheme'],
    ['has another scheme', encode({ ...payload, accepted: { scheme: 'upto' } }), 'accepted.scheme'],
    ['has a number for a requestId', encode(withRequestId(1)), 'requestId'],
    ['has null for a requestId', encode(withRequestId(null)), 'requestId'],
    ['has a requestId with a space', encode(withRequestId('a b')), 'requestId'],
    ['has a requestId of 129 characters', encode(withRequestId('a'.repeat(129))), 'requestId'],
    ['has a number for a claim', encode(withClaim(1)), 'claim'],
    ['has null for a claim', encode(withClaim(null)), 'claim'],
    ['has a short claim', encode(withClaim('short')), 'claim'],
    ['has no payload', encode({ ...payload, payload: undefined }), 'payload.transaction'],
    ['has no transaction', encode({ ...payload, payload: {} }), 'payload.transaction'],
    ['has an empty transaction', encode(withTransaction('')), 'payload.transaction'],
    ['has a transaction without padding', encode(withTransaction('QQ')), 'payload.transaction'],
    ['has a transaction in URL-safe base64', encode(withTransaction('__8=')), 'payload.transaction'],
    ['has a transaction of 1,233 bytes', encode(withTransaction(Buffer.alloc(1233).toString('base64'))), 'payload.tra'],
    ['has a list for a transaction', encode({ ...payload, payload: { transaction: [1] } }), 'payload.transaction'],
    ['is longer than 8 KiB', encode({ ...payload, pad: 'x'.repeat(8000) }), 'longer than 8192'],
  ])('is malformed if it %s', (_, text, why) => {
    expect(parseX402Signature(text)).toMatchObject({ kind: 'malformed', why: expect.stringContaining(why) })
  })

  it('never makes the parser throw', () => {
    fc.assert(
      fc.property(hostileHeader(), (text) => {
        expect(['credential', 'malformed']).toContain(parseX402Signature(text).kind)
      }),
      { numRuns: size(300, 20_000) },
    )
  })
})

function withRequestId(id: unknown) {
  return { ...payload, accepted: { scheme: 'exact', extra: { requestId: id } } }
}

function withClaim(secret: unknown) {
  return { ...payload, accepted: { scheme: 'exact', extra: { requestId, claim: secret } } }
}

function withTransaction(text: string) {
  return { ...payload, payload: { transaction: text } }
}

/** Arbitrary text, arbitrary JSON, and a real payload with one value replaced. */
function hostileHeader(): fc.Arbitrary<string> {
  const json = fc.jsonValue()
  const replaced = fc
    .record({ accepted: json, payload: json, x402Version: fc.constant(2) }, { requiredKeys: [] })
    .map((parts) => ({ ...payload, ...parts }))
  return fc.oneof(
    fc.string(),
    fc.base64String(),
    json.map(encode),
    replaced.map(encode),
    json.map((extra) => encode({ ...payload, accepted: { scheme: 'exact', extra } })),
    json.map((inner) => encode({ ...payload, payload: { transaction: inner } })),
  )
}

describe('PAYMENT-RESPONSE', () => {
  const tx = '5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZkQUW'

  it('reports a settled payment', () => {
    const header = formatX402Settlement({ success: true, network: 'devnet', tx, payer: terms.recipient })
    expect(decode(header)).toEqual({
      success: true,
      transaction: tx,
      network: x402Networks.devnet,
      payer: terms.recipient,
    })
  })

  it('reports a failure in ASCII, with an empty transaction if none was signed', () => {
    const header = formatX402Settlement({ success: false, network: 'mainnet', errorReason: 'no', errorMessage: 'für' })
    expect(header).toMatch(/^[A-Za-z0-9+/]+={0,2}$/)
    expect(decode(header)).toEqual({
      success: false,
      errorReason: 'no',
      errorMessage: 'für',
      transaction: '',
      network: x402Networks.mainnet,
    })
  })
})
