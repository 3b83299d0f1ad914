import { generateKeyPairSync, sign, verify } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { encodeBase64url } from '../encoding/base64url.ts'
import { formatReceipt, isReceiptGenuine, parseReceipt, type Receipt } from './receipt.ts'

const { privateKey, publicKey } = generateKeyPairSync('ed25519')
const rawKey = new Uint8Array(publicKey.export({ format: 'der', type: 'spki' }).subarray(-32))
const check = (_key: Uint8Array, text: Uint8Array, signature: Uint8Array) => verify(null, text, publicKey, signature)
const receipt: Receipt = {
  status: 'success',
  method: 'solana',
  reference: '5'.repeat(88),
  timestamp: '2026-01-01T00:00:00.000Z',
  requestId: 'abc',
  resource: 'https://a.example/x?y=ä',
  token: 'USDC',
  amount: '0.01',
  payer: 'pseudonym',
}
const header = formatReceipt(receipt, (text) => new Uint8Array(sign(null, text, privateKey)))

describe('receipt', () => {
  it('is read back, and its signature holds', () => {
    const read = parseReceipt(header)
    expect(read).toMatchObject(receipt)
    expect(read && isReceiptGenuine(read, rawKey, check)).toBe(true)
  })

  it.each(Object.keys(receipt))('is not genuine with another %s', (field) => {
    const read = parseReceipt(header)
    expect(read && isReceiptGenuine({ ...read, [field]: 'other' }, rawKey, check)).toBe(false)
  })

  it.each([
    '',
    '%%%',
    encodeBase64url(new TextEncoder().encode('[]')),
    encodeBase64url(new TextEncoder().encode('null')),
    encodeBase64url(new TextEncoder().encode('{"status":"success"}')),
    encodeBase64url(new TextEncoder().encode(JSON.stringify({ ...receipt, signature: 'x', payer: 'a\nb: c' }))),
    encodeBase64url(Uint8Array.of(0xff, 0xfe)),
  ])('does not read %j', (text) => {
    expect(parseReceipt(text)).toBeUndefined()
  })
})
