/** The parts that the credentials of x402 and MPP share. Both come from strangers, so nothing here throws. */
import { decodeBase64 } from '../encoding/base64.ts'
import { isFields } from '../encoding/fields.ts'
import { requestIdPattern } from './request-id.ts'

/** The longest credential header, in characters. */
export const longestCredential = 8192
/** The longest transaction that the chain carries. */
const longestTransactionBytes = 1232

/** Reads a transaction in standard base64. Undefined if it is malformed, or too long for the chain. */
export function parseTransaction(value: unknown): Uint8Array | undefined {
  if (typeof value !== 'string' || value === '') return undefined
  const bytes = decodeBase64(value)
  return bytes && bytes.length <= longestTransactionBytes ? bytes : undefined
}

/** Reads a JSON object in UTF-8. Undefined if it is malformed. */
export function parseJsonObject(bytes: Uint8Array | undefined): Readonly<Record<string, unknown>> | undefined {
  if (!bytes) return undefined
  try {
    const value: unknown = JSON.parse(utf8.decode(bytes))
    return isFields(value) ? value : undefined
  } catch {
    return undefined
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

export function isRequestId(value: unknown): value is string {
  return typeof value === 'string' && requestIdPattern.test(value)
}
