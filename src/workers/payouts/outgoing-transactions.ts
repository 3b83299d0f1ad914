/**
 * Advances one outgoing transaction step by step: reserved, signed, stored, sent, followed, concluded.
 *
 * Only bytes that are in the ledger are sent. They are replaced only when they can no longer land. Every step names the
 * version that it saw. A process can therefore crash at any line, and several processes can work on the same
 * transaction, without a double or lost payment.
 */
import { encodeBase64url } from '../../core/encoding/base64url.ts'
import type { Meter } from '../../core/observability/metrics.ts'
import type { Asset, Effect } from '../../core/payment/verify.ts'
import { formatId } from '../../core/payouts/outgoing-memo.ts'
import type { OutgoingWallet, SignedBytes, Signing } from '../../core/payouts/outgoing-wallet.ts'
import type {
  OutgoingTransaction,
  OutgoingTransactionKind,
  OutgoingTransactions,
  Sealer,
  SigningBudget,
} from '../../core/payouts/ports/outgoing.ts'
import { LedgerUnavailable } from '../../core/ports/ledger.ts'
import { writeNonce } from '../../core/protocol/nonce.ts'
import type { Clock, Log } from '../../core/runtime.ts'
import type { LoopParts } from '../loop.ts'

export interface OutgoingTransactionParts extends Pick<LoopParts, 'leads' | 'clockCheck'> {
  readonly outgoing: Pick<OutgoingTransactions, 'sign' | 'unsign' | 'land' | 'drop'>
  readonly outgoingWallet: Pick<OutgoingWallet, 'send' | 'readOutcome' | 'read'>
  readonly sealer: Sealer
  readonly meter: Meter
  readonly clock: Clock
  readonly log: Log
}

/** The result of signing. `about` replaces the stored details. */
export type SigningResult =
  | Exclude<Signing, { kind: 'signed' }>
  | (Extract<Signing, { kind: 'signed' }> & { readonly about?: string })

export interface OutgoingTransactionPlan {
  /** Builds and signs the transaction. It is stored before it is sent. */
  sign(transaction: OutgoingTransaction): Promise<SigningResult>
  /** Details to store after it landed, in place of the earlier ones. */
  result?(transaction: OutgoingTransaction, effect: Effect): string | undefined
  /** The maximum number of signatures before it is dropped. */
  readonly mostAttempts: number
  /** The maximum number of failures on chain before it is dropped. */
  readonly mostFailures?: number
  /** The signing budget. When it is spent, the transaction waits. */
  readonly budget?: SigningBudget
}

export type Step =
  | { readonly kind: 'landed'; readonly transaction: OutgoingTransaction }
  /** Dropped. Its reservation is released. */
  | { readonly kind: 'dropped'; readonly transaction: OutgoingTransaction; readonly why: string }
  /** The signed bytes can no longer land. The next step signs again. */
  | { readonly kind: 'unsigned'; readonly transaction: OutgoingTransaction; readonly why: string }
  /** Nothing more can be done now. */
  | { readonly kind: 'waiting'; readonly transaction: OutgoingTransaction; readonly why: string }
  /** Another worker took the step. */
  | { readonly kind: 'passed' }

export const feesSpent = 'the limit of fees for 24 hours is reached'

const randomBytes = 10

/**
 * A new unique id. It begins with the tag of the service's secret, so that services with one wallet recognise their own
 * transactions on chain.
 */
export function createTransactionId({ tag }: Pick<Sealer, 'tag'>, kind: OutgoingTransactionKind): string {
  const bytes = new Uint8Array(randomBytes)
  writeNonce(bytes, 0, randomBytes)
  return formatId(tag, kind, encodeBase64url(bytes, randomBytes))
}

