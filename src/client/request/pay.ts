/**
 * Turns an approved challenge into a payment on chain: reserve, sign, record, send and confirm, in this order. After a
 * crash between any two steps, the next call continues from the journal without paying again.
 */

import { computeNeededLamports, findUnready, readFunds } from '../../chain/accounts/balances.ts'
import type { Lifetime, SignedPayment } from '../../chain/send/message.ts'
import { confirm, type PaymentFate, readFate, readLifetime, submit } from '../../chain/send/send.ts'
import { type PaymentOrder, signPayment } from '../../chain/wallets/payment.ts'
import { formatUnits } from '../../core/money/money.ts'
import { isOpenedByPayer, type Network, smallestBalance } from '../../core/money/tokens.ts'
import type { Offered } from '../../core/payment/allowance.ts'
import { sumParts } from '../../core/payment/splits.ts'
import type { Posting } from '../../core/payouts/outgoing-wallet.ts'
import type { Challenge } from '../../core/protocol/challenge.ts'
import type { Clock } from '../../core/runtime.ts'
import { JournalError, PaymentError } from '../errors.ts'
import type { Intent, Journal } from '../journal/journal.ts'
import type { Connection } from '../nodes.ts'
import { type ClientOptions, type PaymentOffer, readTimeout } from '../options.ts'
import { type Candidate, readExpiry, readLimits, shortestRemainingMs } from '../policy.ts'
import type { ClientParts, PaidRequest } from './paid-request.ts'

export interface PayParts
  extends Pick<PaidRequest, 'journal' | 'wallet' | 'options' | 'tell' | 'throwIfCancelled'>,
    Pick<Connection, 'rpc' | 'notices'> {
  readonly clock: Clock
}

export function payParts({ clock }: ClientParts, paidRequest: PaidRequest, connection: Connection): PayParts {
  const { journal, wallet, options, tell, throwIfCancelled } = paidRequest
  const { rpc, notices } = connection
  return { rpc, clock, journal, wallet, options, tell, throwIfCancelled, ...(notices && { notices }) }
}

export interface Purchase {
  readonly challenge: Challenge
  readonly network: Network
  readonly genesis: string
  readonly candidates: readonly Candidate[]
  readonly url: URL
  readonly key: string
  readonly allowance: Offered | undefined
  /** Set if the purchase is for more than one request. */
  readonly scope: string | undefined
  readonly claim: string | undefined
  readonly proof: Intent['proof']
}

/**
 * Pays, and returns the landed intent. The caller holds it until it releases it. Throws a `PaymentError`; the journal
 * then contains the outcome, and nothing is held.
 */
export async function pay(parts: PayParts, purchase: Purchase): Promise<Intent> {
  const { challenge, network, genesis, url, key, allowance, scope, claim, proof } = purchase
  const { recipient, requestId, description } = challenge
  const read = () => readLifetime(parts.rpc)
  const [found, { candidate, createAccount }] = await Promise.all([read(), choose(parts, purchase)])
  const terms = { requestId, recipient, network, description, allowance, protocol: 'paystile' } as const
  // A blockhash lives for less than this time, so the payment never lands after the challenge's expiry.
  const payableUntil = readExpiry(challenge) - shortestRemainingMs
  const times = { lifetime: requireLifetime(found), read, payableUntil }
  const { intent, lifetime } = await approve({ ...parts, ...times }, candidate, url, terms, {
    ...{ key, genesis, proof },
    ...(claim !== undefined && { claim }),
    ...(allowance && { unit: allowance.unit }),
    ...(scope !== undefined && { scope }),
  })
  const { decimals, mint, splits } = candidate
  const units = candidate.units - sumParts(splits)
  const order = {
    ...lifetime,
    token: { asset: mint?.address ?? 'SOL', units, decimals, ...(mint && { tokenProgram: mint.tokenProgram }) },
    recipient,
    splits,
    requestId,
    createAccount,
  }
  try {
    return await land(parts, await sign(parts, intent, order))
  } catch (error) {
    await parts.journal.release(requestId)
    throw error
  }
}

export function requireLifetime(lifetime: Lifetime | undefined): Lifetime {
  if (lifetime) return lifetime
  throw new PaymentError('chain_unavailable', 'No node returned a recent blockhash. Nothing was paid. Try again.')
}

interface Terms extends Pick<PaymentOffer, 'requestId' | 'recipient' | 'protocol'> {
  readonly network: Network
  readonly description: string | undefined
  readonly allowance?: Offered | undefined
}

interface ApprovalTimes {
  /** The lifetime of a transaction, as it was read before the approval. */
  readonly lifetime: Lifetime
  /** Reads it again: a person may take minutes, and a blockhash lives for about one. */
  readonly read: () => Promise<Lifetime | undefined>
  /** The time after which it is too late to pay, in milliseconds since 1970. */
  readonly payableUntil: number
}

