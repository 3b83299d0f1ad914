/**
 * Refunds payments that were never redeemed, surpluses, and delivered payments on request. Each payment is refunded
 * once, by the steps of every outgoing transaction.
 */
import { decodeSignature, encodeBase58 } from '../../core/encoding/base58.ts'
import { convert, type FrozenRates } from '../../core/money/rates.ts'
import { type Mint, solDecimals, type TokenCode } from '../../core/money/tokens.ts'
import { formatRefundMemo } from '../../core/payouts/outgoing-memo.ts'
import type { OutgoingWallet } from '../../core/payouts/outgoing-wallet.ts'
import type { OutgoingTransaction, OutgoingTransactions } from '../../core/payouts/ports/outgoing.ts'
import {
  formatRefund,
  formatRefundLockKey,
  judgeRefund,
  parseRefund,
  type RefundWish,
} from '../../core/payouts/refunds.ts'
import type { Books } from '../../core/ports/reports.ts'
import type { Clock } from '../../core/runtime.ts'
import { type Loop, startLoop } from '../loop.ts'
import { createThrottledLog } from '../throttled-log.ts'
import type { OutgoingTransactionParts, SigningResult, Step } from './outgoing-transactions.ts'
import { advance, alone, createTransactionId, readOpen } from './outgoing-transactions.ts'
import { paused, signUnlessPaused } from './pause.ts'
import type { Addresses } from './payees.ts'

export interface RefundParts extends OutgoingTransactionParts {
  readonly books: Pick<Books, 'history'>
  readonly outgoing: OutgoingTransactions
  readonly outgoingWallet: OutgoingWallet
  readonly addresses: Addresses
  /** Undefined for a token without a mint on this network; null for SOL, which needs none. */
  readonly mintOf: (token: TokenCode) => Mint | null | undefined
  /** The current rates. Undefined while they are unknown. */
  readonly rates: () => FrozenRates | undefined
  /** No new refunds are sent while this is true. Earlier ones are still followed. */
  readonly isPaused: () => Promise<boolean>
  readonly clock: Clock
}

export type RefundPlanning =
  | { readonly kind: 'planned'; readonly transaction: OutgoingTransaction }
  /** It is under way or complete already. */
  | { readonly kind: 'known'; readonly transaction: OutgoingTransaction }
  | { readonly kind: 'refused'; readonly why: string }
  | { readonly kind: 'unknown' }

/** Reserves a refund. Nothing is signed or sent yet. */
export async function planRefund(
  parts: Omit<RefundParts, 'outgoingWallet'>,
  tx: Uint8Array,
  wish: RefundWish = {},
): Promise<RefundPlanning> {
  const { books, outgoing, clock } = parts
  const payment = encodeBase58(tx)
  const before = await outgoing.findByLockKey(formatRefundLockKey(payment))
  if (before) return tellKnown(before, wish)
  // The refund is booked on the day that the clock shows.
  const wrong = parts.clockCheck?.why()
  if (wrong !== undefined) return { kind: 'refused', why: wrong }
  if (await parts.isPaused()) return { kind: 'refused', why: paused }
  const history = await books.history(tx)
  if (!history) return { kind: 'unknown' }
  const ruling = judgeRefund(history, clock.now(), wish)
  if (ruling.kind === 'refused') return { kind: 'refused', why: ruling.why }
  const { payer, token, recipient, state } = history.payment
  const mint = parts.mintOf(token)
  if (mint === undefined) return { kind: 'refused', why: `this network has no ${token}` }
  // Read again from the nodes, because the stored value may come from a single node and from a block that was not
  // final.
  const sent = await parts.addresses.sent(payer, tx, { recipient, asset: mint?.address ?? 'SOL' })
  if (sent.kind !== 'sent') return { kind: 'refused', why: `the payer is unknown: ${sent.why}` }
  // Of a payment that was never claimed, only the watcher's reading is stored. It is voided, so all of it goes back.
  const units = state === 'unclaimed' ? sent.units : ruling.units
  if (units === 0n || sent.units < units)
    return { kind: 'refused', why: 'on chain the payer sent less than the refund' }
  const facts = { payment, token, units, reason: ruling.reason }
  const planning = await outgoing.plan({
    id: createTransactionId(parts.sealer, 'refund'),
    kind: 'refund',
    lockKey: formatRefundLockKey(payment),
    about: formatRefund(facts),
    lines: [],
    refunds: { tx, units },
    ...(ruling.voids && { voids: tx, coversUse: ruling.coversUse }),
  })
  if (planning.kind === 'planned') return { kind: 'planned', transaction: planning.transaction }
  if (planning.kind === 'in_use')
    return {
      kind: 'refused',
      why: 'a delivery is in progress; try again in a minute',
    }
  const other = await outgoing.findByLockKey(formatRefundLockKey(payment))
  return other ? tellKnown(other, wish) : { kind: 'refused', why: 'another process changed the payment; try again' }
}

