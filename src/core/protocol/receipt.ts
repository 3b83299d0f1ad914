/**
 * Receipts: the payment and the purchased resource, signed by the service. A receipt can be verified offline with the
 * service's identity key. Its shape is MPP's (`status method reference timestamp`) plus paystile's own members.
 */
import { decodeBase64url, encodeBase64url } from '../encoding/base64url.ts'
import type { TokenCode } from '../money/tokens.ts'
import type { Encode } from './request-id.ts'

export const receiptHeader = 'Payment-Receipt'

export interface Receipt {
  readonly status: 'success'
  readonly method: 'solana'
  /** The transaction's signature. */
  readonly reference: string
  /** Time of the admission, in RFC 3339. */
  readonly timestamp: string
  readonly requestId: string
  readonly resource: string
  readonly token: TokenCode
  readonly amount: string
  /** The payer's pseudonym at this service, not its address. */
  readonly payer: string
}

export interface SignedReceipt extends Receipt {
  /** Ed25519 over `receiptText`, base64url. */
  readonly signature: string
}

const fields = [
  'status',
  'method',
  'reference',
  'timestamp',
  'requestId',
  'resource',
  'token',
  'amount',
  'payer',
] as const satisfies readonly (keyof Receipt)[]

/** The text that a receipt's signature covers: a domain line, then one line per field in this order. */
export function receiptText(receipt: Receipt): Uint8Array {
  const lines = fields.map((field) => `${field}: ${receipt[field]}`)
  return new TextEncoder().encode(['paystile receipt v1', ...lines].join('\n'))
}

/** The value of the `Payment-Receipt` header. `members` of another protocol are not signed. */
export function formatReceipt(
  receipt: Receipt,
  sign: (text: Uint8Array) => Uint8Array,
  members: Readonly<Record<string, string>> = {},
  encode: Encode = encodeBase64url,
): string {
  const signature = sign(receiptText(receipt))
  const signed: SignedReceipt = { ...members, ...receipt, signature: encode(signature, signature.length) }
  const text = new TextEncoder().encode(JSON.stringify(signed))
  return encode(text, text.length)
}

/** Reads a `Payment-Receipt` header. Undefined if it is malformed. The signature is not checked here. */
export function parseReceipt(header: string): SignedReceipt | undefined {
  const bytes = decodeBase64url(header)
  if (!bytes) return undefined
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
    if (typeof value !== 'object' || value === null) return undefined
    const record = value as Record<string, unknown>
    const known = [...fields, 'signature'] as const
    if (known.some((field) => typeof record[field] !== 'string')) return undefined
    if (fields.some((field) => (record[field] as string).includes('\n'))) return undefined
    return Object.fromEntries(known.map((field) => [field, record[field]])) as unknown as SignedReceipt
  } catch {
    return undefined
  }
}

/** Whether the service with this identity key signed the receipt. */
export function isReceiptGenuine(
  receipt: SignedReceipt,
  identityKey: Uint8Array,
  verify: (key: Uint8Array, text: Uint8Array, signature: Uint8Array) => boolean,
): boolean {
  const signature = decodeBase64url(receipt.signature)
  return signature?.length === 64 && verify(identityKey, receiptText(receipt), signature)
}
