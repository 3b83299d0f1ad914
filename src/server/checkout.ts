/**
 * The checkout's desk at one route: where a purchase stands, how it can be paid from a phone, and what a wallet is to sign.
 *
 * One transaction at a time is sent for a requestId: the next only when the one before can no longer land. So two tabs, a
 * double click or a reload pay once.
 */
import { decodeAddress, decodeSignature, encodeBase58 } from '../core/base58.ts'
import { decodeBase64url, encodeBase64url } from '../core/base64url.ts'
import type {
  CheckoutOrder,
  CheckoutState,
  CheckoutToken,
  CheckoutView,
  Preparation,
  Sending,
} from '../core/checkout.ts'
import type { Refusal, RefusalCode } from '../core/errors.ts'
import { refusals, refuse } from '../core/errors.ts'
import type { Incoming } from '../core/http.ts'
import { equalBytes } from '../core/mac.ts'
import { formatUnits } from '../core/money.ts'
import type { TokenCode } from '../core/network.ts'
import { decimalsOf, mintOf, tokenCodes } from '../core/network.ts'
import type { SignedDraft } from '../core/ports.ts'
import type { Proof } from '../core/proof.ts'
import type { OpenedRequest } from '../core/request-id.ts'
import { openRequest } from '../core/request-id.ts'
import { referenceOf, transactionLink, transferLink } from '../core/solana-pay.ts'
import { grossFor } from '../core/transfer-fee.ts'
import type { Quote } from '../core/verify.ts'
import { judge } from '../core/verify.ts'
import type { Probe } from './probe.ts'
import { encodeQr } from './qr.ts'
import { claimableUntil, paymentOptions, paymentWindow } from './quote.ts'
import type { Case } from './reading.ts'
import { readFinally, readWithin } from './reading.ts'
import type { Route } from './route.ts'
import type { Service } from './service.ts'

/** A requestId of this route, opened. */
export interface Purchase {
  readonly requestId: string
  readonly request: OpenedRequest
  readonly recipient: string
  /** Its pseudonym. */
  readonly name: string
}

/** Where a purchase stands, and by which payment, where there is one to show. */
export interface Standing {
  readonly state: CheckoutState
  readonly proof?: Omit<Proof, 'claim'>
}

export interface CheckoutDesk {
  readonly route: Route
  open(requestId: string): Purchase | undefined
  /** `hint` is a transaction that somebody says has paid it. */
  standingOf(purchase: Purchase, incoming: Incoming, hint?: string): Promise<Standing>
  /** What has to be sent of each token, the one of the price first. */
  tokensOf(purchase: Purchase): readonly CheckoutToken[]
  view(purchase: Purchase, token: TokenCode): CheckoutView | undefined
  answer(order: CheckoutOrder, incoming: Incoming): Promise<object | Refusal>
  /** A transaction that pays it, for an account to sign. */
  prepare(purchase: Purchase, token: TokenCode, account: string, incoming: Incoming): Promise<Preparation | Refusal>
}

/** How soon what was sent is sent again, while nobody has seen it land. */
const resendMs = 2_000
const mostResends = 1_000
/** Less than this before its end, a price is not paid any more: it could not land in time. */
const tooLateMs = 5_000