const quickMs = 5_000
const firstPauseMs = 100
const longestPauseMs = 1_000

/** Asks the caller, and reserves the amount. Throws the caller's reason if the caller has aborted meanwhile. */
export async function approve(
  { clock, journal, wallet, options, tell, throwIfCancelled, ...times }: PayParts & ApprovalTimes,
  candidate: Candidate,
  url: URL,
  { description, allowance, ...terms }: Terms,
  more: Pick<Intent, 'key' | 'genesis' | 'proof'> & Partial<Intent>,
): Promise<{ readonly intent: Intent; readonly lifetime: Lifetime }> {
  const { token, units, decimals } = candidate
  const { requestId, network } = terms
  const amount = formatUnits(units, decimals)
  const splits = candidate.splits.map((split) => ({
    recipient: split.recipient,
    amount: formatUnits(split.units, decimals),
  }))
  const offer = {
    ...{ url: url.href, ...terms, amount, token },
    ...(splits.length > 0 && { splits }),
    ...(description !== undefined && { description }),
    ...(allowance && { allowance }),
  }
  const [askedAt, startedAt] = [clock.now(), clock.monotonic()]
  if (options.approve && (await options.approve(offer)) !== true)
    throw new PaymentError('declined', `Paying ${amount} ${token} to ${url.host} was declined.`, { requestId })
  // The clock can be set back meanwhile, and the other one can stop while the machine sleeps.
  const elapsedMs = Math.max(clock.now() - askedAt, clock.monotonic() - startedAt)
  const isSlow = elapsedMs > quickMs
  if (isSlow && askedAt + elapsedMs > times.payableUntil)
    throw new PaymentError('challenge_expiring', 'The approval came too late. Nothing was paid. Try again.', {
      requestId,
    })
  const lifetime = isSlow ? requireLifetime(await times.read()) : times.lifetime
  throwIfCancelled()
  const day = new Date(clock.now()).toISOString().slice(0, 10)
  const place = { url: url.href, host: url.host, network }
  const intent: Intent = { requestId, ...place, day, token, units, payer: wallet.address, state: 'reserved', ...more }
  await reserve(journal, intent, candidate, options)
  tell({ kind: 'paying', ...offer })
  return { intent, lifetime }
}

/** Records a payment that the wallet does not sign, or that the caller no longer wants, as dead. */
export async function signOrDrop<Signed>(
  { journal, throwIfCancelled }: Pick<PayParts, 'journal' | 'throwIfCancelled'>,
  requestId: string,
  signing: Promise<Signed>,
): Promise<Signed> {
  try {
    const signed = await signing
    // The wallet may have asked a person. Nothing was sent yet.
    throwIfCancelled()
    return signed
  } catch (error) {
    await journal.change(requestId, { state: 'dead' })
    throwIfCancelled()
    const why = (error instanceof Error ? error.message : String(error)).replace(/\.$/, '')
    throw new PaymentError('declined', `The wallet did not sign: ${why}.`, { requestId })
  }
}

/** The signature is in the journal before it is sent anywhere. */
async function sign(parts: PayParts, intent: Intent, order: PaymentOrder): Promise<Intent> {
  const { requestId } = intent
  const { wire, signature: tx, slot } = await signOrDrop(parts, requestId, signPayment(order, parts.wallet))
  const change = { state: 'signed', tx, wire, slot } as const
  await parts.journal.change(requestId, change)
  return { ...intent, ...change }
}

/** Follows a signed payment to its outcome, whether it was signed now or by a process that has ended. */
export async function land(parts: PayParts, intent: Intent): Promise<Intent> {
  const { journal, tell } = parts
  // Earlier versions did not record the slot. Such a payment never counts as expired.
  const { requestId, genesis, tx, wire, slot = Number.MAX_SAFE_INTEGER } = intent
  if (tx === undefined || wire === undefined) throw new TypeError('a payment that was not signed cannot land')
  const signed = { wire, signature: tx, slot }
  const { submission, fate } = await sendAndFollow(parts, genesis, signed)
  switch (fate.kind) {
    case 'landed':
      tell({ kind: 'confirmed', tx })
      await journal.change(requestId, { state: 'landed' }).catch(ignoreJournalError)
      return { ...intent, state: 'landed' }
    case 'failed':
      await journal.change(requestId, { state: 'dead' })
      throw new PaymentError(
        'payment_failed',
        `The payment failed on chain (${fate.error}). Only the network fee was spent.`,
        { requestId, tx },
      )
    case 'expired':
      await journal.change(requestId, { state: 'dead' })
      throw new PaymentError(
        'payment_failed',
        'The payment did not reach the chain in time and can no longer land. Nothing was paid. Try again.',
        { requestId, tx },
      )
    case 'unknown': {
      const why = submission.kind === 'sent' ? fate.why : submission.why
      throw new PaymentError(
        'payment_unknown',
        `The outcome of the payment is not known yet (${why}). Call again: the client follows it up and does not pay twice.`,
        { requestId, tx },
      )
    }
  }
}

