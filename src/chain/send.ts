/**
 * Sending a signed payment and learning its fate.
 *
 * The same bytes are sent again and again while waiting: on chain they count once. A payment that was sent has landed,
 * failed, or expired; anything else is unknown, and then nobody may pay again.
 */
import { getBase64Encoder } from '@solana/kit'
import { encodeBase58 } from '../core/base58.ts'
import type { Clock } from '../core/ports.ts'
import { readGenesis } from './genesis.ts'
import { isFields, readCount } from './json.ts'
import type { Lifetime } from './message.ts'
import type { SignedPayment } from './payment.ts'
import type { Answer, Call, Rpc } from './rpc.ts'
import { decodeTransaction } from './transaction.ts'

export type Submission =
  | { readonly kind: 'sent' }
  /** The node says it did not pass it on, and why. Only its expiry makes certain that it never lands. */
  | { readonly kind: 'rejected'; readonly why: string }
  | { readonly kind: 'unknown'; readonly why: string }

export type Fate =
  | { readonly kind: 'landed'; readonly slot: number; readonly finalized: boolean }
  | { readonly kind: 'failed'; readonly slot: number; readonly error: string }
  /** It is not on chain and can no longer get there. */
  | { readonly kind: 'expired' }
  | { readonly kind: 'unknown'; readonly why: string }

export interface SendParts {
  readonly rpc: Rpc
  readonly clock: Clock
  /** The chain on which the payment was to land. */
  readonly genesis: string
}

/** A recent block to build a payment on; undefined when no node tells. */
export async function readLifetime(rpc: Rpc): Promise<Lifetime | undefined> {
  return (await readRecentBlock(rpc))?.lifetime
}

/** The same, and the slot at which the node told it; undefined where it does not say. */
export async function readRecentBlock({
  call,
}: Pick<Rpc, 'call'>): Promise<{ readonly lifetime: Lifetime; readonly slot: number | undefined } | undefined> {
  const answer = await call('getLatestBlockhash', [{ commitment: 'confirmed' }])
  const value = resultValue(answer)
  if (!isFields(value)) return undefined
  const lastValidBlockHeight = readCount(value['lastValidBlockHeight'])
  const blockhash = value['blockhash']
  if (typeof blockhash !== 'string' || lastValidBlockHeight === undefined) return undefined
  const context = answer.kind === 'answered' && isFields(answer.result) ? answer.result['context'] : undefined
  return {
    lifetime: { blockhash, lastValidBlockHeight },
    slot: isFields(context) ? readCount(context['slot']) : undefined,
  }
}

/** Whether a block is recent enough to build on. A durable nonce is none: what is built on it can land at any time. */
export async function isRecentBlock({ call }: Rpc, blockhash: string): Promise<boolean> {
  return resultValue(await call('isBlockhashValid', [blockhash, { commitment: 'confirmed' }])) === true
}

/** Hands the payment to a node, which tries it out first: a payment that would fail costs nothing. */
export async function submit(rpc: Rpc, payment: SignedPayment): Promise<Submission> {
  const answer = await send(rpc, payment, { preflightCommitment: 'confirmed' })
  if (answer.kind === 'unavailable') return { kind: 'unknown', why: answer.why }
  if (answer.kind === 'answered') {
    if (answer.result === payment.signature) return { kind: 'sent' }
    return { kind: 'unknown', why: 'the node answered with another signature' }
  }
  const reason = isFields(answer.data) ? describe(answer.data['err']) : ''
  if (reason === 'AlreadyProcessed') return { kind: 'sent' }
  return { kind: 'rejected', why: reason || answer.message || `code ${answer.code}` }
}

const firstPauseMs = 5
const longestPauseMs = 500
const resendMs = 2_000
const expiryCheckMs = 3_000

/** Waits until the payment is confirmed, has failed or has expired; unknown after `timeoutMs`. Sends it again meanwhile. */
export async function confirm(parts: SendParts, payment: SignedPayment, timeoutMs: number): Promise<Fate> {
  const { rpc, clock } = parts
  const start = clock.monotonic()
  let [sentAt, checkedAt, pause] = [start, start, firstPauseMs]
  for (;;) {
    const askedAt = clock.monotonic()
    const status = await readStatus(rpc.call, payment.signature, false)
    if (status.kind === 'landed') return status
    const now = clock.monotonic()
    if (status.kind === 'failed' || now - checkedAt >= expiryCheckMs) {
      checkedAt = now
      const fate = await fateOf(parts, payment)
      if (fate.kind !== 'unknown') return fate
    }
    if (now - start >= timeoutMs) return { kind: 'unknown', why: 'it was not confirmed in time' }
    if (now - sentAt >= resendMs) {
      sentAt = now
      await send(rpc, payment, { skipPreflight: true, maxRetries: 0 })
    }
    // Twice as long as the node takes to answer: a near node is asked often, a far or ailing one is not hammered.
    const slower = status.kind === 'unknown' ? 2 : 1.2
    pause = Math.min(Math.max(pause * slower, 2 * (now - askedAt)), longestPauseMs)
    await new Promise((resolve) => setTimeout(resolve, Math.min(pause, Math.max(0, timeoutMs - (now - start)))))
  }
}