export function createDesk(service: Service, route: Route, probe: Probe): CheckoutDesk {
  const { clock, cashier, ledger, chain, pseudonyms } = service
  const { mints, pricing, proofTtlSeconds } = route.config
  const { shelf, journal } = ledger
  const sentAt = new Map<string, number>()

  const open = (requestId: string): Purchase | undefined => {
    const request = openRequest(requestId)
    if (!request || !route.tags.some((tag) => equalBytes(tag, request.routeTag))) return undefined
    const recognition = service.recognise(request)
    if (recognition.kind !== 'sealed' || !route.recipients.includes(recognition.recipient)) return undefined
    return { requestId, request, recipient: recognition.recipient, name: pseudonyms.request(requestId) }
  }
  const expiryOf = ({ request }: Purchase): number => (request.issuedAt + request.ttlSeconds) * 1000
  const untilOf = ({ request }: Purchase): number => claimableUntil(request, proofTtlSeconds)
  const gateOf = ({ name }: Purchase): string => `checkout-gate/${name}`
  const foundOf = ({ name }: Purchase, tx = ''): string => `checkout/${name}/${tx}`
  const quoteOf = async ({ requestId, request, recipient }: Purchase): Promise<Quote> => {
    const options = await paymentOptions(request.amounts, mints, recipient, service.tokenAccountOf)
    return { requestId, recipient, options, ...paymentWindow(request) }
  }
  const readGate = async (purchase: Purchase): Promise<SignedDraft | undefined> => {
    const text = await shelf?.get(gateOf(purchase))
    return text === undefined ? undefined : (JSON.parse(text) as SignedDraft)
  }

  /** Payments that may be for it: sent by us, found before, or seen on chain. */
  const candidatesOf = async (purchase: Purchase, gate: SignedDraft | undefined): Promise<readonly string[]> => {
    const [found = [], seen = []] = await Promise.all([
      shelf?.list(foundOf(purchase)),
      journal?.sightedFor(purchase.name),
    ])
    const prefix = foundOf(purchase).length
    const all = [
      ...(gate ? [gate.signature] : []),
      ...found.map(({ name }) => name.slice(prefix)),
      ...seen.map(({ tx }) => encodeBase58(tx)),
    ]
    return [...new Set(all)]
  }

  const stateBy = async (tx: string, purchase: Purchase, quote: Quote, incoming: Incoming): Promise<Standing> => {
    const txBytes = decodeSignature(tx)
    if (!txBytes) return { state: { state: 'wrong', tx, why: refusals.proof_malformed.title } }
    const reading = chain.seen(tx) ? ({ kind: 'found', effect: chain.seen(tx) } as const) : await chain.read(tx, 0)
    if (reading.kind !== 'found' || !reading.effect) return { state: { state: 'confirming', tx } }
    const verdict = judge(reading.effect, quote)
    if (verdict.kind === 'refused') return { state: refusedState(tx, verdict) }
    const payer = verdict.kind === 'late' ? verdict.paid.payer : verdict.payer
    const payerBytes = decodeAddress(payer)
    if (!payerBytes) return { state: { state: 'wrong', tx, why: refusals.unsupported_transfer.title } }
    const proof = { tx, txBytes, requestId: purchase.requestId, payer, payerBytes }
    const known = await ledger.peek(txBytes)
    if (known?.state === 'spent') return { state: { state: 'used', tx }, proof }
    if (verdict.kind === 'late' && known?.state !== 'open' && known?.state !== 'busy')
      return { state: { state: 'late', tx }, proof }
    const visit: Case = { service, route, incoming, proof }
    const final =
      known?.state === 'open' || known?.state === 'busy' ? 'known' : await readFinally(visit, quote, {}, false)
    if (final !== 'known' && final.kind === 'refused') return { state: refusedState(tx, final), proof }
    // Remembered, since what is claimed is no longer among what was seen and not claimed.
    await shelf?.put(foundOf(purchase, tx), '', untilOf(purchase))
    return { state: { state: 'paid', tx }, proof }
  }

  const sendAgain = async (gate: SignedDraft): Promise<void> => {
    const now = clock.monotonic()
    if (now - (sentAt.get(gate.signature) ?? Number.NEGATIVE_INFINITY) < resendMs) return
    if (sentAt.size >= mostResends) sentAt.clear()
    sentAt.set(gate.signature, now)
    await cashier.send(gate)
  }

  const standingOf = async (purchase: Purchase, incoming: Incoming, hint?: string): Promise<Standing> => {
    const gate = await readGate(purchase)
    const quote = await quoteOf(purchase)
    if (hint !== undefined) await readHint(hint, purchase, quote, incoming)
    const candidates = await candidatesOf(purchase, gate)
    const all = await Promise.all(candidates.map((tx) => stateBy(tx, purchase, quote, incoming)))
    const best = order.flatMap((name) => all.find(({ state }) => state.state === name) ?? [])[0]
    if (best?.state.state === 'confirming' && gate && best.state.tx === gate.signature) {
      // What can no longer land is as good as never sent.
      if ((await cashier.fateOf(gate)) === 'over') {
        await shelf?.remove(gateOf(purchase))
        return { state: idleState(purchase) }
      }
      await sendAgain(gate)
    }
    return best ?? { state: hint === undefined ? idleState(purchase) : { state: 'confirming', tx: hint } }
  }
  const idleState = (purchase: Purchase): CheckoutState =>
    clock.now() >= expiryOf(purchase) ? { state: 'expired' } : { state: 'waiting' }

  /** Somebody's word for a transaction: looked up within the client's budget, and remembered if it is true. */
  const readHint = async (tx: string, purchase: Purchase, quote: Quote, incoming: Incoming): Promise<void> => {
    const txBytes = decodeSignature(tx)
    if (!txBytes || !shelf) return
    const proof = { tx, txBytes, requestId: purchase.requestId, payer: '', payerBytes: new Uint8Array(32) }
    const read = async (): Promise<ReturnType<typeof refuse>> => {
      const reading = await chain.read(tx, 0)
      const isOurs = reading.kind === 'found' && judge(reading.effect, quote).kind === 'paid'
      if (isOurs) await shelf.put(foundOf(purchase, tx), '', untilOf(purchase))
      return refuse(reading.kind === 'found' && !isOurs ? 'memo_mismatch' : isOurs ? 'tx_not_final' : 'tx_not_found')
    }
    await readWithin({ service, route, incoming, proof }, quote, read)
  }

  const unitsOf = ({ request }: Purchase, token: TokenCode): bigint | undefined => {
    const units = request.amounts[token]
    const offering = probe.offered().get(token)
    return units === undefined ? undefined : offering ? grossFor(units, offering.fees) : units
  }
  const amountOf = (purchase: Purchase, token: TokenCode): string | undefined => {
    const units = unitsOf(purchase, token)
    return units === undefined ? undefined : formatUnits(units, decimalsOf(token, mints) ?? 0)
  }

  const prepare: CheckoutDesk['prepare'] = async (purchase, token, account, incoming) => {
    const { state } = await standingOf(purchase, incoming)
    const isFree = state.state === 'waiting' || state.state === 'short' || state.state === 'wrong'
    if (!isFree) return { kind: 'state', ...state }
    const gate = await readGate(purchase)
    if (gate && (await cashier.fateOf(gate)) !== 'over')
      return { kind: 'state', state: 'confirming', tx: gate.signature }
    if (clock.now() + tooLateMs >= expiryOf(purchase)) return { kind: 'state', state: 'expired' }
    const units = unitsOf(purchase, token)
    if (units === undefined || !decodeAddress(account)) return refuse('not_priced')
    const { requestId, recipient } = purchase
    const mint = mintOf(token, mints)
    const drafting = await cashier.draft({
      account,
      recipient,
      mint,
      units,
      requestId,
      reference: referenceOf(requestId),
    })
    if (drafting.kind === 'transaction') return drafting
    if (drafting.kind === 'short') {
      const short = drafting.of === 'fee' ? 'SOL' : token
      const people = (amount: bigint) => formatUnits(amount, decimalsOf(short, mints) ?? 0)
      return { kind: 'short', token: short, has: people(drafting.has), needs: people(drafting.needs) }
    }
    service.log.warn('payment not drafted', { why: drafting.why })
    return refuse(drafting.kind === 'impossible' ? 'not_priced' : 'chain_unavailable')
  }

  const submit = async (purchase: Purchase, text: string, incoming: Incoming): Promise<Sending | Refusal> => {
    const bytes = decodeBase64url(text)
    const signed = bytes && (await cashier.read(bytes, purchase.requestId))
    if (!signed || !shelf)
      return { kind: 'refused', why: 'The wallet did not return a signed payment for this purchase.' }
    const { state } = await standingOf(purchase, incoming)
    const isOurs = 'tx' in state && state.tx === signed.signature
    if (!isOurs && (state.state === 'paid' || state.state === 'confirming' || state.state === 'used'))
      return { kind: 'state', ...state }
    if (!isOurs && clock.now() >= expiryOf(purchase)) return { kind: 'state', state: 'expired' }
    // The only way past here is to be the one transaction of this purchase.
    if (!(await shelf.put(gateOf(purchase), JSON.stringify(signed), untilOf(purchase)))) {
      const gate = await readGate(purchase)
      if (gate && gate.signature !== signed.signature) return { kind: 'state', state: 'confirming', tx: gate.signature }
    }
    const posting = await cashier.send(signed)
    if (posting.kind === 'rejected') {
      service.log.warn('payment not sent', { why: posting.why })
      return { kind: 'refused', why: 'The network did not take the payment, and nothing was paid.' }
    }
    return { kind: 'sent', tx: signed.signature }
  }

  /** As a person with a wallet does it, only that nobody has to be asked. */
  const payAsTest = async (purchase: Purchase, token: TokenCode, incoming: Incoming): Promise<Sending | Refusal> => {
    const { testPayer } = service
    if (!testPayer) return refuse('unknown_request', { detail: 'There is no test money on this network.' })
    const account = await testPayer.address()
    const draft = () => prepare(purchase, token, account, incoming)
    let drafted = await draft()
    if (drafted.kind === 'short' && (await testPayer.fill())) drafted = await draft()
    if (drafted.kind === 'refused' || drafted.kind === 'state') return drafted
    if (drafted.kind === 'short')
      return { kind: 'refused', why: 'The faucet of this chain gives nothing at this moment.' }
    const bytes = Uint8Array.from(atob(drafted.transaction), (character) => character.charCodeAt(0))
    return submit(purchase, encodeBase64url(await testPayer.sign(bytes)), incoming)
  }

  const view = (purchase: Purchase, token: TokenCode): CheckoutView | undefined => {
    const amount = amountOf(purchase, token)
    if (amount === undefined) return undefined
    const { requestId, recipient } = purchase
    const label = route.config.description ?? 'paystile'
    const { publicUrl } = service
    // Where wallets can ask us, we draft the transaction; elsewhere they put it together by what the link says.
    const uri = publicUrl?.startsWith('https:')
      ? transactionLink(`${publicUrl}/pay/${requestId}?token=${token}`)
      : transferLink({ recipient, amount, mint: mintOf(token, mints)?.address, requestId, label })
    return { uri, rows: encodeQr(uri) }
  }

  return {
    route,
    open,
    standingOf,
    prepare,
    view,
    tokensOf: (purchase) =>
      [pricing.token, ...tokenCodes.filter((token) => token !== pricing.token)].flatMap((token) => {
        const amount = amountOf(purchase, token)
        return amount === undefined ? [] : [{ token, amount }]
      }),
    answer: async (order, incoming) => {
      const purchase = open(order.requestId)
      if (!purchase) return refuse('unknown_request')
      if (order.kind === 'status') return (await standingOf(purchase, incoming, order.tx)).state
      if (order.kind === 'view') return view(purchase, order.token) ?? refuse('not_priced')
      if (order.kind === 'prepare') return prepare(purchase, order.token, order.account, incoming)
      if (order.kind === 'test') return payAsTest(purchase, order.token, incoming)
      return submit(purchase, order.transaction, incoming)
    },
  }
}

/** Of several payments, the one that matters most. */
const order: readonly CheckoutState['state'][] = ['paid', 'confirming', 'used', 'late', 'short', 'wrong']

const mayChange: readonly RefusalCode[] = ['tx_not_found', 'tx_not_final', 'chain_unavailable', 'chain_disagreement']

function refusedState(tx: string, refusal: Refusal): CheckoutState {
  if (mayChange.includes(refusal.code)) return { state: 'confirming', tx }
  const { shortfall } = refusal
  if (!shortfall) return { state: 'wrong', tx, why: refusals[refusal.code].title }
  const { token, decimals } = shortfall
  const [received, required] = [shortfall.received, shortfall.required].map((units) => formatUnits(units, decimals))
  return { state: 'short', tx, token, received: received ?? '', required: required ?? '' }
}
