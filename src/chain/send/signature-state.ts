/**
 * Reads the state of a signed transaction through one address: whether it is on chain, and whether it can still land.
 *
 * Several nodes can answer behind one address, some of them many slots behind. An answer counts only for the slot that
 * it names:
 * - The blockhash has expired if it is invalid at a finalized slot that is not before the slot of signing. A node that
 *   has not seen the block yet does not know the blockhash either.
 * - The transaction is absent if a node that was asked afterwards, and has seen 32 more slots, does not have it. Any
 *   other answer proves nothing. The answer must also show that its history reaches back to the slot of signing.
 */
import { getBase64Encoder } from '@solana/kit'
import { encodeBase58 } from '../../core/encoding/base58.ts'
import { isFields } from '../../core/encoding/fields.ts'
import { openTransaction } from '../read/decode.ts'
import { readGenesis } from '../rpc/genesis.ts'
import { describeError, readCount } from '../rpc/json.ts'
import { readOldStatuses } from '../rpc/old-statuses.ts'
import { resultSlot, resultValue } from '../rpc/results.ts'
import type { Call } from '../rpc/rpc.ts'
import type { SignedPayment } from './message.ts'

type Found =
  | { readonly kind: 'landed'; readonly slot: number; readonly finalized: boolean }
  | { readonly kind: 'failed'; readonly slot: number; readonly error: string; readonly finalized: boolean }
  /** In a block that is not confirmed yet. */
  | { readonly kind: 'processed' }

export type Status = Found | { readonly kind: 'absent' } | { readonly kind: 'unknown'; readonly why: string }

export type SignatureState =
  | Found
  /** It is absent and can no longer land. */
  | { readonly kind: 'gone' }
  | { readonly kind: 'open'; readonly why: string }

/** A blockhash is valid for 150 blocks, and a slot has at most one block. */
const blockhashSlots = 150
/** When a node has processed this many further slots, all blocks up to the earlier slot are final on it. */
const finalitySlots = 32
/**
 * A payer may have sent a transaction before the service saw its block, but not earlier than a blockhash's lifetime.
 */
const earlierSlots = 300
const mostRemembered = 10_000

const mayLand: SignatureState = { kind: 'open', why: 'it may still land' }
const isBehindSigning: SignatureState = {
  kind: 'open',
  why: 'a node lags, or does not report whether the blockhash has expired',
}
const isBehind: SignatureState = { kind: 'open', why: 'it can no longer land, but a lagging node may not have seen it' }
const isShort: SignatureState = { kind: 'open', why: 'a node does not keep enough history' }
const stranger: SignatureState = { kind: 'open', why: 'a node belongs to another chain than the transaction' }

/** Per address, the slots at which blockhashes were found to have expired. An expiry is permanent. */
const expiries = new WeakMap<Call, Map<string, number>>()

/**
 * A result that permits another transaction counts only from the right chain, which is checked before and after the
 * answer.
 */
export async function readSignatureState(call: Call, genesis: string, signed: SignedPayment): Promise<SignatureState> {
  const { status, slot } = await readStatus(call, signed.signature, false)
  if (status.kind === 'processed' || (status.kind === 'landed' && !status.finalized)) return status
  if (status.kind === 'unknown') return { kind: 'open', why: status.why }
  // Before this slot the blockhash cannot have expired.
  if (status.kind === 'absent' && !(slot !== undefined && slot >= signed.slot + blockhashSlots)) return mayLand
  if ((await readGenesis(call)) !== genesis) return stranger
  const blockhash = readBlockhash(signed)
  const expiry = status.kind === 'absent' ? await readExpiry(call, blockhash, signed.slot) : undefined
  const sight = await lookAgain(call, signed, expiry)
  if ((await readGenesis(call)) !== genesis) return stranger
  if (typeof expiry === 'number') remember(call, blockhash, expiry)
  return sight
}