/** The amount that a landed transaction sent from one wallet to another. A token with a fee keeps a part of it. */
export function readSent({ transfers }: Effect, wallet: string, owner: string, asset: Asset): bigint {
  return transfers
    .filter((one) => one.asset === asset && one.sourceOwner === wallet && one.destinationOwner === owner)
    .reduce((sum, { units = 0n }) => sum + units, 0n)
}

/** The open transactions of a kind. */
export async function readOpen(
  kind: OutgoingTransactionKind,
  { outgoing, meter }: { readonly outgoing: Pick<OutgoingTransactions, 'open'>; readonly meter: Meter },
): Promise<readonly OutgoingTransaction[]> {
  const open = (await outgoing.open()).filter((transaction) => transaction.kind === kind)
  meter.set('paystile_dispatches_open', open.length, { kind })
  return open
}

/**
 * Works on one of several items. A failure does not affect the others, except that of the ledger, which ends the work.
 */
export async function alone<Result>(
  log: Log,
  facts: Readonly<Record<string, string>>,
  work: () => Promise<Result>,
): Promise<Result | undefined> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof LedgerUnavailable) throw error
    log.error('outgoing.failed', { ...facts, why: error instanceof Error ? error.message : String(error) })
    return undefined
  }
}

/**
 * Takes one step. Throws `LedgerUnavailable` if the ledger does. The step is then repeated, or has been taken already.
 */
export async function advance(
  transaction: OutgoingTransaction,
  plan: OutgoingTransactionPlan,
  parts: OutgoingTransactionParts,
): Promise<Step> {
  const step = await take(transaction, plan, parts)
  if (step.kind === 'landed' || step.kind === 'unsigned' || step.kind === 'dropped')
    parts.meter.count('paystile_dispatches_total', { kind: transaction.kind, outcome: step.kind })
  if (step.kind === 'waiting' && isOverdue(transaction, parts)) {
    const { id, kind, signed } = transaction
    const next = 'check that the nodes in rpc respond, and that two of them keep the transaction history'
    parts.log.warn('outgoing.waiting', { id, kind, tx: signed?.signature, why: step.why, next })
  }
  return step
}

/** Signed bytes land or expire within minutes. */
const longestMs = 600_000

function isOverdue({ state, changedAt }: OutgoingTransaction, { clock }: OutgoingTransactionParts): boolean {
  return state === 'signed' && clock.now() - changedAt > longestMs
}

async function take(
  transaction: OutgoingTransaction,
  plan: OutgoingTransactionPlan,
  parts: OutgoingTransactionParts,
): Promise<Step> {
  if (transaction.state === 'planned') return sign(transaction, plan, parts)
  if (transaction.state === 'signed') return follow(transaction, plan, parts)
  return { kind: 'passed' }
}

async function sign(
  transaction: OutgoingTransaction,
  plan: OutgoingTransactionPlan,
  parts: OutgoingTransactionParts,
): Promise<Step> {
  const { id, version, attempts, failures, why } = transaction
  const then = why === '' ? '' : `; last reason: ${why}`
  if (attempts >= plan.mostAttempts)
    return drop(transaction, `the transaction was signed ${attempts} times${then}`, parts)
  if (plan.mostFailures !== undefined && failures >= plan.mostFailures)
    return drop(transaction, `the transaction failed ${failures} times${then}`, parts)
  const signing = await plan.sign(transaction)
  if (signing.kind === 'impossible') return drop(transaction, signing.why, parts)
  if (signing.kind === 'unavailable') return { kind: 'waiting', transaction, why: signing.why }
  const { signed, about } = signing
  const { signature, lastValidBlockHeight, slot, wire } = signed
  const sealed = parts.sealer.seal(wire, sealedAs(id, signature))
  const bytes = { signature, lastValidBlockHeight, slot, sealed }
  const kept = await parts.outgoing.sign(id, version, bytes, about, plan.budget)
  // What is not kept must never be sent. Without an answer somebody else's bytes are.
  if (kept.kind === 'spent') return { kind: 'waiting', transaction, why: feesSpent }
  if (kept.kind === 'passed') return { kind: 'passed' }
  const attempt = kept.transaction.attempts
  parts.log.info('outgoing.signed', { id, kind: kept.transaction.kind, tx: signature, attempt })
  return send(kept.transaction, signed, 'the transaction was sent just now', parts)
}

