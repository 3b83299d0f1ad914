/**
 * The rules for a payment. They check the effects of the transaction, never the claims of an instruction.
 *
 * The credited amount is the smaller of two amounts: the recipient's gain over all its accounts of the token, and the
 * amount that the payer explicitly sent to the recipient's account, less withdrawals by others. Money withdrawn in the
 * same transaction therefore does not count, nor does money from another sender. A quote with splits requires the same of
 * each of their wallets, or the whole price for a recipient that collects it.
 */
import type { TokenCode } from '../money/tokens.ts'
import { isMemoOf } from './memo.ts'
import { type Refusal, refuse, type Shortfall } from './refusals.ts'
import { type SplitPart, sumParts } from './splits.ts'

/** The token that moved: the address of a mint, or SOL. */
export type Asset = string | 'SOL'

export interface Transfer {
  readonly asset: Asset
  readonly destination: string
  /**
   * The wallet that owns the destination account; for SOL, the destination itself. Undefined if the chain does not
   * tell.
   */
  readonly destinationOwner: string | undefined
  readonly sourceOwner: string | undefined
  /** The authority of the transfer: the payer. */
  readonly authority: string
  /** Undefined if the amount is hidden (confidential transfers). */
  readonly units: bigint | undefined
  /** Wallets that signed the transaction and are accounts of the same top-level instruction. */
  readonly signers: readonly string[]
  /** The memos that belong to this transfer. Any program in the transaction can write other memos. */
  readonly memos: readonly string[]
}

/** The balance of one account before and after. */
export interface TokenHolding {
  readonly asset: Asset
  readonly account: string
  readonly ownerBefore: string | undefined
  readonly ownerAfter: string | undefined
  readonly before: bigint
  readonly after: bigint
}

/** The effects of a transaction. */
export interface Effect {
  readonly signature: string
  readonly slot: number
  /** Seconds since 1970. */
  readonly blockTime: number
  readonly failed: boolean
  readonly feePayer: string
  readonly fee: bigint
  /** All memos from all programs. One character per byte, so that equal text means equal bytes. */
  readonly memos: readonly string[]
  readonly transfers: readonly Transfer[]
  readonly holdings: readonly TokenHolding[]
}

/** One of the ways to pay a quote. */
export interface PaymentOption {
  readonly token: TokenCode
  readonly asset: Asset
  readonly decimals: number
  /** The recipient's part: the price without the splits. */
  readonly units: bigint
  /** The recipient's wallet for SOL, or its associated token account for a mint. */
  readonly destination: string
  readonly splits?: readonly SplitDestination[]
  /** Whether the recipient may receive the parts of the splits too. */
  readonly isCollected?: boolean
}

/** Another wallet's part of the price, and where it receives it. */
export interface SplitDestination extends SplitPart {
  readonly destination: string
}

export interface Quote {
  readonly requestId: string
  readonly recipient: string
  readonly options: readonly PaymentOption[]
  /** The last second, since 1970, in which the payment can land. Undefined if the quote's time is unknown. */
  readonly notAfter?: number
  /** The service recorded the transaction for this requestId before it was sent. The record takes the place of the memo. */
  readonly isRecorded?: boolean
}

export interface Payer {
  readonly address: string
  /** The key that signed the proof, if it is not the payer's own. */
  readonly signer?: string
}

export interface Paid {
  readonly kind: 'paid'
  readonly option: PaymentOption
  readonly payer: string
  /** By the recipient alone. */
  readonly received: bigint
  /** The amounts that the wallets of the splits received, or that the recipient owes them. */
  readonly splits?: readonly SplitPart[]
  /** The recipient received the whole price, so `option.units` is the whole price. */
  readonly isCollected?: boolean
}

export interface Late {
  readonly kind: 'late'
  readonly paid: Paid
}

/** Checks a transaction against the quote that it claims to pay. Returns the first rule that fails. */
export function judge(effect: Effect, quote: Quote, payer?: Payer): Paid | Late | Refusal {
  if (effect.failed) return refuse('tx_failed')
  if (!isTied(quote, effect)) return refuse('memo_mismatch')
  const paid = findPayment(effect, quote, payer)
  if (paid.kind === 'refused') return paid
  if (quote.notAfter !== undefined && effect.blockTime > quote.notAfter) return { kind: 'late', paid }
  return paid
}

/** Whether memos tie a transaction, or one transfer in it, to the quote. */
function isTied({ requestId, isRecorded = false }: Quote, { memos }: Pick<Effect, 'memos'>): boolean {
  return isRecorded || memos.some((memo) => isMemoOf(requestId, memo))
}

