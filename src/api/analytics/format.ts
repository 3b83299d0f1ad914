/**
 * Formats a payment for people. The feed, the stream and every export share this function, so an export equals the
 * screen.
 */
import { encodeBase58 } from '../../core/encoding/base58.ts'
import { formatUnits } from '../../core/money/money.ts'
import type { DecimalsOf, TokenCode } from '../../core/money/tokens.ts'
import { worthDecimals } from '../../core/money/valuation.ts'
import type { PaymentListItem, PaymentListStatus } from '../../core/payment/history.ts'
import type { SplitPart } from '../../core/payment/splits.ts'
import type { OutgoingTransaction } from '../../core/payouts/ports/outgoing.ts'
import type { SharedOut } from '../../core/payouts/ports/rewards.ts'
import { parseRefund, refundedWorth } from '../../core/payouts/refunds.ts'
import type { Books } from '../../core/ports/reports.ts'

/** The names of a status in the feed. */
export const feedStatuses = { pending: 'Pending', confirmed: 'Verified', expired: 'Expired' } as const satisfies Record<
  PaymentListStatus,
  string
>

/** The accrual and the refund of a payment. */
export interface WentOut {
  readonly shared?: SharedOut | undefined
  /** The refund that was not dropped, in any state. */
  readonly refund?: OutgoingTransaction | undefined
}

/** The order of columns in every export. */
export const paymentColumns = [
  ...(['timestamp', 'requestId', 'payer', 'endpoint', 'token', 'amount', 'worth', 'revenueToken', 'status'] as const),
  ...(['verification', 'state', 'delivery', 'recipient', 'splits', 'collected', 'tx', 'shared'] as const),
  ...(['refundedAt', 'refundTx', 'refunded', 'revenue'] as const),
] as const satisfies readonly (keyof PaymentReport)[]
export type PaymentColumn = (typeof paymentColumns)[number]

/** Each of these columns reveals the wallet behind a pseudonym. */
const transactionColumns: readonly PaymentColumn[] = ['tx', 'refundTx']
export const columnsWithoutTransactions: readonly PaymentColumn[] = paymentColumns.filter(
  (column) => !transactionColumns.includes(column),
)

export function formatPayment(
  payment: PaymentListItem,
  decimalsOf: DecimalsOf,
  revenueToken: TokenCode,
  { shared, refund }: WentOut = {},
) {
  const decimals = decimalsOf(payment.token)
  const landed = refund?.state === 'landed' ? refund : undefined
  const sentBack = landed && parseRefund(landed.about).units
  return {
    /** Block time, RFC 3339 in UTC. */
    timestamp: new Date(payment.at).toISOString(),
    /** Keyed hash. */
    requestId: payment.request,
    /** Pseudonym. */
    payer: payment.payer,
    endpoint: payment.endpoint,
    token: payment.token,
    /** The amount that the recipient received, in whole tokens. Empty if the service no longer knows the decimals of the token, or for a claim that is not on chain. */
    amount: decimals === undefined || isNotOnChain(payment) ? '' : formatUnits(payment.units, decimals),
    /** In `revenueToken`, at the rate of the payment's time. Empty if there was no rate. */
    worth: payment.worth === undefined ? '' : formatUnits(payment.worth, worthDecimals),
    revenueToken,
    status: feedStatuses[payment.status],
    verification: payment.status,
    state: payment.state,
    delivery: payment.delivery,
    recipient: payment.recipient,
    /** The amounts that other wallets received in the same transaction, in whole tokens: `0.001 <wallet>; …`. */
    splits: payment.isCollected ? '' : formatSplitParts(payment.splits, decimals),
    /** The amounts of other wallets that `amount` contains, in the same form. The rewards owe them. */
    collected: payment.isCollected ? formatSplitParts(payment.splits, decimals) : '',
    /** Left out of the feed and of links: a transaction reveals the wallet behind a pseudonym. */
    tx: encodeBase58(payment.tx),
    /** In NATIVE, the total of all payees. 0 if the payment earns no rewards, empty until the accrual. */
    shared: shared ? formatShared(shared, decimalsOf) : '',
    /** Time at which the refund of the payment, or of its surplus, became final. Empty until then. */
    refundedAt: landed ? new Date(landed.changedAt).toISOString() : '',
    /** The transaction of that refund. It names the payer, so the same readers see it as see `tx`. */
    refundTx: landed?.signed?.signature ?? '',
    /** The final refunded amount, in the token of the payment. Empty without a refund. */
    refunded: sentBack === undefined || decimals === undefined ? '' : formatUnits(sentBack, decimals),
    /** Contribution to the revenue: the worth less the refund. 0 if the payment does not count, empty without a rate. */
    revenue: formatRevenueOf(payment, sentBack ?? 0n),
  }
}

/** A proof names the transaction, but no node has returned it. */
export function isNotOnChain({ fault }: Pick<PaymentListItem, 'fault'>): boolean {
  return fault === 'not_on_chain'
}

function formatSplitParts(parts: readonly SplitPart[] = [], decimals: number | undefined): string {
  if (decimals === undefined) return ''
  return parts.map(({ recipient, units }) => `${formatUnits(units, decimals)} ${recipient}`).join('; ')
}

/**
 * All fields are text. An unknown value is empty, not absent, so every line of an export has as many cells as its
 * header.
 */
export type PaymentReport = Readonly<ReturnType<typeof formatPayment>>

/** Follows the rules of the books: `isCounted` and `isRefundCounted`. */
function formatRevenueOf({ state, worth, units }: PaymentListItem, sentBack: bigint): string {
  if (state === 'late' || state === 'unclaimed') return '0'
  if (worth === undefined) return ''
  const earned = state === 'reverted' ? 0n : worth
  return formatUnits(earned - refundedWorth(worth, sentBack, units), worthDecimals)
}

/** In whole NATIVE tokens. */
export function formatShared({ units }: SharedOut, decimalsOf: DecimalsOf): string {
  const decimals = decimalsOf('NATIVE')
  return decimals === undefined ? '' : formatUnits(units, decimals)
}

/** The token in which worth is stated. */
export async function readRevenueToken(books: Pick<Books, 'reportToken'>): Promise<TokenCode> {
  return (await books.reportToken()) ?? 'USDC'
}

/** For the feed and the stream. */
export function withoutTransactions({ tx: _tx, refundTx: _refundTx, ...record }: PaymentReport) {
  return record
}
