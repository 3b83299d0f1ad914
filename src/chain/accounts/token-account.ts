/** The only parser of token accounts, in the layout that SPL Token and Token-2022 share. */
import { encodeBase58 } from '../../core/encoding/base58.ts'
import { type Mint, splTokenProgram } from '../../core/money/tokens.ts'
import type { AccountReading } from '../../core/payment/token-rules.ts'
import { type ChainAccount, isEmpty } from './account.ts'
import { readExtensions } from './extensions.ts'
import { tokenPrograms } from './programs.ts'

/** Length without extensions. */
export const accountBytes = 165
const offsets = { mint: 0, owner: 32, units: 64, delegate: 72, state: 108, delegated: 121, closer: 129 } as const
const [open, frozen] = [1, 2]
/** The byte after the base layout. It distinguishes accounts from mints. */
const accountKind = 2

export interface TokenAccount {
  readonly mint: string
  readonly owner: string
  readonly units: bigint
  readonly isFrozen: boolean
  /** The key that may spend up to `delegated` units. */
  readonly delegate: string | undefined
  readonly delegated: bigint
  /** The key that may close the account, if one is set. */
  readonly closer: string | undefined
}

/** Undefined if the account is not a token account of either program. The first 165 bytes are sufficient. */
export function parseTokenAccount({ owner: program, data }: ChainAccount): TokenAccount | undefined {
  const state = data[offsets.state]
  if (!tokenPrograms.has(program) || data.length < accountBytes || (state !== open && state !== frozen))
    return undefined
  const hasExtensions = data.length > accountBytes
  if (hasExtensions && (program === splTokenProgram || data[accountBytes] !== accountKind)) return undefined
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength)
  const readKey = (offset: number) => encodeBase58(data.subarray(offset, offset + 32))
  // Four bytes tell whether a key is set. If not, the bytes after them have no meaning.
  const readOptionalKey = (offset: number) => (view.getUint32(offset, true) === 0 ? undefined : readKey(offset + 4))
  return {
    mint: readKey(offsets.mint),
    owner: readKey(offsets.owner),
    units: view.getBigUint64(offsets.units, true),
    isFrozen: state === frozen,
    delegate: readOptionalKey(offsets.delegate),
    delegated: view.getBigUint64(offsets.delegated, true),
    closer: readOptionalKey(offsets.closer),
  }
}

/** Reads a wallet's account for this mint, to decide whether it can be paid. */
export function readTokenAccount(account: ChainAccount, mint: Pick<Mint, 'address' | 'tokenProgram'>): AccountReading {
  if (isEmpty(account)) return { kind: 'absent' }
  const parsed = parseTokenAccount(account)
  const isOurs = account.owner === mint.tokenProgram && parsed?.mint === mint.address
  if (!isOurs || !readExtensions(account.data, 'account', accountBytes)) return { kind: 'malformed' }
  const { owner, isFrozen, delegate, delegated, closer } = parsed
  return {
    kind: 'account',
    owner,
    isFrozen,
    ...(delegated > 0n && delegate !== undefined && delegate !== owner && { delegate }),
    ...(closer !== undefined && closer !== owner && { closer }),
  }
}
