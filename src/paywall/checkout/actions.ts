/**
 * The checkout actions of one route: the ways to pay from a phone, the transaction for a wallet to sign, and its
 * submission.
 */
import { fill } from '../../core/checkout/languages/fill.ts'
import { readLanguage } from '../../core/checkout/languages/language.ts'
import type {
  CheckoutOrder,
  CheckoutReceipt,
  CheckoutState,
  CheckoutToken,
  CheckoutView,
  Preparation,
} from '../../core/checkout/messages.ts'
import { decodeAddress } from '../../core/encoding/base58.ts'
import { decodeBase64url } from '../../core/encoding/base64url.ts'
import type { Incoming } from '../../core/http/http.ts'
import { formatUnits } from '../../core/money/money.ts'
import { estimateDollars } from '../../core/money/rates.ts'
import { findDecimals, findMint, listTokens, type MintTable, type TokenCode } from '../../core/money/tokens.ts'
import { computeGross } from '../../core/money/transfer-fee.ts'
import { type Refusal, refuse } from '../../core/payment/refusals.ts'
import { routeOptions } from '../../core/payment/requirements.ts'
import { deriveReference, transactionLink, transferLink } from '../../core/payment/solana-pay.ts'
import { type DividedPrice, dividePrice, sumParts } from '../../core/payment/splits.ts'
import type { KeyValueStore } from '../../core/ports/kv.ts'
import type { DraftOption } from '../../core/ports/payment-drafts.ts'
import { formatReceipt, type Receipt } from '../../core/protocol/receipt.ts'
import { clockWrong } from '../quote/readiness-report.ts'
import type { Route } from '../quote/route.ts'
import type { RouteRuntime } from '../quote/route-runtime.ts'
import { createPurchaseStates, openPurchase, type Purchase, type PurchaseStates } from './purchase-state.ts'
import { encodeQr } from './qr.ts'
import { drawQr } from './qr-path.ts'
import { createTransactionSlots, type TransactionSlots } from './transaction-slot.ts'

export interface CheckoutActions {
  readonly route: Route
  open(requestId: string): Promise<Purchase | undefined>
  readonly readState: PurchaseStates['read']
  /** The amount to send of each token, the token of the price first. */
  listTokens(purchase: Purchase): readonly CheckoutToken[]
  view(purchase: Purchase, token: TokenCode): CheckoutView | undefined
  /** A payment transaction for an account to sign. */
  prepare(purchase: Purchase, token: TokenCode, account: string, incoming: Incoming): Promise<Preparation | Refusal>
  answer(order: CheckoutOrder, incoming: Incoming): Promise<object | Refusal>
}

/** The dependencies of every step. */
interface Desk {
  readonly routeRuntime: RouteRuntime
  readonly slots: TransactionSlots
  readonly states: PurchaseStates
}

export function createActions(routeRuntime: RouteRuntime, kv: KeyValueStore): CheckoutActions {
  const { runtime, route } = routeRuntime
  const slots = createTransactionSlots(kv, runtime.paymentDrafts, runtime.clock)
  const states = createPurchaseStates(routeRuntime, slots)
  const desk: Desk = { routeRuntime, slots, states }
  const { token: priced } = route.config.pricing
  const open = (requestId: string) => openPurchase(routeRuntime, requestId)
  return {
    route,
    open,
    readState: states.read,
    listTokens: (purchase) =>
      [priced, ...listTokens(readMints(desk)).filter((token) => token !== priced)].flatMap((token) => {
        const amount = amountOf(desk, purchase, token)
        const mint = findMint(token, readMints(desk))?.address
        const dollars = dollarsOf(desk, purchase, token)
        if (amount === undefined) return []
        return [{ token, amount, ...(mint !== undefined && { mint }), ...(dollars !== undefined && { dollars }) }]
      }),
    view: (purchase, token) => viewOf(desk, purchase, token),
    prepare: (purchase, token, account, incoming) => prepare(desk, purchase, { token, account }, incoming),
    answer: async (order, incoming) => {
      const purchase = await open(order.requestId)
      if (!purchase) return refuse('unknown_request')
      switch (order.kind) {
        case 'status':
          return (await states.read(purchase, incoming, order.tx)).state
        case 'receipt':
          return readReceipt(desk, purchase, incoming)
        case 'open':
          // The address of the resource handles it. A payment link has no resource.
          return refuse('claim_required')
        case 'view':
          return viewOf(desk, purchase, order.token) ?? refuse('not_priced')
        case 'prepare':
          return prepare(desk, purchase, order, incoming)
        case 'submit':
          return submit(desk, purchase, decodeBase64url(order.transaction), incoming)
        case 'test':
          return payAsTest(desk, purchase, order.token, incoming)
      }
    },
  }
}

