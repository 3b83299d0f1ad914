/**
 * The state of a purchase, from the ledger and the chain. It considers the transaction that the service sent for it,
 * transactions that the watcher saw with its memo or a proof has named, and verified hints of clients.
 */
import { readLanguage } from '../../core/checkout/languages/language.ts'
import type { CheckoutState } from '../../core/checkout/messages.ts'
import { isPayable } from '../../core/checkout/texts.ts'
import { decodeAddress, decodeSignature, encodeBase58 } from '../../core/encoding/base58.ts'
import type { Incoming } from '../../core/http/http.ts'
import { formatUnits } from '../../core/money/money.ts'
import type { TokenCode } from '../../core/money/tokens.ts'
import type { PaymentListItem } from '../../core/payment/history.ts'
import { type Refusal, type RefusalCode, refusals, refuse } from '../../core/payment/refusals.ts'
import { claimableUntil, paymentWindow, routeOptions } from '../../core/payment/requirements.ts'
import { dividePrice, type RecipientSet, sumParts } from '../../core/payment/splits.ts'
import { type Effect, judge, type Paid, type Quote } from '../../core/payment/verify.ts'
import type { SignedDraft } from '../../core/ports/payment-drafts.ts'
import type { Proof } from '../../core/protocol/proof.ts'
import { type OpenedRequest, openRequest } from '../../core/protocol/request-id.ts'
import { isRefunded } from '../claim/refunded.ts'
import { readFinally, readForQuote, readWithin } from '../claim/verify-on-chain.ts'
import type { RouteRuntime } from '../quote/route-runtime.ts'
import type { TransactionSlots } from './transaction-slot.ts'

/** A requestId of a route, opened. */
export interface Purchase extends RecipientSet {
  readonly requestId: string
  readonly request: OpenedRequest
  /** Its pseudonym. */
  readonly name: string
  /** The end of the price, and the time until which a payment can be claimed, in milliseconds since 1970. */
  readonly expiresAt: number
  readonly claimableUntil: number
}

export interface PaidPrice {
  readonly token: TokenCode
  /** With the parts of other wallets. */
  readonly amount: string
  /** The block time, in milliseconds since 1970. */
  readonly paidAt: number
}

/** The state of a purchase, and the payment that decides it, if there is one. */
export interface PurchaseState {
  readonly state: CheckoutState
  readonly proof?: Omit<Proof, 'claim'>
  /** The price that was paid, if the payment is valid. */
  readonly paid?: PaidPrice
  /** The transaction that was sent last, if it turned out not to pay for this purchase. */
  readonly vain?: string
}

/**
 * Undefined if the requestId does not belong to this route. Another server may have issued it, with new splits, so the
 * ledger is asked before it counts as made up.
 */
export async function openPurchase({ runtime, route }: RouteRuntime, requestId: string): Promise<Purchase | undefined> {
  const request = openRequest(requestId)
  if (!request) return undefined
  const recognition = await runtime.identify(request)
  if (recognition.kind !== 'sealed' || !route.knows(request, recognition.recipient)) return undefined
  return {
    requestId,
    request,
    recipient: recognition.recipient,
    splits: recognition.splits,
    isCollected: recognition.isCollected ?? false,
    name: runtime.pseudonyms.request(requestId),
    expiresAt: (request.issuedAt + request.ttlSeconds) * 1000,
    claimableUntil: claimableUntil(request, route.config.proofTtlSeconds),
  }
}

export interface PurchaseStates {
  /** `hint` is a transaction that the client claims as the payment. */
  read(purchase: Purchase, incoming: Incoming, hint?: string): Promise<PurchaseState>
}

/**
 * A requestId can be read from the chain, so strangers can send tiny payments for it, but only later. Therefore the
 * first payments are listed, and those that paid in full are checked first.
 */
const mostListed = 100
const mostCandidates = 10
/** Time after the end of a price for which a claimed transaction is awaited. */
const hintMs = 120_000