async function follow(
  transaction: OutgoingTransaction,
  plan: OutgoingTransactionPlan,
  parts: OutgoingTransactionParts,
): Promise<Step> {
  const { id, version, signed: kept } = transaction
  if (!kept) return { kind: 'waiting', transaction, why: 'the signed transaction is missing' }
  const { signature, lastValidBlockHeight, slot } = kept
  const wire = parts.sealer.open(kept.sealed, sealedAs(id, signature))
  if (!wire) {
    parts.log.error('outgoing.secret_mismatch', { id, next: 'run this worker with the secret that encrypted it' })
    return { kind: 'waiting', transaction, why: 'the transaction was encrypted with another secret' }
  }
  const signed: SignedBytes = { wire, signature, lastValidBlockHeight, slot }
  const outcome = await parts.outgoingWallet.readOutcome(signed)
  switch (outcome.kind) {
    case 'landed':
      return land(transaction, outcome.slot, plan, parts)
    case 'failed':
    case 'expired': {
      const hasFailed = outcome.kind === 'failed'
      const why = hasFailed ? `the transaction failed on chain: ${outcome.why}` : 'the transaction did not land in time'
      const next = await parts.outgoing.unsign(id, version, why, hasFailed)
      if (!next) return { kind: 'passed' }
      parts.log.warn('outgoing.not_landed', { id, kind: transaction.kind, tx: signature, why })
      return { kind: 'unsigned', transaction: next, why }
    }
    case 'open':
      if (outcome.isThere) return { kind: 'waiting', transaction, why: outcome.why }
      return send(transaction, signed, outcome.why, parts)
  }
}

/** A landing is accepted if the nodes agree on its effects, not on the word of one node. */
async function land(
  transaction: OutgoingTransaction,
  slot: number,
  plan: OutgoingTransactionPlan,
  parts: OutgoingTransactionParts,
): Promise<Step> {
  const { id, version, kind, signed } = transaction
  const effect = await parts.outgoingWallet.read(signed?.signature ?? '')
  if (!effect) return { kind: 'waiting', transaction, why: 'not all nodes report the landed transaction yet' }
  if (effect.failed) return { kind: 'waiting', transaction, why: 'the nodes disagree on the outcome' }
  const landed = await parts.outgoing.land(id, version, slot, plan.result?.(transaction, effect))
  if (!landed) return { kind: 'passed' }
  parts.log.info('outgoing.landed', { id, kind, tx: signed?.signature, slot })
  return { kind: 'landed', transaction: landed }
}

async function drop(transaction: OutgoingTransaction, why: string, parts: OutgoingTransactionParts): Promise<Step> {
  const { id, version, kind } = transaction
  const dropped = await parts.outgoing.drop(id, version, why)
  if (!dropped) return { kind: 'passed' }
  parts.log.warn('outgoing.dropped', { id, kind, why })
  return { kind: 'dropped', transaction: dropped, why }
}

/** The same bytes can be sent repeatedly, because the chain executes them once. Only their outcome on chain counts. */
async function send(
  transaction: OutgoingTransaction,
  signed: SignedBytes,
  why: string,
  parts: OutgoingTransactionParts,
): Promise<Step> {
  const posting = await parts.outgoingWallet.send(signed)
  if (posting.kind === 'sent') return { kind: 'waiting', transaction, why }
  const { id, kind } = transaction
  parts.log.warn('outgoing.send_failed', { id, kind, tx: signed.signature, why: posting.why })
  return { kind: 'waiting', transaction, why: posting.why }
}

function sealedAs(id: string, signature: string): string {
  return `dispatch ${id} ${signature}`
}
