/**
 * One look at a signed transaction through one node: whether it is there, and whether it could still come.
 *
 * Nobody may sign another in its place on the word of a node that is behind, or of another chain.
 */
import { getBase64Encoder } from '@solana/kit'
import { encodeBase58 } from '../core/base58.ts'
import { readGenesis } from './genesis.ts'
import { isFields, readCount } from './json.ts'
import type { SignedPayment } from './payment.ts'
import type { Answer, Call } from './rpc.ts'
import { openTransaction } from './transaction.ts'

export type Status =
  | { readonly kind: 'landed'; readonly slot: number; readonly finalized: boolean }
  | { readonly kind: 'failed'; readonly slot: number; readonly error: string; readonly finalized: boolean }
  /** In a block that nobody has voted for yet. */
  | { readonly kind: 'processed' }
  | { readonly kind: 'absent' }
  | { readonly kind: 'unknown'; readonly why: string }

export interface Sight {
  readonly status: Status
  /** How high the finalized chain was before the status was read; undefined where the node does not say. */
  readonly height: number | undefined
  readonly isBlockhashValid: boolean | undefined
  /** The slot up to which the node knew the chain when it said so; undefined where it does not say. */
  readonly slot: number | undefined
}

export async function lookAt(call: Call, payment: SignedPayment): Promise<Sight> {
  // The height first: a transaction that is absent after the height has passed can no longer come.
  const height = await readNumber(call, 'getBlockHeight', [{ commitment: 'finalized' }])
  // When it expires is one node's word, so each is asked whether its blockhash has.
  const validity = await call('isBlockhashValid', [blockhashOf(payment), { commitment: 'processed' }])
  const isValid = resultValue(validity)
  const { status, slot } = await readStatus(call, payment.signature, true)
  const at = resultSlot(validity)
  return {
    status,
    height,
    isBlockhashValid: typeof isValid === 'boolean' ? isValid : undefined,
    slot: at === undefined || slot === undefined ? undefined : Math.min(at, slot),
  }
}

/** Whether it is not there and can no longer come, as far as this node knows. */
export function isGone({ status, height, isBlockhashValid }: Sight, payment: SignedPayment): boolean {
  if (status.kind !== 'absent' || height === undefined) return false
  return isBlockhashValid === false && height > payment.lastValidBlockHeight
}

/**
 * A node of another chain does not have it either, and never had its blockhash. One that comes back from there in the middle
 * of a look has told half of each: so what `matters` counts only when it is told again, with the right chain before and
 * after. Undefined for a node of another chain.
 */
export async function lookSoundly(
  call: Call,
  payment: SignedPayment,
  genesis: string,
  matters: (sight: Sight) => boolean,
): Promise<Sight | undefined> {
  const glance = await lookAt(call, payment)
  if (!matters(glance)) return glance
  if ((await readGenesis(call)) !== genesis) return undefined
  const sight = await lookAt(call, payment)
  if (!matters(sight)) return sight
  return (await readGenesis(call)) === genesis ? sight : undefined
}

/** What a node says of a transaction, and the slot at which it says so. */
export async function readStatus(
  call: Call,
  signature: string,
  searchTransactionHistory: boolean,
): Promise<{ readonly status: Status; readonly slot: number | undefined }> {
  const answer = await call('getSignatureStatuses', [[signature], { searchTransactionHistory }])
  return { status: statusIn(resultValue(answer)), slot: resultSlot(answer) }
}

function statusIn(value: unknown): Status {
  if (!Array.isArray(value) || value.length !== 1) return { kind: 'unknown', why: 'the status cannot be read' }
  const status: unknown = value[0]
  if (status === null) return { kind: 'absent' }
  const slot = isFields(status) ? readCount(status['slot']) : undefined
  if (!isFields(status) || slot === undefined || status['err'] === undefined) {
    return { kind: 'unknown', why: 'the status cannot be read' }
  }
  const finalized = status['confirmationStatus'] === 'finalized'
  if (!finalized && status['confirmationStatus'] !== 'confirmed') return { kind: 'processed' }
  return status['err'] === null
    ? { kind: 'landed', slot, finalized }
    : { kind: 'failed', slot, error: describeError(status['err']), finalized }
}

/** A slot or a height; undefined when the node does not tell. */
export async function readNumber(call: Call, method: string, params: readonly unknown[]): Promise<number | undefined> {
  const answer = await call(method, params)
  return answer.kind === 'answered' ? readCount(answer.result) : undefined
}

/** Many results stand beside the slot they were read at. */
export function resultValue(answer: Answer): unknown {
  return answer.kind === 'answered' && isFields(answer.result) ? answer.result['value'] : undefined
}

export function resultSlot(answer: Answer): number | undefined {
  const context = answer.kind === 'answered' && isFields(answer.result) ? answer.result['context'] : undefined
  return isFields(context) ? readCount(context['slot']) : undefined
}

export function describeError(error: unknown): string {
  if (error === undefined || error === null) return ''
  return (typeof error === 'string' ? error : JSON.stringify(error)).slice(0, 300)
}

function blockhashOf({ wire }: SignedPayment): string {
  return encodeBase58(openTransaction(new Uint8Array(getBase64Encoder().encode(wire))).lifetime)
}