export function createPurchaseStates(routeRuntime: RouteRuntime, slots: TransactionSlots): PurchaseStates {
  const { runtime } = routeRuntime
  const { clock, ledger } = runtime
  const { kv, books } = ledger
  const foundOf = ({ name }: Purchase, tx = ''): string => `checkout/${name}/${tx}`
  /** Without the watcher, no other record of it exists yet. */
  const remember = async (purchase: Purchase, tx: string): Promise<void> =>
    void (await kv.put(foundOf(purchase, tx), '', purchase.claimableUntil))

  const candidatesOf = async (purchase: Purchase, sent: SignedDraft | undefined): Promise<readonly string[]> => {
    const [found, seen] = await Promise.all([
      kv.list(foundOf(purchase)),
      books.listPayments({ request: purchase.name, order: 'oldest', most: mostListed }),
    ])
    const { request, splits } = purchase
    const isFull = ({ token, units }: PaymentListItem): boolean =>
      units >= (dividePrice(request.amounts[token] ?? 0n, splits)?.own ?? units + 1n)
    const listed = [...seen.filter(isFull), ...seen.filter((one) => !isFull(one))].slice(0, mostCandidates)
    const prefix = foundOf(purchase).length
    const all = [
      ...(sent ? [sent.signature] : []),
      ...found.map(({ name }) => name.slice(prefix)),
      ...listed.map(({ tx }) => encodeBase58(tx)),
    ]
    return [...new Set(all)]
  }
  const idle = ({ expiresAt }: Purchase): CheckoutState =>
    clock.now() >= expiresAt ? { state: 'expired' } : { state: 'waiting' }

  return {
    read: async (purchase, incoming, hint) => {
      const sent = await slots.current(purchase)
      const options = await routeOptions(routeRuntime, purchase.request.amounts, purchase)
      const { requestId, recipient } = purchase
      const window = paymentWindow(purchase.request)
      const quote: Quote = { requestId, recipient, options, ...window }
      const look = { routeRuntime, incoming, quote, requestId }
      if (hint !== undefined && (await isTrue(look, hint))) await remember(purchase, hint)
      const candidates = await candidatesOf(purchase, sent)
      const all = await Promise.all(candidates.map((tx) => readTransactionState(look, tx)))
      const own = sent && all.find(({ state }) => 'tx' in state && state.tx === sent.signature)
      let best = findBest(all)
      let isGone = false
      if (sent && best && best === own && best.state.state === 'confirming') {
        isGone = await slots.isOver(sent)
        // A transaction that can no longer land counts as never sent.
        if (isGone) best = findBest(all.filter((one) => one !== own))
        // After this time the transaction would be late, so it is not sent again.
        else if (clock.now() < window.notAfter * 1000) await slots.sendAgain(sent)
      }
      const isVain = own !== undefined && isPayable(own.state)
      if (best) return isVain ? { ...best, vain: sent?.signature ?? '' } : best
      const mayLand = hint !== undefined && !(isGone && hint === sent?.signature)
      const isAwaited = mayLand && clock.now() < purchase.expiresAt + hintMs
      return { state: isAwaited ? { state: 'confirming', tx: hint } : idle(purchase) }
    },
  }
}

interface Look {
  readonly routeRuntime: RouteRuntime
  readonly incoming: Incoming
  readonly quote: Quote
  readonly requestId: string
}