function findPayment(effect: Effect, quote: Quote, payer: Payer | undefined): Paid | Refusal {
  let refusal: Refusal | undefined
  for (const option of quote.options) {
    const verdict = judgeOption(effect, quote, option, payer)
    if (verdict?.kind === 'paid') return verdict
    refusal = graver(refusal, verdict)
  }
  return refusal ?? explainAbsence(effect, quote)
}

/**
 * Picks the more useful of two refusals. With several tokens on offer, it is the one for the token that the payer
 * tried, so a shortfall comes first.
 */
function graver(left: Refusal | undefined, right: Refusal | undefined): Refusal | undefined {
  if (!left || !right) return left ?? right
  return right.code === 'underpaid' && left.code !== 'underpaid' ? right : left
}

/** Undefined if nothing was sent to this option's destination. */
function judgeOption(
  effect: Effect,
  quote: Quote,
  option: PaymentOption,
  payer: Payer | undefined,
): Paid | Refusal | undefined {
  const arrived = effect.transfers.filter(
    (transfer) => transfer.asset === option.asset && transfer.destination === option.destination,
  )
  if (arrived.length === 0) return undefined
  if (arrived.some((transfer) => transfer.destinationOwner !== quote.recipient))
    return refuse('wrong_recipient', { detail: "The recipient's token account belongs to another wallet." })
  if (payer) return judgePayer(effect, quote, option, arrived, payer)
  let refusal: Refusal | undefined
  for (const address of new Set(arrived.map((transfer) => transfer.authority))) {
    const verdict = judgePayer(effect, quote, option, arrived, { address })
    if (verdict.kind === 'paid') return verdict
    refusal = graver(refusal, verdict)
  }
  return refusal
}

function judgePayer(
  effect: Effect,
  quote: Quote,
  option: PaymentOption,
  arrived: readonly Transfer[],
  { address, signer }: Payer,
): Paid | Refusal {
  const { recipient } = quote
  const sent = arrived.filter((transfer) => transfer.authority === address)
  if (sent.length === 0) return refuse('payer_mismatch')
  if (address === recipient || sent.some((transfer) => transfer.sourceOwner === recipient))
    return refuse('self_payment')
  if (sent.some((transfer) => transfer.units === undefined)) return refuse('unsupported_transfer')
  if (signer !== undefined && !sent.every((transfer) => speaksFor(signer, transfer)))
    return refuse('payer_mismatch', { detail: 'The signer of the proof did not sign the payment.' })
  const meant = sent.filter((transfer) => isTied(quote, transfer))
  if (meant.length === 0)
    return refuse('memo_mismatch', { detail: 'The memo does not belong to the payment. Another program wrote it.' })
  const received = computeCredited(effect, recipient, option.asset, meant)
  const splits = (option.splits ?? []).map((split) => judgeSplit(effect, quote, option, split, address))
  const wrong = splits.find((verdict) => verdict.kind === 'refused')
  if (wrong) return wrong
  const parts = splits.flatMap((verdict) => (verdict.kind === 'split' ? [verdict.part] : []))
  const short = option.splits?.find(({ units }, index) => (parts[index]?.units ?? 0n) < units)
  if (received >= option.units && !short)
    return { kind: 'paid', option, payer: address, received, ...(option.splits && { splits: parts }) }
  if (option.isCollected && received >= computeWhole(option)) return collectParts(option, address, received)
  return refuse('underpaid', {
    shortfall: describeShortfall(option, received, parts),
    ...(received >= option.units && short && { detail: `The part of ${short.recipient} is missing or too small.` }),
  })
}

/** The chain alone decides whether the wallets of the splits got their parts directly or are owed them. */
function collectParts({ splits = [], ...option }: PaymentOption, payer: string, received: bigint): Paid {
  const whole = { ...option, units: computeWhole({ ...option, splits }) }
  const owed = splits.map(({ recipient, units }) => ({ recipient, units }))
  return { kind: 'paid', option: whole, payer, received, splits: owed, isCollected: true }
}

/** The price with all its parts. */
export function computeWhole({ units, splits = [] }: Pick<PaymentOption, 'units' | 'splits'>): bigint {
  return units + sumParts(splits)
}

type SplitVerdict = { readonly kind: 'split'; readonly part: SplitPart } | Refusal

