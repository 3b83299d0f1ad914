/** Accounts as nodes tell them in base64. */
import { getBase64Encoder } from '@solana/kit'
import { isFields, readU64 } from '../rpc/json.ts'
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

/** Nothing but lamports, which anybody can send anywhere. */
export function isEmpty({ owner, data }: ChainAccount): boolean {
  return data.length === 0 && (owner === '' || owner === systemProgram)
}

/** Undefined when it is not an account; `absent` for null. */
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
