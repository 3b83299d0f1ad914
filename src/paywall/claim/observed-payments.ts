/** Records payments that the watcher sees on chain, with or without a proof, under pseudonyms. */
import { decodeAddress, decodeSignature } from '../../core/encoding/base58.ts'
import { nameEndpoint } from '../../core/http/endpoint.ts'
import { formatUnits } from '../../core/money/money.ts'
import { findDecimals, findMint, isKnownCode, type TokenCode } from '../../core/money/tokens.ts'
import { isShortMemo } from '../../core/payment/memo.ts'
import type { RefusalCode } from '../../core/payment/refusals.ts'
import { claimableUntil, paymentWindow } from '../../core/payment/requirements.ts'
import { dividePrice, type RecipientSet } from '../../core/payment/splits.ts'
import { computeCredit, type Effect, isSignedByOwner, type Transfer } from '../../core/payment/verify.ts'
import { readOwnIds } from '../../core/payouts/outgoing-memo.ts'
import type { Journal, Mark, Sighting } from '../../core/ports/journal.ts'
import { openSubmission } from '../../core/ports/sealed-submission.ts'
import { usualProofTtlSeconds } from '../../core/protocol/proof.ts'
import { type OpenedRequest, openRequest } from '../../core/protocol/request-id.ts'
import type { RouteConfig } from '../config/config.ts'
import type { Runtime, WatchedAccount } from '../runtime/runtime.ts'
import type { Claim } from './verify-on-chain.ts'

/** Starts to watch the recipients of a route, so that payments to them are read as they land. */
export async function watchRoute(
  runtime: Runtime,
  config: RouteConfig,
  recipients: readonly string[] = [config.recipient, ...config.retiredRecipients],
): Promise<void> {
  if (!config.verifyOnChain || !runtime.config.watch) return
  for (const recipient of new Set(recipients)) {
    for (const token of config.acceptedMints) {
      const mint = findMint(token, config.mints)
      const destination = mint ? await runtime.tokenAccountOf(recipient, mint) : recipient
      const decimals = findDecimals(token, config.mints) ?? 0
      runtime.watched.set(destination, { recipient, token, decimals, asset: mint?.address ?? 'SOL' })
      runtime.chain.watch(destination)
    }
  }
}

export async function recordObservations(
  runtime: Runtime,
  journal: Journal,
  effects: readonly Effect[],
  read?: { readonly address: string; readonly mark: Mark },
): Promise<void> {
  const submitted = await findSubmitted(runtime, effects)
  const outgoing = await findOutgoing(runtime, effects)
  if (effects.some((effect) => hasUnknownMemo(runtime, effect))) await runtime.splits.refresh()
  await runtime.tokens.completeFor(listArrivedTokens(runtime, effects), {})
  const sightings = effects.flatMap((effect) => {
    const requestId = submitted.get(effect.signature)
    // It paid another server, so it is neither a sale of this service nor a payment without a purpose.
    if (requestId === undefined && submitted.has(effect.signature)) return []
    if (outgoing.has(effect.signature)) return []
    return sightingOf(runtime, effect, requestId) ?? []
  })
  const isNew = new Set(
    (
      await journal.sight(
        sightings.map(({ sighting }) => sighting),
        read,
      )
    ).map(({ tx }) => tx),
  )
  for (const { sighting, effect, requestId, decimals } of sightings) {
    if (!isNew.has(sighting.tx)) continue
    const { recipient, token, received } = sighting
    const amount = formatUnits(received, decimals)
    runtime.emit({ kind: 'seen', tx: effect.signature, recipient, token, amount, ...(requestId && { requestId }) })
  }
}

/** Another server may have issued the quote, with splits that are not known here yet. */
function hasUnknownMemo(runtime: Runtime, { memos }: Effect): boolean {
  return memos.some((memo) => {
    const request = openRequest(memo)
    return request !== undefined && runtime.recognise(request).kind === 'forged'
  })
}

/** The tokens that arrived. Another server may have bound one of them that is not known here yet. */
function listArrivedTokens({ watched }: Runtime, effects: readonly Effect[]): readonly TokenCode[] {
  const transfers = effects.flatMap((effect) => effect.transfers)
  return transfers.flatMap(({ destination }) => watched.get(destination)?.token ?? [])
}