/** `expiry` is the slot at which its blockhash has expired, or the reason why it is unknown. */
async function lookAgain(
  call: Call,
  { signature, slot: signedAt }: SignedPayment,
  expiry: number | SignatureState | undefined,
): Promise<SignatureState> {
  const { status, slot } = await readStatus(call, signature, true)
  if (status.kind !== 'absent') return toState(status)
  if (typeof expiry !== 'number') return expiry ?? mayLand
  if (slot === undefined || slot < expiry + finalitySlots) return isBehind
  const last = await readOldStatuses(call, [signature], Math.max(0, signedAt - earlierSlots))
  if (!last) return isShort
  if (last.slot === undefined || last.slot < expiry + finalitySlots) return isBehind
  const lastStatus = statusIn(last.statuses[0])
  return lastStatus.kind === 'absent' ? { kind: 'gone' } : toState(lastStatus)
}

function toState(status: Exclude<Status, { readonly kind: 'absent' }>): SignatureState {
  return status.kind === 'unknown' ? { kind: 'open', why: status.why } : status
}

/** A final slot at which a blockhash is no longer valid, or the reason why there is none. */
export async function readExpiry(call: Call, blockhash: string, signedAt: number): Promise<number | SignatureState> {
  const known = expiries.get(call)?.get(blockhash)
  if (known !== undefined && known >= signedAt) return known
  const answer = await call('isBlockhashValid', [blockhash, { commitment: 'finalized', minContextSlot: signedAt }])
  const isValid = resultValue(answer)
  const slot = resultSlot(answer)
  if (isValid === true) return mayLand
  // Some nodes ignore `minContextSlot` and answer for a slot that they have not reached.
  return isValid === false && slot !== undefined && slot >= signedAt ? slot : isBehindSigning
}

function remember(call: Call, blockhash: string, slot: number): void {
  const known = expiries.get(call) ?? new Map<string, number>()
  if (known.size >= mostRemembered) known.clear()
  known.set(blockhash, slot)
  expiries.set(call, known)
}

/** Reads a node's status of a transaction, and the slot of that answer. */
export async function readStatus(
  call: Call,
  signature: string,
  searchTransactionHistory: boolean,
): Promise<{ readonly status: Status; readonly slot: number | undefined }> {
  const answer = await call('getSignatureStatuses', [[signature], { searchTransactionHistory }])
  return { status: readList(resultValue(answer), 1)[0] ?? unreadable, slot: resultSlot(answer) }
}

/** The most signatures in one question. */
export const mostSignatures = 256

/**
 * Reads the recent statuses of many transactions with one question. Undefined where only `readSignatureState` can tell
 * the state: the transaction may have failed or expired.
 */
export async function readRecentStates(
  call: Call,
  genesis: string,
  all: readonly SignedPayment[],
): Promise<readonly (SignatureState | undefined)[]> {
  const signatures = all.map(({ signature }) => signature)
  const answer = await call('getSignatureStatuses', [signatures, { searchTransactionHistory: false }])
  const statuses = readList(resultValue(answer), all.length)
  const slot = resultSlot(answer)
  if ((await readGenesis(call)) !== genesis) return []
  return all.map(({ slot: signedAt }, index) => {
    const status = statuses[index]
    if (status?.kind === 'landed' || status?.kind === 'processed') return status
    return status?.kind === 'absent' && slot !== undefined && slot < signedAt + blockhashSlots ? mayLand : undefined
  })
}

const unreadable: Status = { kind: 'unknown', why: 'the status cannot be read' }

/** Empty if it is no list of this length. */
function readList(value: unknown, length: number): readonly Status[] {
  return Array.isArray(value) && value.length === length ? value.map(statusIn) : []
}

function statusIn(status: unknown): Status {
  if (status === null) return { kind: 'absent' }
  const slot = isFields(status) ? readCount(status['slot']) : undefined
  if (!isFields(status) || slot === undefined || status['err'] === undefined) return unreadable
  const finalized = status['confirmationStatus'] === 'finalized'
  if (!finalized && status['confirmationStatus'] !== 'confirmed') return { kind: 'processed' }
  return status['err'] === null
    ? { kind: 'landed', slot, finalized }
    : { kind: 'failed', slot, error: describeError(status['err']), finalized }
}

function readBlockhash({ wire }: SignedPayment): string {
  return encodeBase58(openTransaction(new Uint8Array(getBase64Encoder().encode(wire))).lifetime)
}