/** A refund of the surplus does not fulfil the wish for a refund of the whole payment. */
function tellKnown(transaction: OutgoingTransaction, { evenDelivered }: RefundWish): RefundPlanning {
  return evenDelivered && parseRefund(transaction.about).reason === 'surplus'
    ? { kind: 'refused', why: 'its surplus was refunded before, and each payment is refunded once' }
    : { kind: 'known', transaction }
}

export async function advanceRefund(parts: RefundParts, transaction: OutgoingTransaction): Promise<Step> {
  const plan = {
    sign: (one: OutgoingTransaction) => signUnlessPaused(parts.isPaused, () => sign(parts, one)),
    mostAttempts: 10,
  }
  return advance(transaction, plan, parts)
}

const everyMs = 3_000

/** Completes started refunds, including those of a process that died. */
export function startRefunds(given: RefundParts): Loop {
  const parts: RefundParts = { ...given, log: createThrottledLog(given.log, given.clock) }
  const work = async (): Promise<void> => {
    for (const transaction of await readOpen('refund', parts)) {
      const { id, kind } = transaction
      await alone(parts.log, { kind, id }, () => advanceRefund(parts, transaction))
    }
  }
  const { log, leads, clockCheck } = parts
  return startLoop({ name: 'refunds', everyMs, work, log, leads, clockCheck })
}

async function sign(parts: RefundParts, { id, about, attempts }: OutgoingTransaction): Promise<SigningResult> {
  const { payment, token, units, reason } = parseRefund(about)
  const tx = decodeSignature(payment)
  const mint = parts.mintOf(token as TokenCode)
  const payer = tx && (await parts.books.history(tx))?.payment.payer
  if (!tx || mint === undefined || payer === undefined)
    return { kind: 'impossible', why: 'the payment is unknown to this service' }
  const finding = await parts.addresses.find({ role: 'cashback', payee: payer }, async () => tx)
  if (finding.kind === 'unavailable') return finding
  if (finding.kind === 'lost') return { kind: 'impossible', why: finding.why }
  const asset = mint ?? undefined
  const states = await parts.outgoingWallet.readAccounts([finding.address], asset)
  const [account] = states ?? []
  if (account === undefined) return { kind: 'unavailable', why: 'no node returned the token account' }
  if (account === 'frozen' || account === 'unusable')
    return { kind: 'impossible', why: "the payer's token account does not accept transfers" }
  const opens = account === 'missing'
  // Otherwise a payer could repeatedly pay dust, close the account, and collect the rent of a new one.
  if (opens && asset && (await isDearer(parts, asset, token as TokenCode, units)))
    return { kind: 'impossible', why: 'the payer has no token account, and opening one costs more than the refund' }
  const transfers = [{ owner: finding.address, units, opens }]
  return parts.outgoingWallet.sign({
    mint: asset,
    transfers,
    memo: formatRefundMemo(id, { payment, reason }),
    attempts,
  })
}

/** Whether opening a token account costs more than the amount sent to it, as far as rates are known. */
async function isDearer({ outgoingWallet, rates }: RefundParts, mint: Mint, token: TokenCode, units: bigint) {
  const [lamports, table] = [await outgoingWallet.openingCost(mint), rates()?.table]
  if (lamports === undefined || !table) return false
  const cost = convert(
    { token: 'SOL', units: lamports, decimals: solDecimals },
    { token, decimals: mint.decimals },
    table,
  )
  return cost !== undefined && cost > units
}
