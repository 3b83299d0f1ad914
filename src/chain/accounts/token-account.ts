/** Token accounts as they stand on chain, in the layout that SPL Token and Token-2022 share. */
import { encodeBase58 } from '../../core/encoding/base58.ts'
import type { Mint } from '../../core/money/tokens.ts'
import type { AccountReading } from '../../core/payment/token-rules.ts'
import { type ChainAccount, isEmpty } from './account.ts'
import { readExtensions } from './extensions.ts'

const accountBytes = 165
const offsets = { mint: 0, owner: 32, delegate: 72, state: 108, delegated: 121, closer: 129 } as const
const frozen = 2

/** What the account at a wallet's address for this mint says of itself. */
export function readTokenAccount(account: ChainAccount, mint: Pick<Mint, 'address' | 'tokenProgram'>): AccountReading {
  if (isEmpty(account)) return { kind: 'absent' }
  const { data } = account
  const state = data[offsets.state]
  const isOurs = account.owner === mint.tokenProgram && readExtensions(data, 'account', accountBytes) !== undefined
  if (!isOurs || keyAt(data, offsets.mint) !== mint.address || (state !== 1 && state !== frozen)) {
    return { kind: 'malformed' }
  }
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength)
  const owner = keyAt(data, offsets.owner)
  const delegate = view.getBigUint64(offsets.delegated, true) > 0n ? optionalKeyAt(view, offsets.delegate) : undefined
  const closer = optionalKeyAt(view, offsets.closer)
  return {
    kind: 'account',
    owner,
    isFrozen: state === frozen,
    ...(delegate !== undefined && delegate !== owner && { delegate }),
    ...(closer !== undefined && closer !== owner && { closer }),
  }
}

function keyAt(data: Uint8Array, offset: number): string {
  return encodeBase58(data.subarray(offset, offset + 32))
}

/** Four bytes say whether there is one. */
function optionalKeyAt(view: DataView, offset: number): string | undefined {
  if (view.getUint32(offset, true) !== 1) return undefined
  return encodeBase58(new Uint8Array(view.buffer, view.byteOffset + offset + 4, 32))
}