/** The requestIds of transactions that the service itself recorded and sent. Undefined for another server's sales. */
async function findSubmitted({ ledger, sealer }: Runtime, effects: readonly Effect[]) {
  const found = new Map<string, string | undefined>()
  for (const effect of effects) {
    const { signature } = effect
    const tx = decodeSignature(signature)
    if (!tx || !mayBeSubmitted(effect)) continue
    const record = await ledger.submissions.find(tx)
    const submission = record && openSubmission(sealer, record.sealed, signature)
    if (submission) found.set(signature, submission.requestId)
  }
  return found
}

/**
 * The service's own payouts and refunds. Their payee may be a recipient, such as a treasury. They are no payments that
 * could be refunded. Anyone can copy a memo, so the ledger must know the transaction.
 */
async function findOutgoing({ ledger, sealer }: Runtime, effects: readonly Effect[]): Promise<ReadonlySet<string>> {
  const found = new Set<string>()
  for (const { memos, signature } of effects) {
    const [id] = readOwnIds(memos.join(), sealer)
    const own = id === undefined ? undefined : await ledger.outgoing.get(id)
    if (own?.signed?.signature === signature) found.add(signature)
  }
  return found
}

/** The memo has only the end of the requestId, or nothing: then another wallet, the sponsor, paid the fee. */
function mayBeSubmitted({ memos, transfers, feePayer }: Effect): boolean {
  return memos.some(isShortMemo) || transfers.every(({ authority }) => authority !== feePayer)
}

/** The first payment of a transaction to a watched account, with its purpose as far as the memos show it. */
function sightingOf(runtime: Runtime, effect: Effect, submitted: string | undefined) {
  const tx = decodeSignature(effect.signature)
  if (!tx || effect.failed) return undefined
  const arrivals = effect.transfers.flatMap((transfer) => arrivalOf(runtime, effect, transfer, submitted) ?? [])
  // Another program may add its own transfers. A transfer that pays for a request takes precedence.
  const arrival = arrivals.find(isPaidFor) ?? arrivals.find(({ purposes }) => purposes.length > 0) ?? arrivals[0]
  if (!arrival) return undefined
  const { transfer, account, received, purposes } = arrival
  const { recipient, token, decimals } = account
  // Any of the requestIds can claim the payment, so it is underpaid only if it is too low for all of them.
  const meant = purposes.find((purpose) => isEnough(purpose, received)) ?? purposes[0]
  const { requestId, ...purpose } = meant ?? nothing
  const until = Math.max(0, ...purposes.map((one) => one.claimableUntil))
  const sighting = {
    tx,
    recipient,
    request: requestId === undefined ? '' : runtime.pseudonyms.request(requestId),
    payer: runtime.pseudonyms.wallet(decodeAddress(transfer.authority) ?? new Uint8Array()),
    token,
    received,
    slot: effect.slot,
    paidAt: effect.blockTime * 1000,
    ...purpose,
    claimableUntil: until,
  }
  return { sighting, effect, requestId, decimals }
}

/** A transfer to a watched account, with the total that its payer sent to the account. */
interface Arrival {
  readonly transfer: Transfer
  readonly account: WatchedAccount
  readonly received: bigint
  readonly purposes: readonly Purpose[]
}

function arrivalOf(runtime: Runtime, effect: Effect, transfer: Transfer, submitted: string | undefined) {
  const { asset, destination, authority } = transfer
  const account = runtime.watched.get(destination)
  if (account?.asset !== asset) return undefined
  const { recipient, token } = account
  if (!hasMeaning(runtime, token, asset)) return undefined
  // A transfer that the recipient signed, such as a conversion, is not a payment that could be refunded.
  if (isSignedByOwner(effect, recipient)) return undefined
  const received = computeCredit(effect, recipient, asset, authority)
  const requestIds = submitted === undefined ? transfer.memos : [submitted]
  const found = requestIds.map((requestId) => purposeOf(runtime, requestId, account, effect, { authority, received }))
  // The parts of other wallets are not received by the service, even if the same wallet sells something else.
  if (found.includes('part')) return undefined
  const purposes = found.flatMap((purpose) => (purpose === 'part' ? [] : (purpose ?? [])))
  return { transfer, account, received, purposes }
}

