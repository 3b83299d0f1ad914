/** Payments as records, a page at a time: what went out of them is looked up for all of a page together. */
import { encodeBase58 } from '../../core/encoding/base58.ts'
import type { DecimalsOf, TokenCode } from '../../core/money/tokens.ts'
import type { PaymentListItem } from '../../core/payment/history.ts'
import type { OutgoingTransactions } from '../../core/payouts/ports/outgoing.ts'
import type { Rewards } from '../../core/payouts/ports/rewards.ts'
import { refundLane } from '../../core/payouts/refunds.ts'
import type { Ledger } from '../../core/ports/ledger.ts'
import type { Cursors } from './cursor.ts'
import type { PaymentReport, WentOut } from './format.ts'
import { formatPayment, withoutTransactions } from './format.ts'

/** Where it is kept what went out. */
export interface Outgoing {
  readonly rewards: Pick<Rewards, 'shared'>
  readonly dispatches: Pick<OutgoingTransactions, 'inLanes'>
}

export function readOutgoing({ rewards, outgoing: dispatches }: Pick<Ledger, 'rewards' | 'outgoing'>): Outgoing {
  return { rewards, dispatches }
}

export interface RecordParts {
  readonly decimalsOf: DecimalsOf
  readonly outgoing?: Outgoing | undefined
}

/** Of each payment, in their order: two look-ups by key for all of them. */
export async function readWentOut(
  { outgoing }: Pick<RecordParts, 'outgoing'>,
  captures: readonly Pick<PaymentListItem, 'tx'>[],
): Promise<readonly WentOut[]> {
  if (!outgoing || captures.length === 0) return captures.map(() => ({}))
  const [shared, refunds] = await Promise.all([
    outgoing.rewards.shared(captures.map(({ tx }) => tx)),
    outgoing.dispatches.inLanes(captures.map(({ tx }) => refundLane(encodeBase58(tx)))),
  ])
  return captures.map((_, index) => ({ shared: shared[index], refund: refunds[index] }))
}

export async function formatRecords(
  parts: RecordParts,
  captures: readonly PaymentListItem[],
  revenueToken: TokenCode,
): Promise<readonly PaymentReport[]> {
  const wentOut = await readWentOut(parts, captures)
  return captures.map((capture, index) => formatPayment(capture, parts.decimalsOf, revenueToken, wentOut[index]))
}

/** Records of the feed: no transaction in them. */
export async function formatFeedRecords(
  parts: RecordParts & { readonly cursors: Cursors },
  captures: readonly PaymentListItem[],
  revenueToken: TokenCode,
) {
  const wentOut = await readWentOut(parts, captures)
  return captures.map((capture, index) => formatFeedRecord(parts, capture, revenueToken, wentOut[index]))
}

export function formatFeedRecord(
  { cursors, decimalsOf }: Pick<RecordParts, 'decimalsOf'> & { readonly cursors: Cursors },
  capture: PaymentListItem,
  revenueToken: TokenCode,
  wentOut: WentOut | undefined,
) {
  const record = formatPayment(capture, decimalsOf, revenueToken, wentOut)
  return { id: cursors.write(capture), ...withoutTransactions(record) }
}