/** The chain shows that a payment landed, so its buyer gets the resource although the journal cannot record it. */
export function ignoreJournalError(error: unknown): void {
  if (!(error instanceof JournalError)) throw error
}

async function sendAndFollow(
  parts: PayParts,
  genesis: string,
  signed: SignedPayment,
): Promise<{ readonly submission: Posting; readonly fate: PaymentFate }> {
  const { rpc, notices, clock, options, tell } = parts
  const deadline = clock.monotonic() + readTimeout(options)
  // The node agrees to send the notice while it receives the payment.
  const listening = notices?.listen(signed.signature)
  try {
    for (let pause = firstPauseMs; ; pause = Math.min(pause * 2, longestPauseMs)) {
      const submission = await submit(rpc, signed)
      if (submission.kind === 'sent') tell({ kind: 'sent', tx: signed.signature })
      const leftMs = deadline - clock.monotonic()
      if (submission.kind !== 'rejected')
        return { submission, fate: await confirm({ rpc, clock, genesis }, signed, leftMs, listening) }
      const fate = await readFate({ rpc, genesis }, signed)
      // A node that lags does not know the block of the blockhash yet.
      const isEarly = fate.kind === 'unknown' && submission.why === 'BlockhashNotFound'
      if (!isEarly || pause > leftMs) return { submission, fate }
      await new Promise((resolve) => setTimeout(resolve, pause))
    }
  } finally {
    listening?.stop()
  }
}

async function reserve(journal: Journal, intent: Intent, candidate: Candidate, options: ClientOptions) {
  const { token, decimals } = candidate
  const limits = readLimits(candidate, options)
  const reservation = await journal.reserve(intent, limits)
  if (reservation.kind === 'reserved') return
  if (reservation.kind === 'repeated') {
    throw new PaymentError('declined', 'The server repeated a requestId that was used before. Nothing was signed.', {
      requestId: intent.requestId,
    })
  }
  const where = reservation.limit === 'perDay' ? 'today' : `today at ${intent.host}`
  const most = formatUnits(limits[reservation.limit] ?? 0n, decimals)
  const spent = formatUnits(reservation.spent, decimals)
  throw new PaymentError(
    'budget_exceeded',
    `${formatUnits(intent.units, decimals)} ${token} would exceed the budget of ${most} ${token}: ${spent} already spent ${where}.`,
    { requestId: intent.requestId },
  )
}

/** The first way to pay that the wallet can afford. */
async function choose({ rpc, wallet }: PayParts, { candidates, challenge, network }: Purchase) {
  const { recipient, requestId } = challenge
  const mints = candidates.flatMap(({ mint }) => (mint ? [mint] : []))
  const others = (challenge.splits ?? []).map((split) => split.recipient)
  if (others.includes(wallet.address))
    throw new PaymentError('declined', 'The paying wallet receives a part of the price itself. Nothing was paid.', {
      requestId,
    })
  const funds = await readFunds(rpc, { wallet: wallet.address, recipient, others, mints })
  if (funds.kind === 'unavailable') {
    throw new PaymentError(
      'chain_unavailable',
      `The wallet's balance cannot be read (${funds.why}). Nothing was paid. Try again.`,
      { requestId },
    )
  }
  const reasons: string[] = []
  for (const candidate of candidates) {
    const { token, units, decimals, mint, splits } = candidate
    const own = units - sumParts(splits)
    const unready = findUnready(funds.others, splits, mint)
    const held = mint ? funds.tokens.find((one) => one.mint === mint.address) : undefined
    const createAccount = held !== undefined && !held.recipientReady
    const balance = mint ? (held?.units ?? 0n) : funds.lamports
    const needed = computeNeededLamports(mint, units, { createAccount })
    if (balance < units)
      reasons.push(`it holds ${formatUnits(balance, decimals)} ${token} and needs ${formatUnits(units, decimals)}`)
    else if (funds.lamports < needed)
      reasons.push(
        `it has ${formatUnits(funds.lamports, 9)} SOL and needs ${formatUnits(needed, 9)} for the fees of paying in ${token}`,
      )
    else if (createAccount && !isOpenedByPayer(network))
      reasons.push(`the recipient has no ${token} account yet and must open one`)
    else if (!mint && funds.recipientLamports + own < smallestBalance)
      reasons.push(`${formatUnits(own, 9)} SOL is too little to open the recipient's empty wallet`)
    else if (unready) reasons.push(`${unready.recipient}, which receives a part, cannot receive ${token} yet`)
    else return { candidate, createAccount }
  }
  const next = network === 'localnet' ? `; npx paystile faucet ${wallet.address} gives it test money` : ''
  throw new PaymentError(
    'insufficient_funds',
    `The wallet ${wallet.address} cannot pay: ${reasons.join('; ')}${next}.`,
    { requestId },
  )
}
