/**
 * The rules a payment has to keep, judged by what the transaction did, never by what an instruction claims.
 *
 * Credited is the smaller of what the recipient gained over all its accounts of that token and what the payer explicitly
 * sent to the recipient's account, less what others took out again: so money taken back in the same transaction does not
 * count, and neither does money that came from somebody else.
 */
import type { TokenCode } from '../money/tokens.ts'
import type { Refusal } from './refusals.ts'
import { refuse } from './refusals.ts'

/** The token that moved: a mint's address, or SOL itself. */
export type Asset = string | 'SOL'

export interface Transfer {
  readonly asset: Asset
  readonly destination: string
  /** The wallet behind the destination account; for SOL the destination itself. Undefined when the chain did not say. */
  readonly destinationOwner: string | undefined
  readonly sourceOwner: string | undefined
  /** Who ordered it: the payer. */
  readonly authority: string
  /** Undefined where the amount is secret (confidential transfers). */
  readonly units: bigint | undefined
  /** Wallets that signed the transaction and were given to the same top-level instruction. */
  readonly signers: readonly string[]
  /** The memos that belong to it. Any program that the transaction reaches can write others. */
  readonly memos: readonly string[]
}

/** What one account held before and after. */
export interface TokenHolding {
  readonly asset: Asset
  readonly account: string
  readonly ownerBefore: string | undefined
  readonly ownerAfter: string | undefined
  readonly before: bigint
  readonly after: bigint
}

/** What a transaction did. */
export interface Effect {
  readonly signature: string
  readonly slot: number
  /** Seconds since 1970. */
  readonly blockTime: number
  readonly failed: boolean
  readonly feePayer: string
  readonly fee: bigint
  /** All memos, whoever wrote them. One character per byte, so that equality of text is equality of bytes. */
  readonly memos: readonly string[]
  readonly transfers: readonly Transfer[]
  readonly holdings: readonly TokenHolding[]
}

/** One of the ways in which a quote may be paid. */
export interface PaymentOption {
  readonly token: TokenCode
  readonly asset: Asset
  readonly decimals: number
  readonly units: bigint
  /** The recipient's wallet for SOL, its associated token account for a mint. */
  readonly destination: string
}

export interface Quote {
  readonly requestId: string
  readonly recipient: string
  readonly options: readonly PaymentOption[]
  /** The last second, since 1970, in which the payment had to land. Undefined where the quote's time is not known. */
  readonly notAfter?: number
}

export interface Payer {
  readonly address: string
  /** The key that signed the proof, where it is not the payer's own. */
  readonly signer?: string
}

export interface Paid {
  readonly kind: 'paid'
  readonly option: PaymentOption
  readonly payer: string
  readonly received: bigint
}

export interface Late {
  readonly kind: 'late'
  readonly paid: Paid
}

/** Judges a transaction against the quote it claims to pay. The first broken rule is the answer. */
export function judge(effect: Effect, quote: Quote, payer?: Payer): Paid | Late | Refusal {
  if (effect.failed) return refuse('tx_failed')
  if (!effect.memos.includes(quote.requestId)) return refuse('memo_mismatch')
  const paid = findPayment(effect, quote, payer)
  if (paid.kind === 'refused') return paid
  if (quote.notAfter !== undefined && effect.blockTime > quote.notAfter) return { kind: 'late', paid }
  return paid
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

/** With several tokens offered, the answer should speak of the one that was tried: the shortfall before the rest. */
function graver(left: Refusal | undefined, right: Refusal | undefined): Refusal | undefined {
  if (!left || !right) return left ?? right
  return right.code === 'underpaid' && left.code !== 'underpaid' ? right : left
}

/** Undefined when nothing at all went to this option's destination. */
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
  if (arrived.some((transfer) => transfer.destinationOwner !== quote.recipient)) {
    return refuse('wrong_recipient', { detail: "The recipient's token account belongs to another wallet." })
  }
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
  { recipient, requestId }: Quote,
  option: PaymentOption,
  arrived: readonly Transfer[],
  { address, signer }: Payer,
): Paid | Refusal {
  const sent = arrived.filter((transfer) => transfer.authority === address)
  if (sent.length === 0) return refuse('payer_mismatch')
  if (address === recipient || sent.some((transfer) => transfer.sourceOwner === recipient)) {
    return refuse('self_payment')
  }
  if (sent.some((transfer) => transfer.units === undefined)) return refuse('unsupported_transfer')
  if (signer !== undefined && !sent.every((transfer) => speaksFor(signer, transfer))) {
    return refuse('payer_mismatch', { detail: 'The signer of the proof did not sign the payment.' })
  }
  const meant = sent.filter(({ memos }) => memos.includes(requestId))
  if (meant.length === 0) {
    return refuse('memo_mismatch', { detail: 'The memo does not belong to the payment: another program wrote it.' })
  }
  const explicit = sumOf(meant) - takenBack(effect, recipient, option.asset)
  const gained = computeGain(effect, recipient, option.asset)
  const credited = gained < explicit ? gained : explicit
  if (credited >= option.units) return { kind: 'paid', option, payer: address, received: credited }
  const { token, decimals, units } = option
  const received = credited > 0n ? credited : 0n
  return refuse('underpaid', { shortfall: { token, decimals, required: units, received } })
}

/** Whoever could sign for itself, and did, is spoken for by nobody else. */
function speaksFor(signer: string, { authority, signers }: Transfer): boolean {
  return signers.includes(signer) && (signer === authority || !signers.includes(authority))
}

function sumOf(transfers: readonly Transfer[]): bigint {
  return transfers.reduce((sum, transfer) => sum + (transfer.units ?? 0n), 0n)
}

/** What delegates took out of the recipient's accounts. It may be hidden in the gain by money from elsewhere. */
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

/** What the recipient has more than before, over all its accounts of that token. Fees it paid are not a loss. */
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
 * What somebody sent to a wallet by a transaction, whatever it was for: the most that may ever go back to them for it.
 *
 * What others, or programs that owe the wallet something, paid in the same transaction is not theirs, and what the wallet
 * itself took part in, such as an exchange, was no payment.
 */
export function computeCredit(effect: Effect, recipient: string, asset: Asset, payer: string): bigint {
  if (effect.failed || isSignedByOwner(effect, recipient)) return 0n
  const sent = effect.transfers.filter(
    (transfer) => transfer.asset === asset && transfer.destinationOwner === recipient && transfer.authority === payer,
  )
  const [explicit, gained] = [sumOf(sent) - takenBack(effect, recipient, asset), computeGain(effect, recipient, asset)]
  const credited = gained < explicit ? gained : explicit
  return credited > 0n ? credited : 0n
}

/** Whether a wallet ordered a part of it itself. */
export function isSignedByOwner({ transfers }: Pick<Effect, 'transfers'>, wallet: string): boolean {
  return transfers.some(({ authority }) => authority === wallet)
}

/** Nothing went where it should have: says the most helpful thing about where it went instead. */
function explainAbsence(effect: Effect, quote: Quote): Refusal {
  const accepted = new Set<Asset>(quote.options.map((option) => option.asset))
  const toRecipient = effect.transfers.filter((transfer) => transfer.destinationOwner === quote.recipient)
  if (toRecipient.some((transfer) => transfer.units === undefined)) return refuse('unsupported_transfer')
  if (toRecipient.some((transfer) => accepted.has(transfer.asset))) return refuse('wrong_destination')
  if (toRecipient.length > 0) return refuse('wrong_mint')
  return refuse(effect.transfers.length > 0 ? 'wrong_recipient' : 'no_transfer')
}
