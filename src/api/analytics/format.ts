/**
 * A payment as people read it. The feed, the stream and every export use this one function, so an export holds what the
 * screen showed.
 */
import { encodeBase58 } from '../../core/encoding/base58.ts'
import { formatUnits } from '../../core/money/money.ts'
import type { DecimalsOf, TokenCode } from '../../core/money/tokens.ts'
import { worthDecimals } from '../../core/money/valuation.ts'
import type { PaymentListItem, PaymentListStatus } from '../../core/payment/history.ts'
import type { OutgoingTransaction } from '../../core/payouts/ports/outgoing.ts'
import type { SharedOut } from '../../core/payouts/ports/rewards.ts'
import { parseRefund, refundedWorth } from '../../core/payouts/refunds.ts'
import type { Books } from '../../core/ports/reports.ts'

/** The names of a status in the feed. */
export const feedStatuses = { pending: 'Pending', confirmed: 'Verified', expired: 'Expired' } as const satisfies Record<
  PaymentListStatus,
  string
>
export type FeedStatus = (typeof feedStatuses)[PaymentListStatus]

/** All text. What is not known is empty, never left out: a line of an export has as many cells as its header. */
export interface PaymentReport {
  /** Time of the block, RFC 3339 in UTC. */
  readonly timestamp: string
  /** Keyed hash. */
  readonly requestId: string
  /** Pseudonym. */
  readonly payer: string
  readonly endpoint: string
  readonly token: TokenCode
  /** In whole tokens; empty where the service no longer knows how many decimals the token has. */
  readonly amount: string
  /** In `revenueToken`, by the rate of its moment; empty where there was none. */
  readonly worth: string
  readonly revenueToken: TokenCode
  readonly status: FeedStatus
  readonly verification: PaymentListStatus
  readonly state: PaymentListItem['state']
  readonly delivery: PaymentListItem['delivery']
  readonly recipient: string
  /** Not for the feed and not for links: with it anybody can look up on chain who a pseudonym is. */
  readonly tx: string
  /** In NATIVE, to all together: 0 where nobody earns of it, empty as long as it is not shared out. */
  readonly shared: string
  /** When a refund of it, or of what was too much, was final; empty until then. */
  readonly refundedAt: string
  /** The transaction of that refund. It goes to who paid, so it is for no more eyes than `tx`. */
  readonly refundTx: string
  /** What was sent back for good, in the token that was paid; empty where nothing was. */
  readonly refunded: string
  /** What it adds to the revenue: its worth less what was sent back, and 0 where it is not counted; empty without a rate. */
  readonly revenue: string
}

/** What went out of a payment. */
export interface WentOut {
  readonly shared?: SharedOut | undefined
  /** The refund that was not dropped, however it stands. */
  readonly refund?: OutgoingTransaction | undefined
}

/** The order of columns in every export. */
export const captureColumns = [
  'timestamp',
  'requestId',
  'payer',
  'endpoint',
  'token',
  'amount',
  'worth',
  'revenueToken',
  'status',
  'verification',
  'state',
  'delivery',
  'recipient',
  'tx',
  'shared',
  'refundedAt',
  'refundTx',
  'refunded',
  'revenue',
] as const satisfies readonly (keyof PaymentReport)[]
export type PaymentColumn = (typeof captureColumns)[number]

/** With one of these a pseudonym can be looked up on chain. */
const transactionColumns: readonly PaymentColumn[] = ['tx', 'refundTx']
export const columnsWithoutTransactions: readonly PaymentColumn[] = captureColumns.filter(
  (column) => !transactionColumns.includes(column),
)

export function formatPayment(
  payment: PaymentListItem,
  decimalsOf: DecimalsOf,
  revenueToken: TokenCode,
  { shared, refund }: WentOut = {},
): PaymentReport {
  const decimals = decimalsOf(payment.token)
  const landed = refund?.state === 'landed' ? refund : undefined
  const sentBack = landed && parseRefund(landed.about).units
  return {
    timestamp: new Date(payment.at).toISOString(),
    requestId: payment.request,
    payer: payment.payer,
    endpoint: payment.endpoint,
    token: payment.token,
    amount: decimals === undefined ? '' : formatUnits(payment.units, decimals),
    worth: payment.worth === undefined ? '' : formatUnits(payment.worth, worthDecimals),
    revenueToken,
    status: feedStatuses[payment.status],
    verification: payment.status,
    state: payment.state,
    delivery: payment.delivery,
    recipient: payment.recipient,
    tx: encodeBase58(payment.tx),
    shared: shared ? formatShared(shared, decimalsOf) : '',
    refundedAt: landed ? new Date(landed.changedAt).toISOString() : '',
    refundTx: landed?.signed?.signature ?? '',
    refunded: sentBack === undefined || decimals === undefined ? '' : formatUnits(sentBack, decimals),
    revenue: formatRevenueOf(payment, sentBack ?? 0n),
  }
}

/** As the books have it: `isCounted` and `isRefundCounted`. */
function formatRevenueOf({ state, worth, units }: PaymentListItem, sentBack: bigint): string {
  if (state === 'late' || state === 'unclaimed') return '0'
  if (worth === undefined) return ''
  const earned = state === 'reverted' ? 0n : worth
  return formatUnits(earned - refundedWorth(worth, sentBack, units), worthDecimals)
}

/** In whole tokens of NATIVE. */
export function formatShared({ units }: SharedOut, decimalsOf: DecimalsOf): string {
  const decimals = decimalsOf('NATIVE')
  return decimals === undefined ? '' : formatUnits(units, decimals)
}

/** The token in which worth is told. */
export async function readRevenueToken(books: Pick<Books, 'reportToken'>): Promise<TokenCode> {
  return (await books.reportToken()) ?? 'USDC'
}

/** For the feed and the stream. */
export function withoutTransactions({
  tx: _tx,
  refundTx: _refundTx,
  ...record
}: PaymentReport): Omit<PaymentReport, 'tx' | 'refundTx'> {
  return record
}
