/**
 * The last steps of every exchange: the composed transaction is simulated, checked by its effect, and only then signed.
 */
import type { Wallet } from '../chain/keys/keypair.ts'
import { decodeTransaction } from '../chain/read/decode.ts'
import type { Rpc } from '../chain/rpc/rpc.ts'
import { signDraft } from '../chain/send/message.ts'
import { type ExchangeBounds, findBreach, simulateEffects, writableAddresses } from '../chain/send/simulate-effects.ts'
import { signatureLamports } from '../chain/wallets/transfer-batch.ts'
import { encodeBase58 } from '../core/encoding/base58.ts'
import type { Signing } from '../core/payouts/outgoing-wallet.ts'

export interface VenueParts {
  readonly rpc: Rpc
  /** The chain that every node must confirm. */
  readonly genesis: string
  /** The wallet that owns the money. */
  readonly wallet: Wallet
}

export interface Draft {
  /** The complete transaction, signed by all parties except the wallet, which pays the fee. */
  readonly transaction: Uint8Array
  readonly lastValidBlockHeight: number
  readonly slot: number
  /** Writable accounts from lookup tables. */
  readonly loaded?: readonly string[]
  readonly bounds: Omit<ExchangeBounds, 'wallet' | 'fee'>
  /** The maximum priority fee, in lamports. */
  readonly priority: bigint
}

export async function finish(draft: Draft, { rpc, genesis, wallet }: VenueParts): Promise<Signing> {
  const { transaction, lastValidBlockHeight, slot, loaded, bounds, priority } = draft
  const decoding = decodeTransaction(transaction)
  if (decoding.kind === 'malformed') return { kind: 'impossible', why: `it is not a transaction: ${decoding.why}` }
  const { keys, signatures } = decoding.transaction
  if (encodeBase58(keys[0] ?? new Uint8Array()) !== wallet.address)
    return { kind: 'impossible', why: 'another account pays its fee' }
  const effects = await simulateEffects(rpc, genesis, transaction, writableAddresses(decoding.transaction, loaded))
  if (effects.kind === 'unavailable') return effects
  if (effects.kind === 'failed') return { kind: 'impossible', why: `it would fail: ${effects.why}` }
  const fee = signatureLamports * BigInt(signatures.length) + priority
  const breach = findBreach(effects.changes, { ...bounds, wallet: wallet.address, fee })
  if (breach !== undefined) return { kind: 'impossible', why: breach }
  return signDraft(transaction, wallet, { lastValidBlockHeight, slots: [slot, effects.slot] })
}

/** The cost of a compute limit at a price in millionths of a lamport. */
export function readPriority(computeUnits: number, microLamports: bigint): bigint {
  return (BigInt(computeUnits) * microLamports + 999_999n) / 1_000_000n
}

/** More than the rent of any token account that the transaction opens. */
export const openingRent = 5_000_000n
