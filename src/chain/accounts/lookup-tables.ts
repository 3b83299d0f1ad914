/** Reads address lookup tables. */
import { encodeBase58 } from '../../core/encoding/base58.ts'
import type { Call } from '../rpc/rpc.ts'
import { type ChainAccount, readAccounts } from './account.ts'

const tableProgram = 'AddressLookupTab1e1111111111111111111111111'
const headBytes = 56
const entryBytes = 32
/** The deactivation slot of an active table. */
const never = 2n ** 64n - 1n

/** The tables at these addresses. Undefined if no node answers, or if one of them is not a usable table. */
export async function readLookupTables(
  call: Call,
  addresses: readonly string[],
): Promise<readonly LookupTable[] | undefined> {
  const accounts = await readAccounts(call, addresses)
  const tables = accounts?.flatMap((account, index) => readTable(account, addresses[index] ?? '') ?? [])
  return tables?.length === addresses.length ? tables : undefined
}

function readTable({ owner, data }: ChainAccount, address: string): LookupTable | undefined {
  const list = data.length - headBytes
  if (owner !== tableProgram || list < 0 || list % entryBytes !== 0) return undefined
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength)
  if (view.getUint32(0, true) !== 1 || view.getBigUint64(4, true) !== never) return undefined
  const entries = Array.from({ length: list / entryBytes }, (_, index) => {
    const from = headBytes + index * entryBytes
    return encodeBase58(data.subarray(from, from + entryBytes))
  })
  return { address, entries }
}

/** A list of addresses on chain, which a message can reference by index. */
export interface LookupTable {
  readonly address: string
  readonly entries: readonly string[]
}
