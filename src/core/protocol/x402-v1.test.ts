import { describe, expect, it } from 'vitest'
import { parseX402V1Payment, prepareX402V1Members } from './x402-v1.ts'

const terms = {
  network: 'localnet',
  recipient: 'E55ojb7ZvwmDg1e7aqCZ5cCUt1pdd5KSpR2jTnmzqMxR',
  feePayer: '2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4',
  description: 'Weather in "Zürich"',
  entries: [
    { mint: 'A', units: 7n },
    { mint: 'B', units: 8n },
  ],
} as const
const read = (members: string) => JSON.parse(`{${members}}`) as { error: string; accepts: object[] }

describe('the members of a 402 in x402 v1', () => {
  it('name each token with its amount', () => {
    const entry = {
      scheme: 'exact',
      network: 'solana-devnet',
      resource: 'http://a.example/',
      description: 'Weather in "Zürich"',
      mimeType: '',
      payTo: terms.recipient,
      maxTimeoutSeconds: 60,
      extra: { feePayer: terms.feePayer },
    }
    expect(read(prepareX402V1Members(terms)({ resource: '"http://a.example/"' }))).toEqual({
      x402Version: 1,
      error: 'X-PAYMENT header is required',
      accepts: [
        { ...entry, asset: 'A', maxAmountRequired: '7' },
        { ...entry, asset: 'B', maxAmountRequired: '8' },
      ],
    })
    expect(read(prepareX402V1Members(terms)({ resource: '""' }, 'invalid_payload')).error).toBe('invalid_payload')
  })

  it('are ASCII, and name mainnet solana', () => {
    const members = prepareX402V1Members({ ...terms, network: 'mainnet' })({ resource: '""' })
    expect(members).toMatch(/^[ -~]*$/)
    expect(read(members).accepts[0]).toMatchObject({ network: 'solana' })
  })
})

describe('X-PAYMENT', () => {
  const payment = { x402Version: 1, scheme: 'exact', network: 'solana', payload: { transaction: 'QQ==' } }
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64')

  it('contains a transaction', () => {
    expect(parseX402V1Payment(encode(payment))).toEqual({ kind: 'credential', transaction: Uint8Array.of(65) })
  })

  it.each([
    ['', 'JSON object'],
    ['e30', 'JSON object'],
    [encode([]), 'JSON object'],
    ['A'.repeat(8_196), 'longer than'],
    [encode({ ...payment, x402Version: 2 }), 'x402Version'],
    [encode({ ...payment, scheme: 'upto' }), 'scheme'],
    [encode({ ...payment, payload: undefined }), 'transaction'],
    [encode({ ...payment, payload: { transaction: '' } }), 'transaction'],
    [encode({ ...payment, payload: { transaction: Buffer.alloc(1_233).toString('base64') } }), 'transaction'],
  ])('%s is refused because of its %s', (header, why) => {
    expect(parseX402V1Payment(header)).toEqual({ kind: 'malformed', why: expect.stringContaining(why) })
  })
})
