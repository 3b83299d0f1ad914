/** Reads accounts from a node's base64 responses. */
import { getBase64Encoder } from '@solana/kit'
import { isFields } from '../../core/encoding/fields.ts'
import { readList, readU64 } from '../rpc/json.ts'
import { describeFailure, resultValue } from '../rpc/results.ts'
import type { Call } from '../rpc/rpc.ts'
import { systemProgram } from './programs.ts'

export interface ChainAccount {
  readonly lamports: bigint
  readonly owner: string
  readonly data: Uint8Array
  readonly executable: boolean
}

/** An account that does not exist has no owner. */
export const absent: ChainAccount = { lamports: 0n, owner: '', data: new Uint8Array(), executable: false }
const base64 = getBase64Encoder()

/** The account holds only lamports, which anyone can send to any address. */
export function isEmpty({ owner, data }: ChainAccount): boolean {
  return data.length === 0 && (owner === '' || owner === systemProgram)
}

/** Undefined if the value is not an account; `absent` for null. */
export function readAccount(value: unknown): ChainAccount | undefined {
  if (value === null) return absent
  if (!isFields(value) || !Array.isArray(value['data'])) return undefined
  const lamports = readU64(value['lamports'])
  const owner = value['owner']
  const text: unknown = value['data'][0]
  if (lamports === undefined || typeof owner !== 'string' || typeof text !== 'string') return undefined
  try {
    return { lamports, owner, data: new Uint8Array(base64.encode(text)), executable: value['executable'] === true }
  } catch {
    return undefined
  }
}

/** The maximum number of accounts per call. */
const mostAccounts = 100

export type AccountsReading =
  | { readonly kind: 'accounts'; readonly accounts: readonly ChainAccount[] }
  | { readonly kind: 'unavailable'; readonly why: string }

/**
 * Asks a node for accounts. The options of `getMultipleAccounts` can be extended. Either all accounts are readable or
 * the call fails.
 */
export async function askAccounts(
  call: Call,
  addresses: readonly string[],
  options: Readonly<Record<string, unknown>> = {},
): Promise<AccountsReading> {
  const accounts: ChainAccount[] = []
  for (let start = 0; start < addresses.length; start += mostAccounts) {
    const asked = addresses.slice(start, start + mostAccounts)
    const config = { encoding: 'base64', commitment: 'confirmed', ...options }
    const answer = await call('getMultipleAccounts', [asked, config])
    const list = readList(resultValue(answer), readAccount)
    if (list?.length !== asked.length)
      return { kind: 'unavailable', why: describeFailure(answer, 'the accounts cannot be read') }
    accounts.push(...list)
  }
  return { kind: 'accounts', accounts }
}

/** Undefined unless all accounts are readable. */
export async function readAccounts(
  call: Call,
  addresses: readonly string[],
): Promise<readonly ChainAccount[] | undefined> {
  const reading = await askAccounts(call, addresses)
  return reading.kind === 'accounts' ? reading.accounts : undefined
}