/** Includes tokens that are no longer configured: a purchase in them can be open. */
function readMints({ routeRuntime: { runtime, route } }: Desk): MintTable {
  return runtime.tokens.complete(route.config.mints)
}

/** The amounts to send so that each wallet receives its part. Undefined if the token is not in the quote. */
function partsOf({ routeRuntime: { probe } }: Desk, purchase: Purchase, token: TokenCode): DividedPrice | undefined {
  const price = purchase.request.amounts[token]
  const divided = price === undefined ? undefined : dividePrice(price, purchase.splits)
  const fees = probe.offered().get(token)?.fees ?? []
  const own = divided && computeGross(divided.own, fees)
  if (!divided || own === undefined) return undefined
  const parts = divided.parts.map(({ recipient, units }) => ({ recipient, units: computeGross(units, fees) ?? units }))
  return { own, parts }
}

function amountOf(desk: Desk, purchase: Purchase, token: TokenCode): string | undefined {
  const sent = partsOf(desk, purchase, token)
  return sent && formatUnits(sent.own + sumParts(sent.parts), findDecimals(token, readMints(desk)) ?? 0)
}

/** Undefined for USDC, whose amount is a value in dollars already. */
function dollarsOf(desk: Desk, purchase: Purchase, token: TokenCode): string | undefined {
  const sent = partsOf(desk, purchase, token)
  const decimals = findDecimals(token, readMints(desk))
  if (!sent || decimals === undefined || token === 'USDC') return undefined
  const units = sent.own + sumParts(sent.parts)
  return estimateDollars({ token, units, decimals }, desk.routeRuntime.route.rates.current())
}

function viewOf(desk: Desk, purchase: Purchase, token: TokenCode): CheckoutView | undefined {
  const { runtime, route } = desk.routeRuntime
  const amount = amountOf(desk, purchase, token)
  if (amount === undefined) return undefined
  const { requestId, recipient } = purchase
  const mints = readMints(desk)
  const { seller, description } = route.config
  const label = seller?.name ?? description ?? 'paystile'
  const message = label === description ? undefined : description
  const { publicUrl } = runtime
  // With a public https address, wallets request the transaction from the service. Otherwise they build it from the
  // link, which has only one recipient.
  const isRequested = publicUrl?.startsWith('https:')
  if (!isRequested && purchase.splits.length > 0) return { uri: '' }
  const uri = isRequested
    ? transactionLink(`${publicUrl}/pay/${requestId}?token=${token}`)
    : transferLink({ recipient, amount, mint: findMint(token, mints)?.address, requestId, label, message })
  return { uri, qr: drawQr(encodeQr(uri)) }
}

/** The receipt of a purchase. The caller has checked that its buyer asks. */
async function readReceipt(
  { routeRuntime: { runtime, route }, states }: Desk,
  purchase: Purchase,
  incoming: Incoming,
): Promise<CheckoutReceipt | Refusal> {
  const { proof, paid } = await states.read(purchase, incoming)
  if (!proof || !paid) return refuse('tx_not_found')
  const { tx } = proof
  const { token, amount, paidAt } = paid
  const resource = `${route.config.publicUrl ?? incoming.origin()}${incoming.target}`
  const signed: Receipt = {
    status: 'success',
    method: 'solana',
    reference: tx,
    timestamp: new Date(paidAt).toISOString(),
    requestId: purchase.requestId,
    resource,
    token,
    amount,
    payer: runtime.pseudonyms.wallet(proof.payerBytes),
  }
  return { kind: 'receipt', tx, token, amount, paidAt, resource, receipt: formatReceipt(signed, runtime.identity.sign) }
}

/** Such a payment needs the signature of the payer's wallet, which the checkout page does not have. */
export const needsSignature = refuse('signature_required', {
  detail: 'This requestId is for programs that pay with their own wallet. Open the resource in a browser instead.',
})

/** States in which a payment is still due. */
const unpaid: readonly CheckoutState['state'][] = ['waiting', 'short', 'wrong']
/** With less remaining time than this, a payment is refused, because it could not land before the quote expires. */
const tooLateMs = 5_000

