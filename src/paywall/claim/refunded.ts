import { encodeBase58 } from '../../core/encoding/base58.ts'
import { formatRefundLockKey, parseRefund } from '../../core/payouts/refunds.ts'
import type { Ledger } from '../../core/ports/ledger.ts'

/** Whether a refund voids a payment that no proof has registered. Every such refund returns the whole payment. */
export async function isRefunded({ outgoing }: Pick<Ledger, 'outgoing'>, tx: Uint8Array): Promise<boolean> {
  return (await outgoing.findByLockKey(formatRefundLockKey(encodeBase58(tx)))) !== undefined
}

/** Whether the whole payment goes back or went back to its payer, also after its delivery. */
export async function isReturned({ outgoing }: Pick<Ledger, 'outgoing'>, tx: Uint8Array): Promise<boolean> {
  const refund = await outgoing.findByLockKey(formatRefundLockKey(encodeBase58(tx)))
  return refund !== undefined && parseRefund(refund.about).reason !== 'surplus'
}
