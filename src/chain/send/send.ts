/**
 * Sends a signed payment and reads its outcome.
 *
 * The same bytes are sent repeatedly while waiting; the chain executes them once. A sent payment has landed, failed or
 * expired. In all other cases the outcome is unknown, and the client must not pay again.
 */

import { isFields } from '../../core/encoding/fields.ts'
import type { Posting } from '../../core/payouts/outgoing-wallet.ts'
import type { SendOptions } from '../../core/ports/sponsor.ts'
import type { Clock } from '../../core/runtime.ts'
import { describeError, readCount } from '../rpc/json.ts'
import { resultSlot, resultValue } from '../rpc/results.ts'
import type { Rpc } from '../rpc/rpc.ts'
import type { Listening } from '../rpc/signature-notices.ts'
import type { Lifetime, SignedPayment } from './message.ts'
import { mostSignatures, readRecentStates, readSignatureState, readStatus } from './signature-state.ts'

export type PaymentFate =
  | { readonly kind: 'landed'; readonly slot: number; readonly finalized: boolean }
  | { readonly kind: 'failed'; readonly slot: number; readonly error: string }
  /** It is not on chain and can no longer land. */
  | { readonly kind: 'expired' }
  | { readonly kind: 'unknown'; readonly why: string }

export interface SendParts {
  readonly rpc: Rpc
  readonly clock: Clock
  /** The chain on which the payment must land. */
  readonly genesis: string
}

/** Reads a recent blockhash for a payment. Undefined if no node answers. */
export async function readLifetime(
  { call }: Pick<Rpc, 'call'>,
  commitment: 'confirmed' | 'finalized' = 'confirmed',
): Promise<Lifetime | undefined> {
  const answer = await call('getLatestBlockhash', [{ commitment }])
  const value = resultValue(answer)
  if (!isFields(value)) return undefined
  const lastValidBlockHeight = readCount(value['lastValidBlockHeight'])
  const blockhash = value['blockhash']
  const slot = resultSlot(answer)
  if (typeof blockhash !== 'string' || lastValidBlockHeight === undefined || slot === undefined) return undefined
  return { blockhash, lastValidBlockHeight, slot }
}

/**
 * Reads a slot at which a blockhash was recent. Undefined if it is not recent. A durable nonce is not a blockhash: a
 * transaction with a nonce can land at any time.
 */
export async function readRecentSlot({ call }: Rpc, blockhash: string): Promise<number | undefined> {
  const answer = await call('isBlockhashValid', [blockhash, { commitment: 'confirmed' }])
  return resultValue(answer) === true ? resultSlot(answer) : undefined
}

/**
 * Sends the payment to a node, which simulates it first, so a payment that would fail costs nothing. A payment that was
 * just simulated is sent without that.
 */
export async function submit(
  rpc: Pick<Rpc, 'call'>,
  payment: SignedPayment,
  { isSimulated = false }: SendOptions = {},
): Promise<Posting> {
  const answer = await send(rpc, payment, isSimulated ? { skipPreflight: true } : { preflightCommitment: 'confirmed' })
  if (answer.kind === 'unavailable') return { kind: 'unknown', why: answer.why }
  if (answer.kind === 'answered') {
    if (answer.result === payment.signature) return { kind: 'sent' }
    return { kind: 'unknown', why: 'the node returned another signature' }
  }
  const reason = isFields(answer.data) ? describeError(answer.data['err']) : ''
  if (reason === 'AlreadyProcessed') return { kind: 'sent' }
  return { kind: 'rejected', why: reason || answer.message || `code ${answer.code}` }
}

const firstPauseMs = 5
const longestPauseMs = 500
const resendMs = 2_000
const expiryCheckMs = 3_000

/** While a node has agreed to send a notice, the status is read only in case the notice is lost. */
const pauseWithNoticeMs = 500

/**
 * Waits until the payment is confirmed, has failed or has expired, and sends it again meanwhile. Unknown after
 * `timeoutMs`. `listening` shortens the wait; the outcome is always read.
 */