async function prepare(
  desk: Desk,
  purchase: Purchase,
  { token, account }: { readonly token: TokenCode; readonly account: string },
  incoming: Incoming,
): Promise<Preparation | Refusal> {
  const { routeRuntime, slots, states } = desk
  const { runtime, route } = routeRuntime
  if (purchase.request.proof === 'sig') return needsSignature
  const { state, vain } = await states.read(purchase, incoming)
  if (!unpaid.includes(state.state)) return { kind: 'state', ...state }
  if (route.whyClosed() !== undefined) return clockWrong
  const latest = await slots.current(purchase)
  if (latest && !(await slots.isOver(latest, vain))) return { kind: 'state', state: 'confirming', tx: latest.signature }
  if (runtime.clock.now() + tooLateMs >= purchase.expiresAt) return { kind: 'state', state: 'expired' }
  const sent = partsOf(desk, purchase, token)
  if (!sent || !decodeAddress(account)) return refuse('not_priced')
  const { requestId, recipient } = purchase
  const mints = readMints(desk)
  const reference = deriveReference(requestId)
  const mint = findMint(token, mints)
  const money = { mint, units: sent.own, splits: sent.parts }
  const drafting = await runtime.paymentDrafts.draft({ account, recipient, ...money, requestId, reference })
  if (drafting.kind === 'transaction') return drafting
  if (drafting.kind === 'short') {
    const short = drafting.of === 'fee' ? 'SOL' : token
    const people = (amount: bigint) => formatUnits(amount, findDecimals(short, mints) ?? 0)
    return { kind: 'short', token: short, has: people(drafting.has), needs: people(drafting.needs) }
  }
  runtime.log.warn('checkout.draft_failed', { why: drafting.why })
  if (drafting.kind === 'unavailable') return refuse('chain_unavailable')
  return { kind: 'refused', why: fill(readLanguage(incoming).texts.page.cannotArrive, { why: drafting.why }) }
}

/** The ways to pay, with the amounts to send so that the price arrives. */
async function optionsOf(desk: Desk, purchase: Purchase): Promise<readonly DraftOption[]> {
  const options = await routeOptions(desk.routeRuntime, purchase.request.amounts, purchase)
  return options.map(({ splits = [], ...option }) => {
    const sent = partsOf(desk, purchase, option.token)
    return {
      ...option,
      gross: sent?.own ?? option.units,
      splits: splits.map((split, index) => ({ ...split, gross: sent?.parts[index]?.units ?? split.units })),
    }
  })
}

async function submit(desk: Desk, purchase: Purchase, bytes: Uint8Array | undefined, incoming: Incoming) {
  const { routeRuntime, slots, states } = desk
  const { runtime } = routeRuntime
  const texts = readLanguage(incoming).texts.page
  const reading = bytes && (await runtime.paymentDrafts.read(bytes, purchase.requestId))
  if (reading?.kind === 'unavailable') return refuse('chain_unavailable')
  if (!bytes || reading?.kind !== 'signed') return { kind: 'refused', why: texts.notForThis }
  const { signed, isFresh } = reading
  const { state, vain } = await states.read(purchase, incoming)
  if (!unpaid.includes(state.state)) return { kind: 'state', ...state }
  // Also after an invalid payment: a payment that lands too late is lost.
  if (runtime.clock.now() >= purchase.expiresAt) return { kind: 'refused', why: texts.expiredUnsent }
  if (!isFresh) return { kind: 'refused', why: texts.signedLongAgo }
  // Any client that knows the purchase can submit a transaction. One that would not pay must not block a real payment.
  const trial = await runtime.paymentDrafts.simulate(bytes, await optionsOf(desk, purchase))
  if (trial.kind === 'unavailable') return refuse('chain_unavailable')
  if (trial.kind !== 'pays') {
    runtime.log.warn('checkout.payment_rejected', { why: trial.why })
    return { kind: 'refused', why: trial.kind === 'fails' ? texts.wouldFail : texts.notForThis }
  }
  if (!(await slots.take(purchase, signed, vain))) {
    const sent = await slots.current(purchase)
    return { kind: 'state', state: 'confirming', ...(sent && { tx: sent.signature }) }
  }
  const posting = await runtime.paymentDrafts.send(signed)
  if (posting.kind !== 'rejected') return { kind: 'sent', tx: signed.signature }
  runtime.log.warn('checkout.send_failed', { why: posting.why })
  return { kind: 'refused', why: texts.notAccepted }
}

/** Pays like a person with a wallet, but without confirmation. */
async function payAsTest(desk: Desk, purchase: Purchase, token: TokenCode, incoming: Incoming) {
  const { testPayer } = desk.routeRuntime.runtime
  if (!testPayer) return refuse('unknown_request', { detail: 'This network has no test money.' })
  const account = await testPayer.address()
  const draft = () => prepare(desk, purchase, { token, account }, incoming)
  let drafted = await draft()
  if (drafted.kind === 'short' && (await testPayer.fill(token))) drafted = await draft()
  if (drafted.kind === 'refused' || drafted.kind === 'state') return drafted
  if (drafted.kind === 'short')
    return { kind: 'refused', why: fill(readLanguage(incoming).texts.page.faucetEmpty, { token }) }
  const bytes = decodeBase64url(drafted.transaction.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', ''))
  return submit(desk, purchase, bytes && (await testPayer.sign(bytes)), incoming)
}
