/** Formats payments as records, one page at a time. Accruals and refunds are looked up once for the whole page. */
import { encodeBase58 } from '../../core/encoding/base58.ts'
import type { DecimalsOf, TokenCode } from '../../core/money/tokens.ts'
import type { PaymentListItem } from '../../core/payment/history.ts'
import type { OutgoingTransactions } from '../../core/payouts/ports/outgoing.ts'
import type { Rewards } from '../../core/payouts/ports/rewards.ts'
import { formatRefundLockKey } from '../../core/payouts/refunds.ts'
import type { Ledger } from '../../core/ports/ledger.ts'
import type { Cursors } from './cursor.ts'
import { formatPayment, type PaymentReport, type WentOut, withoutTransactions } from './format.ts'

/** The stores of accruals and outgoing transactions. */
export interface Outgoing {
  readonly rewards: Pick<Rewards, 'shared'>
  readonly transactions: Pick<OutgoingTransactions, 'findByLockKeys'>
}

export function readOutgoing({ rewards, outgoing }: Pick<Ledger, 'rewards' | 'outgoing'>): Outgoing {
  return { rewards, transactions: outgoing }
}

export interface RecordParts {
  readonly decimalsOf: DecimalsOf
  readonly outgoing?: Outgoing | undefined
}

/** Returns one entry for each payment, in the same order. Two look-ups by key serve all payments. */
export async function readWentOut(
  { outgoing }: Pick<RecordParts, 'outgoing'>,
  payments: readonly Pick<PaymentListItem, 'tx'>[],
): Promise<readonly WentOut[]> {
  if (!outgoing || payments.length === 0) return payments.map(() => ({}))
  const [shared, refunds] = await Promise.all([
    outgoing.rewards.shared(payments.map(({ tx }) => tx)),
    outgoing.transactions.findByLockKeys(payments.map(({ tx }) => formatRefundLockKey(encodeBase58(tx)))),
  ])
  return payments.map((_, index) => ({ shared: shared[index], refund: refunds[index] }))
}

export async function formatRecords(
  parts: RecordParts,
  payments: readonly PaymentListItem[],
  revenueToken: TokenCode,
): Promise<readonly PaymentReport[]> {
  const wentOut = await readWentOut(parts, payments)
  return payments.map((payment, index) => formatPayment(payment, parts.decimalsOf, revenueToken, wentOut[index]))
}

/** Records of the feed. They contain no transactions. */
export async function formatFeedRecords(
  parts: RecordParts & { readonly cursors: Cursors },
  payments: readonly PaymentListItem[],
  revenueToken: TokenCode,
) {
  const wentOut = await readWentOut(parts, payments)
  return payments.map((payment, index) => formatFeedRecord(parts, payment, revenueToken, wentOut[index]))
}

export function formatFeedRecord(
  { cursors, decimalsOf }: Pick<RecordParts, 'decimalsOf'> & { readonly cursors: Cursors },
  payment: PaymentListItem,
  revenueToken: TokenCode,
  wentOut: WentOut | undefined,
) {
  const record = formatPayment(payment, decimalsOf, revenueToken, wentOut)
  return { id: cursors.write(payment), ...withoutTransactions(record), problem: readProblem(payment) }
}

/** The reason why the payment is not accepted. An observed one may still lack only its proof. */
function readProblem({ state, fault }: PaymentListItem) {
  return state === 'late' || state === 'reverted' ? state : (fault ?? '')
}