/**
 * One look at a payment's fate, also long after it was sent. One node that has it is enough. After `failed` or `expired`
 * another payment may be made, so two nodes have to say it, where there are two, and be of the right chain. Expired means
 * that the finalized chain has passed its last valid height and does not hold it, and that its blockhash is not valid.
 */
export async function fateOf({ rpc, genesis }: Omit<SendParts, 'clock'>, payment: SignedPayment): Promise<Fate> {
  const needed = Math.min(2, rpc.nodes.length)
  let [absent, failed] = [0, 0]
  let why = 'it may still land'
  for (const { call } of rpc.nodes) {
    let look = await lookAt(call, payment)
    // A node of another chain does not have it either, and never had its blockhash. One that comes back from there in the
    // middle of a look has told half of each: only what it tells again, with the right chain before and after, counts.
    if (look.isOver && (await readGenesis(call)) === genesis) {
      look = await lookAt(call, payment)
      if (look.isOver && (await readGenesis(call)) !== genesis) look = stranger
    } else if (look.isOver) look = stranger
    if (look.status.kind === 'landed') return look.status
    if (look.why !== undefined) why = look.why
    if (!look.isOver) continue
    if (look.status.kind === 'failed') failed += 1
    else absent += 1
    if (look.status.kind === 'failed' && failed >= needed) return look.status
    if (absent >= needed) return { kind: 'expired' }
  }
  return { kind: 'unknown', why: failed > 0 ? 'only one node says that it failed' : why }
}

interface Look {
  readonly status: Status
  /** Whether it failed, or is not there and can no longer come. */
  readonly isOver: boolean
  /** Why nothing can be told, where that is so. */
  readonly why?: string
}

const stranger: Look = {
  status: { kind: 'absent' },
  isOver: false,
  why: 'a node does not speak for the chain of the payment',
}

async function lookAt(call: Call, payment: SignedPayment): Promise<Look> {
  // The height first: a transaction that is absent after the height has passed can no longer come.
  const answer = await call('getBlockHeight', [{ commitment: 'finalized' }])
  const height = answer.kind === 'answered' ? readCount(answer.result) : undefined
  // When it expires is one node's word, so each is asked whether its blockhash has.
  const isValid = resultValue(await call('isBlockhashValid', [blockhashOf(payment), { commitment: 'processed' }]))
  const status = await readStatus(call, payment.signature, true)
  if (status.kind === 'unknown') return { status, isOver: false, why: status.why }
  if (height === undefined) {
    return { status, isOver: status.kind === 'failed', why: 'the height of the chain is not known' }
  }
  const isPast = isValid === false && height > payment.lastValidBlockHeight
  return { status, isOver: status.kind === 'failed' || (status.kind === 'absent' && isPast) }
}

function blockhashOf({ wire }: SignedPayment): string {
  const decoding = decodeTransaction(new Uint8Array(getBase64Encoder().encode(wire)))
  if (decoding.kind === 'malformed') throw new TypeError('a signed payment is a transaction')
  return encodeBase58(decoding.transaction.lifetime)
}

type Status = Exclude<Fate, { readonly kind: 'expired' }> | { readonly kind: 'absent' } | { readonly kind: 'processed' }

async function readStatus(call: Call, signature: string, searchTransactionHistory: boolean): Promise<Status> {
  const answer = await call('getSignatureStatuses', [[signature], { searchTransactionHistory }])
  const value = resultValue(answer)
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
    : { kind: 'failed', slot, error: describe(status['err']) }
}

function send(rpc: Rpc, payment: SignedPayment, options: Readonly<Record<string, unknown>>): Promise<Answer> {
  return rpc.call('sendTransaction', [payment.wire, { encoding: 'base64', ...options }])
}

/** Many results stand beside the slot they were read at. */
function resultValue(answer: Answer): unknown {
  return answer.kind === 'answered' && isFields(answer.result) ? answer.result['value'] : undefined
}

function describe(error: unknown): string {
  if (error === undefined || error === null) return ''
  return (typeof error === 'string' ? error : JSON.stringify(error)).slice(0, 300)
}