export async function confirm(
  parts: SendParts,
  payment: SignedPayment,
  timeoutMs: number,
  listening?: Pick<Listening, 'isActive' | 'wait'>,
): Promise<PaymentFate> {
  const { rpc, clock } = parts
  const start = clock.monotonic()
  let [sentAt, checkedAt, pause] = [start, start, firstPauseMs]
  for (;;) {
    const askedAt = clock.monotonic()
    const { status } = await readStatus(rpc.call, payment.signature, false)
    if (status.kind === 'landed') return status
    const now = clock.monotonic()
    if ((status.kind === 'failed' && status.finalized) || now - checkedAt >= expiryCheckMs) {
      checkedAt = now
      const fate = await readFate(parts, payment)
      if (fate.kind !== 'unknown') return fate
    }
    if (now - start >= timeoutMs) return { kind: 'unknown', why: 'it was not confirmed in time' }
    if (now - sentAt >= resendMs) {
      sentAt = now
      await send(rpc, payment, { skipPreflight: true, maxRetries: 0 })
    }
    // Waits twice the response time of the node, so that a near node is asked often and a slow one is not overloaded.
    const slower = status.kind === 'unknown' ? 2 : 1.2
    pause = Math.min(Math.max(pause * slower, 2 * (now - askedAt)), longestPauseMs)
    const longest = Math.max(0, timeoutMs - (now - start))
    if (listening) await listening.wait(Math.min(listening.isActive() ? pauseWithNoticeMs : pause, longest))
    else await new Promise((resolve) => setTimeout(resolve, Math.min(pause, longest)))
  }
}

/**
 * Reads a payment's outcome once, also long after it was sent. One node that has it is sufficient. `failed` and
 * `expired` permit another payment, so they must be final, and two nodes must confirm them if two are configured. A
 * payment that failed on a dropped fork can land on another.
 */
export async function readFate(
  { rpc, genesis }: Omit<SendParts, 'clock'>,
  payment: SignedPayment,
): Promise<PaymentFate> {
  const needed = Math.min(2, rpc.nodes.length)
  let [gone, failed] = [0, 0]
  let why = 'it may still land'
  for (const { call } of rpc.nodes) {
    const sight = await readSignatureState(call, genesis, payment)
    if (sight.kind === 'landed') return sight
    if (sight.kind === 'open') why = sight.why
    if (sight.kind === 'failed' && !sight.finalized) why = 'it failed in a block that is not final yet'
    if (sight.kind === 'failed' && sight.finalized) failed += 1
    if (sight.kind === 'gone') gone += 1
    if (sight.kind === 'failed' && failed >= needed) return sight
    if (gone >= needed) return { kind: 'expired' }
  }
  return { kind: 'unknown', why: failed > 0 ? 'only one node reports that it failed' : why }
}

/**
 * Like `readFate`, for many payments. One question to a node is enough for those that have landed, and for those that
 * cannot have expired yet.
 */
export async function readFates(
  parts: Omit<SendParts, 'clock'>,
  payments: readonly SignedPayment[],
): Promise<readonly PaymentFate[]> {
  const fates: PaymentFate[] = []
  const [node] = parts.rpc.nodes
  for (let start = 0; start < payments.length; start += mostSignatures) {
    const batch = payments.slice(start, start + mostSignatures)
    const states = node ? await readRecentStates(node.call, parts.genesis, batch) : []
    for (const [index, payment] of batch.entries()) {
      const state = states[index]
      if (state?.kind === 'landed') fates.push(state)
      else if (state) fates.push({ kind: 'unknown', why: 'it may still land' })
      else fates.push(await readFate(parts, payment))
    }
  }
  return fates
}

function send(rpc: Pick<Rpc, 'call'>, payment: SignedPayment, options: Readonly<Record<string, unknown>>) {
  return rpc.call('sendTransaction', [payment.wire, { encoding: 'base64', ...options }])
}