/** Whether the ledger books this asset under this code. An unbound code has no quotes yet. */
function hasMeaning({ tokens }: Runtime, token: TokenCode, asset: string): boolean {
  return isKnownCode(token) || findMint(token, tokens.complete({}))?.address === asset
}

function isPaidFor({ purposes, received }: Arrival): boolean {
  return purposes.some((purpose) => isEnough(purpose, received))
}

function isEnough({ required }: Purpose, received: bigint): boolean {
  return required !== undefined && received >= required
}

interface Purpose extends Pick<Sighting, 'endpoint' | 'claimableUntil' | 'required' | 'payableUntil'> {
  readonly requestId: string | undefined
}

const nothing: Purpose = { requestId: undefined, endpoint: '', claimableUntil: 0, required: undefined, payableUntil: 0 }

/**
 * The purpose of a payment with this memo, and the end of its claim period. Undefined unless the memo is a requestId of
 * this service. 'part' if the account belongs to a wallet of its splits.
 */
function purposeOf(
  runtime: Runtime,
  memo: string,
  { recipient: owner, token, asset }: WatchedAccount,
  effect: Effect,
  { authority, received }: Pick<Transfer, 'authority'> & Pick<Arrival, 'received'>,
): Purpose | 'part' | undefined {
  const request = openRequest(memo)
  const recognition = request && runtime.recognise(request)
  if (!request || recognition?.kind !== 'sealed') return undefined
  if (recognition.splits.some(({ recipient }) => recipient === owner)) return 'part'
  const { endpoint = '', proofTtlSeconds = usualProofTtlSeconds } = runtime.findRoute(request.routeTag) ?? {}
  const payableUntil = paymentWindow(request).notAfter * 1000
  const price = request.amounts[token]
  const divided = price === undefined ? undefined : dividePrice(price, recognition.splits)
  const missing = divided?.parts.map((part) => part.units - computeCredit(effect, part.recipient, asset, authority))
  // The missing units of other wallets' parts are required in addition, so that such a payment is underpaid even if the
  // recipient got the whole price, unless it collects it.
  const lacking = (missing ?? []).reduce((sum, units) => (units > 0n ? sum + units : sum), 0n)
  const unpaid = divided && (lacking > 0n && received > divided.own ? received : divided.own) + lacking
  const required = recognition.isCollected && lacking > 0n ? price : unpaid
  return { requestId: memo, endpoint, claimableUntil: claimableUntil(request, proofTtlSeconds), required, payableUntil }
}

/** Refusals of payments that may still turn out to be valid. */
const unsettled: readonly RefusalCode[] = ['tx_not_found', 'tx_not_final', 'chain_unavailable', 'chain_disagreement']

/**
 * Adds a payment with a genuine proof that cannot be verified yet to the payment list. The write happens later, and is
 * skipped while many payments wait: the list only informs people, and the client repeats the proof.
 */
export function notePending(
  { routeRuntime, incoming, proof }: Claim,
  request: OpenedRequest,
  { recipient, splits }: RecipientSet,
  name: string,
  code: RefusalCode,
): void {
  if (!unsettled.includes(code)) return
  const { runtime, route } = routeRuntime
  const { token: preferred } = route.config.pricing
  const [token = preferred, price = 0n] =
    Object.entries(request.amounts).find(([code]) => code === preferred) ?? Object.entries(request.amounts)[0] ?? []
  const received = dividePrice(price, splits)?.own ?? 0n
  runtime.pending.note({
    tx: proof.txBytes,
    recipient,
    request: name,
    payer: '',
    token: token as TokenCode,
    received,
    slot: 0,
    paidAt: Math.floor(runtime.clock.now()),
    endpoint: nameEndpoint(route.config.endpoint, incoming),
    claimableUntil: claimableUntil(request, route.config.proofTtlSeconds),
    required: received,
    payableUntil: paymentWindow(request).notAfter * 1000,
  })
}
