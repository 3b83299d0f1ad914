/**
 * The protocol's five verification rules as a list of checks, for questions about a payment. The rules are those of the
 * paywall. The payment stays unused.
 */
import { decodeAddress, decodeSignature, encodeBase58 } from '../../core/encoding/base58.ts'
import { prepareHmac } from '../../core/encoding/hmac.ts'
import { formatUnits } from '../../core/money/money.ts'
import type { Amounts, MintTable, Network, TokenCode } from '../../core/money/tokens.ts'
import type { RefusalCode } from '../../core/payment/refusals.ts'
import { claimableUntil, paymentOptions, paymentWindow, type TokenAccountOf } from '../../core/payment/requirements.ts'
import type { RecipientSet } from '../../core/payment/splits.ts'
import { type Effect, judge, type Quote } from '../../core/payment/verify.ts'
import type { Chain, ReadOptions } from '../../core/ports/chain.ts'
import type { Ledger } from '../../core/ports/ledger.ts'
import type { Keyring } from '../../core/protocol/keyring.ts'
import { usualProofTtlSeconds } from '../../core/protocol/proof.ts'
import { createPseudonyms } from '../../core/protocol/pseudonyms.ts'
import { isAuthentic, type OpenedRequest, openRequest, sealContext } from '../../core/protocol/request-id.ts'
import type { Clock } from '../../core/runtime.ts'
import { isRefunded } from './refunded.ts'
import { nameFacilitated } from './submit.ts'

export type Check = 'passed' | 'failed' | 'unchecked'

/** The protocol's rules 1 to 5, and whether this service issued the requestId. */
export interface Checks {
  readonly exists: Check
  readonly recipient: Check
  readonly amount: Check
  readonly memo: Check
  /** Unchecked without a ledger. */
  readonly unused: Check
  readonly unexpired: Check
  /** Unchecked without a secret. */
  readonly sealed: Check
}

export interface Verdict {
  readonly valid: boolean
  readonly code?: RefusalCode
  readonly checks: Checks
  readonly payer?: string
  readonly token?: TokenCode
  readonly received?: string
  readonly slot?: number
  /** RFC 3339. */
  readonly paidAt?: string
}

export interface Expectation {
  readonly payer: string | undefined
  /** If undefined, the amounts of the requestId apply. They are authentic only with a keyring. */
  readonly payment: ExpectedPayment | undefined
  /** The set of recipients that the requestId is known to be sealed for. Without `payment`, no other recipient is tried. */
  readonly sealedFor?: RecipientSet
}

export interface ExpectedPayment {
  readonly recipient: string
  readonly token: TokenCode
  /** The whole price. If the requestId is sealed with splits, the recipient must have received its part of it. */
  readonly units: bigint
}

export interface VerdictParts {
  readonly chain: Chain
  readonly clock: Clock
  readonly network: Network
  readonly service: string
  readonly mints: MintTable
  readonly waitMs: number
  readonly keyring: Keyring | undefined
  readonly ledger: Ledger | undefined
  readonly tokenAccountOf: TokenAccountOf
  /** The sets of recipients with splits that the ledger knows. */
  readonly splits?: readonly RecipientSet[]
  /** Whether the caller may learn about the use of this payer's payment. Default: always. */
  readonly tellsUse?: (payer: string) => boolean
  readonly reading?: ReadOptions
  /** Seconds in which a payment that was made in time can be claimed. Default: one day. */
  readonly proofTtlSeconds?: number
}

export const unchecked: Checks = {
  exists: 'unchecked',
  recipient: 'unchecked',
  amount: 'unchecked',
  memo: 'unchecked',
  unused: 'unchecked',
  unexpired: 'unchecked',
  sealed: 'unchecked',
}

export async function judgePayment(
  parts: VerdictParts,
  tx: string,
  requestId: string,
  { payer, payment, sealedFor }: Expectation,
): Promise<Verdict> {
  const txBytes = decodeSignature(tx)
  if (!txBytes) return fail('proof_malformed', {})
  const reading = await parts.chain.read(tx, parts.waitMs, parts.reading)
  if (reading.kind === 'missing') return fail('tx_not_found', { exists: 'failed' })
  if (reading.kind !== 'found')
    return fail(reading.kind === 'unavailable' ? 'chain_unavailable' : 'chain_disagreement', {})
  const { effect } = reading
  const request = openRequest(requestId)
  const recipientSets = listRecipientSets(parts, effect, payment?.recipient, sealedFor)
  const found = recipientSets.find((candidate) => isSealed(parts, request, candidate))
  const recipientSet = found ?? recipientSets[0] ?? { recipient: '', splits: [] }
  const sealed: Check = !parts.keyring ? 'unchecked' : found ? 'passed' : 'failed'
  const quote = {
    ...(await quoteFor(parts, requestId, request, recipientSet, payment)),
    isRecorded: await isRecorded(parts, txBytes, requestId),
  }
  const verdict = judge(effect, quote, payer === undefined ? undefined : { address: payer })
  if (verdict.kind === 'refused')
    return { ...fail(verdict.code, { sealed, ...checksFor(verdict.code) }), ...landing(effect) }
  if (verdict.kind === 'late')
    return { ...fail('payment_expired', { ...paidChecks, unexpired: 'failed', sealed }), ...landing(effect) }
  const facts = {
    payer: verdict.payer,
    token: verdict.option.token,
    received: formatUnits(verdict.received, verdict.option.decimals),
    ...landing(effect),
  }
  const checks: Checks = {
    ...paidChecks,
    ...(await judgeUse(knowing(parts, verdict.payer), txBytes, requestId, request)),
    sealed,
  }
  const code = (Object.keys(useCodes) as (keyof typeof useCodes)[]).find((check) => checks[check] === 'failed')
  return { valid: code === undefined, ...(code && { code: useCodes[code] }), checks, ...facts }
}

