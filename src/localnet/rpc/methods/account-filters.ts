/** Filters of getProgramAccounts and programSubscribe. */
import { base58 } from '@scure/base'
import type { Account } from '../../accounts/account.ts'
import { readTokenParties } from '../../accounts/accounts.ts'
import { invalidParams } from '../wire/errors.ts'
import { readConfig, readInteger, readText, wrongType } from '../wire/params.ts'

export type Filter =
  | { readonly kind: 'size'; readonly bytes: number }
  | { readonly kind: 'bytes'; readonly offset: number; readonly bytes: Uint8Array }
  | { readonly kind: 'token' }

const maxFilters = 4
const maxFilterBytes = 128

export function readFilters(value: unknown): readonly Filter[] {
  if (value === undefined || value === null) return []
  if (!Array.isArray(value)) throw wrongType(value, 'a sequence')
  if (value.length > maxFilters) throw invalidParams(`Too many filters provided; max ${maxFilters}`)
  return value.map(readFilter)
}

function readFilter(value: unknown): Filter {
  if (value === 'tokenAccountState') return { kind: 'token' }
  const { dataSize, memcmp } = readConfig(value)
  if (dataSize !== undefined) return { kind: 'size', bytes: readInteger(dataSize) }
  if (memcmp === undefined) throw invalidParams('Invalid params: unknown filter, expected `dataSize` or `memcmp`.')
  const { offset, bytes, encoding } = readConfig(memcmp)
  return { kind: 'bytes', offset: readInteger(offset), bytes: readFilterBytes(bytes, encoding) }
}

function readFilterBytes(value: unknown, encoding: unknown): Uint8Array {
  if (Array.isArray(value)) return limited(Uint8Array.from(value.map(readInteger)))
  const text = readText(value)
  if (text.length > 4 * maxFilterBytes)
    throw invalidParams('Invalid param: encoded binary data should be less than 129 bytes')
  try {
    return limited(encoding === 'base64' ? Buffer.from(text, 'base64') : base58.decode(text))
  } catch (error) {
    throw invalidParams(`Invalid param: ${error instanceof Error ? error.message : 'unreadable bytes'}`)
  }
}

function limited(bytes: Uint8Array): Uint8Array {
  if (bytes.length > maxFilterBytes)
    throw invalidParams('Invalid param: encoded binary data should be less than 129 bytes')
  return bytes
}

export function matchesFilters(account: Account, filters: readonly Filter[]): boolean {
  return filters.every((filter) => {
    if (filter.kind === 'size') return account.data.length === filter.bytes
    if (filter.kind === 'token') return readTokenParties(account) !== undefined
    const found = account.data.subarray(filter.offset, filter.offset + filter.bytes.length)
    return Buffer.compare(found, filter.bytes) === 0
  })
}