/** The amount that the payer sent to the wallet of a split. */
function judgeSplit(
  effect: Effect,
  quote: Quote,
  { asset }: PaymentOption,
  { recipient, destination }: SplitDestination,
  payer: string,
): SplitVerdict {
  const sent = effect.transfers.filter(
    (transfer) => transfer.asset === asset && transfer.destination === destination && transfer.authority === payer,
  )
  if (sent.some((transfer) => transfer.destinationOwner !== recipient))
    return refuse('wrong_recipient', { detail: 'The token account of a split belongs to another wallet.' })
  if (payer === recipient || sent.some((transfer) => transfer.sourceOwner === recipient))
    return refuse('self_payment', { detail: 'A wallet that shares the price paid itself.' })
  if (sent.some((transfer) => transfer.units === undefined)) return refuse('unsupported_transfer')
  const meant = sent.filter((transfer) => isTied(quote, transfer))
  return { kind: 'split', part: { recipient, units: computeCredited(effect, recipient, asset, meant) } }
}

/** The whole price, and the received amounts as far as they count towards it. */
function describeShortfall(option: PaymentOption, received: bigint, parts: readonly SplitPart[]): Shortfall {
  const { token, decimals, units, splits = [] } = option
  const counted = splits.map(({ units: due }, index) => smaller(parts[index]?.units ?? 0n, due))
  return {
    token,
    decimals,
    required: computeWhole(option),
    received: counted.reduce((sum, one) => sum + one, smaller(received, units)),
  }
}

/** The amount that counts of these transfers to a wallet, at least 0. */
function computeCredited(effect: Effect, wallet: string, asset: Asset, sent: readonly Transfer[]): bigint {
  const credited = smaller(computeGain(effect, wallet, asset), sumOf(sent) - takenBack(effect, wallet, asset))
  return credited > 0n ? credited : 0n
}

function smaller(one: bigint, other: bigint): bigint {
  return one < other ? one : other
}

/** If the authority signed, no other signer may stand in for it. */
function speaksFor(signer: string, { authority, signers }: Transfer): boolean {
  return signers.includes(signer) && (signer === authority || !signers.includes(authority))
}

function sumOf(transfers: readonly Transfer[]): bigint {
  return transfers.reduce((sum, transfer) => sum + (transfer.units ?? 0n), 0n)
}

/**
 * Sums the withdrawals by delegates from the recipient's accounts. Deposits from elsewhere can hide them in the gain.
 */
function takenBack(effect: Effect, recipient: string, asset: Asset): bigint {
  const taken = effect.transfers.filter(
    (transfer) =>
      transfer.asset === asset &&
      transfer.sourceOwner === recipient &&
      transfer.destinationOwner !== recipient &&
      transfer.authority !== recipient,
  )
  return sumOf(taken)
}

/** Computes the recipient's gain over all its accounts of the token. Fees that the recipient paid do not reduce it. */
export function computeGain(effect: Effect, recipient: string, asset: Asset): bigint {
  let gain = asset === 'SOL' && effect.feePayer === recipient ? effect.fee : 0n
  for (const holding of effect.holdings) {
    if (holding.asset !== asset) continue
    if (holding.ownerAfter === recipient) gain += holding.after
    if (holding.ownerBefore === recipient) gain -= holding.before
  }
  return gain
}

/**
 * Computes the amount that a sender transferred to a wallet in a transaction, for any purpose. A refund never exceeds
 * it.
 *
 * Amounts from other senders, or from programs that owe the wallet money, are excluded. A transaction in which the
 * wallet itself took part, such as an exchange, is not a payment.
 */
export function computeCredit(effect: Effect, recipient: string, asset: Asset, payer: string): bigint {
  if (effect.failed || isSignedByOwner(effect, recipient)) return 0n
  const sent = effect.transfers.filter(
    (transfer) => transfer.asset === asset && transfer.destinationOwner === recipient && transfer.authority === payer,
  )
  return computeCredited(effect, recipient, asset, sent)
}

/** Whether a wallet signed one of the transfers itself. */
export function isSignedByOwner({ transfers }: Pick<Effect, 'transfers'>, wallet: string): boolean {
  return transfers.some(({ authority }) => authority === wallet)
}

/** Nothing reached the expected destination. Reports the most helpful fact about the actual one. */
function explainAbsence(effect: Effect, quote: Quote): Refusal {
  const accepted = new Set<Asset>(quote.options.map((option) => option.asset))
  const toRecipient = effect.transfers.filter((transfer) => transfer.destinationOwner === quote.recipient)
  if (toRecipient.some((transfer) => transfer.units === undefined)) return refuse('unsupported_transfer')
  if (toRecipient.some((transfer) => accepted.has(transfer.asset))) return refuse('wrong_destination')
  if (toRecipient.length > 0) return refuse('wrong_mint')
  return refuse(effect.transfers.length > 0 ? 'wrong_recipient' : 'no_transfer')
}