const paidChecks = { exists: 'passed', recipient: 'passed', amount: 'passed', memo: 'passed' } as const

const useCodes = { sealed: 'unknown_request', unused: 'payment_replay', unexpired: 'payment_expired' } as const

function fail(code: RefusalCode, checks: Partial<Checks>): Verdict {
  return { valid: false, code, checks: { ...unchecked, ...checks } }
}

/** The check that a refusal stands for. The rules are judged in this order, so the checks before it have passed. */
function checksFor(code: RefusalCode): Partial<Checks> {
  if (code === 'tx_failed') return { exists: 'failed' }
  if (code === 'memo_mismatch') return { exists: 'passed', memo: 'failed' }
  if (code === 'underpaid') return { exists: 'passed', memo: 'passed', recipient: 'passed', amount: 'failed' }
  if (code === 'payment_expired') return { ...paidChecks, unexpired: 'failed' }
  return { exists: 'passed', memo: 'passed', recipient: 'failed' }
}

function landing({ slot, blockTime }: Effect): Pick<Verdict, 'slot' | 'paidAt'> {
  return { slot, paidAt: new Date(blockTime * 1000).toISOString() }
}

/** The sets of recipients for which the requestId may be sealed. */
function listRecipientSets(
  { splits = [] }: VerdictParts,
  { transfers }: Effect,
  recipient: string | undefined,
  sealedFor: RecipientSet | undefined,
): readonly RecipientSet[] {
  if (sealedFor) return [sealedFor]
  const owners = transfers.flatMap(({ destinationOwner }) => destinationOwner ?? [])
  const recipients = recipient === undefined ? owners : [recipient]
  return [
    ...recipients.map((owner) => ({ recipient: owner, splits: [] })),
    ...splits.filter((recipientSet) => recipients.includes(recipientSet.recipient)),
  ]
}

function isSealed(parts: VerdictParts, request: OpenedRequest | undefined, recipientSet: RecipientSet): boolean {
  const key = request && parts.keyring?.sealKeys.get(request.keyId)
  if (!request || !key || !decodeAddress(recipientSet.recipient)) return false
  return isAuthentic(request, prepareHmac(key, sealContext(parts.network, parts.service, recipientSet)))
}

/** Whether the service sent the transaction itself, for this requestId. */
async function isRecorded({ ledger, keyring }: VerdictParts, tx: Uint8Array, requestId: string): Promise<boolean> {
  if (!keyring) return false
  const submission = await ledger?.submissions.find(tx)
  return submission?.request === createPseudonyms(keyring.pseudonymKey).request(requestId)
}

async function quoteFor(
  { mints, tokenAccountOf }: VerdictParts,
  requestId: string,
  request: OpenedRequest | undefined,
  recipientSet: RecipientSet,
  payment: ExpectedPayment | undefined,
): Promise<Quote> {
  const amounts: Amounts = payment ? { [payment.token]: payment.units } : (request?.amounts ?? {})
  const options = await paymentOptions(amounts, mints, recipientSet, tokenAccountOf)
  return { requestId, recipient: recipientSet.recipient, options, ...(request && paymentWindow(request)) }
}

/** A caller without permission gets the result of a service without a ledger, which reveals nothing about the use. */
function knowing(parts: VerdictParts, payer: string): VerdictParts {
  return parts.tellsUse === undefined || parts.tellsUse(payer) ? parts : { ...parts, ledger: undefined }
}

/** Whether a facilitator on this ledger settled it for another server. Its payer chose the memo. */
async function hasPaidElsewhere({ ledger, keyring }: VerdictParts, tx: Uint8Array): Promise<boolean> {
  if (!keyring) return false
  const submission = await ledger?.submissions.find(tx)
  return submission?.request === createPseudonyms(keyring.pseudonymKey).request(nameFacilitated(encodeBase58(tx)))
}

/** The checks that need the ledger: whether the payment is unused, and whether it can still be claimed. */
async function judgeUse(parts: VerdictParts, tx: Uint8Array, requestId: string, request: OpenedRequest | undefined) {
  const { ledger, keyring, clock, proofTtlSeconds = usualProofTtlSeconds } = parts
  const status = await ledger?.peek(tx)
  const registered = status !== undefined && status.state !== 'late'
  const name = keyring && createPseudonyms(keyring.pseudonymKey).request(requestId)
  const isForeign = name !== undefined && status?.request !== name
  const isSpent = registered
    ? status.state === 'spent' || isForeign
    : ledger !== undefined && (await isRefunded(ledger, tx))
  const isUsed = isSpent || (await hasPaidElsewhere(parts, tx))
  const unused: Check = !ledger ? 'unchecked' : isUsed ? 'failed' : 'passed'
  // For a registered payment, the ledger's own deadline applies, and its state is 'spent' afterwards.
  const isOver = !registered && request !== undefined && clock.now() > claimableUntil(request, proofTtlSeconds)
  const unexpired: Check = isOver ? 'failed' : request ? 'passed' : 'unchecked'
  return { unused, unexpired }
}