/** The state of one transaction. */
async function readTransactionState(
  { routeRuntime, incoming, quote, requestId }: Look,
  tx: string,
): Promise<PurchaseState> {
  const { chain, ledger } = routeRuntime.runtime
  const txBytes = decodeSignature(tx)
  if (!txBytes) return { state: { state: 'wrong', tx, why: refusals.proof_malformed.title } }
  const reading = await readForQuote(chain, tx, quote, { waitMs: 0 })
  if (reading.kind !== 'found') return { state: { state: 'confirming', tx } }
  const verdict = judge(reading.effect, quote)
  if (verdict.kind === 'refused') return { state: refusedState(tx, verdict, incoming) }
  const payer = verdict.kind === 'late' ? verdict.paid.payer : verdict.payer
  const payerBytes = decodeAddress(payer)
  if (!payerBytes) return { state: { state: 'wrong', tx, why: refusals.unsupported_transfer.title } }
  const proof = { tx, txBytes, requestId, payer, payerBytes }
  const known = await ledger.peek(txBytes)
  const paid = readPaidPrice(verdict.kind === 'late' ? verdict.paid : verdict, reading.effect)
  const isRegistered = known !== undefined && known.state !== 'late'
  if (known?.state === 'spent' || (!isRegistered && (await isRefunded(ledger, txBytes))))
    return { state: { state: 'used', tx }, proof, paid }
  if (known?.state === 'open' || known?.state === 'busy') return { state: { state: 'paid', tx }, proof, paid }
  if (verdict.kind === 'late') return { state: { state: 'late', tx }, proof }
  const final = await readFinally({ routeRuntime, incoming, proof }, quote, {}, known?.state === 'reverted')
  return final.kind === 'refused'
    ? { state: refusedState(tx, final, incoming), proof }
    : { state: { state: 'paid', tx }, proof, paid }
}

function readPaidPrice({ option, received, splits = [] }: Paid, { blockTime }: Effect): PaidPrice {
  const amount = formatUnits(received + sumParts(splits), option.decimals)
  return { token: option.token, amount, paidAt: blockTime * 1000 }
}

/** Whether a claimed transaction is genuine. The lookup counts against the client's rate limit. */
async function isTrue({ routeRuntime, incoming, quote, requestId }: Look, tx: string): Promise<boolean> {
  const txBytes = decodeSignature(tx)
  if (!txBytes) return false
  const { chain } = routeRuntime.runtime
  const seen = chain.seen(tx)
  if (seen && judge(seen, quote).kind === 'paid') return true
  let isOurs = false
  const proof = { tx, txBytes, requestId, payer: '', payerBytes: new Uint8Array(32) }
  await readWithin({ routeRuntime, incoming, proof }, quote, async () => {
    const reading = await readForQuote(chain, tx, quote, { waitMs: 0 })
    if (reading.kind !== 'found') return refuse('tx_not_found')
    isOurs = judge(reading.effect, quote).kind === 'paid'
    return refuse(isOurs ? 'tx_not_final' : 'memo_mismatch')
  })
  return isOurs
}

/** The order of precedence of several payments. */
const order: readonly CheckoutState['state'][] = ['paid', 'confirming', 'used', 'late', 'short', 'wrong']

function findBest(all: readonly PurchaseState[]): PurchaseState | undefined {
  return order.flatMap((name) => all.find(({ state }) => state.state === name) ?? [])[0]
}

const mayChange: readonly RefusalCode[] = ['tx_not_found', 'tx_not_final', 'chain_unavailable', 'chain_disagreement']

function refusedState(tx: string, refusal: Refusal, incoming: Incoming): CheckoutState {
  if (mayChange.includes(refusal.code)) return { state: 'confirming', tx }
  const { shortfall, code } = refusal
  if (!shortfall)
    return { state: 'wrong', tx, why: describeRefusal(code, incoming), ...(code === 'tx_failed' && { isFailed: true }) }
  const { token, decimals } = shortfall
  const [received, required] = [shortfall.received, shortfall.required].map((units) => formatUnits(units, decimals))
  return { state: 'short', tx, token, received: received ?? '', required: required ?? '' }
}

/** In the language of the browser, if people can cause it. */
function describeRefusal(code: RefusalCode, incoming: Incoming): string {
  const texts: Readonly<Partial<Record<string, string>>> = readLanguage(incoming).texts.page
  return texts[code] ?? refusals[code].title
}
