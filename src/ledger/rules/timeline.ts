/** The times of a payment's deliveries and of its conclusion on chain, for the payment timeline. */
import type { Allowance } from '../../core/payment/allowance.ts'
import type { Positions } from '../../core/payment/byte-ranges.ts'
import type { DeliveryOutcome } from '../../core/payment/delivery.ts'
import type { PaymentRecord } from '../../core/ports/ledger.ts'

/** In milliseconds since 1970. Undefined if the event did not happen. */
export interface PaymentTimeline {
  /** The ends of the first and the last response that delivered something. */
  readonly deliveredAt: number | undefined
  readonly deliveredLast: number | undefined
  /** Time since which a response is known to have delivered nothing. Undefined after a delivery. */
  readonly undeliveredAt: number | undefined
  /** When the payment became final or was reverted. */
  readonly concludedAt: number | undefined
}

/** The used part of an allowance. */
interface Use {
  readonly allowance: Allowance
  readonly used: bigint
  readonly deliveries: bigint
  readonly positions: Positions
}

export function readTimeline({ finality }: Pick<PaymentRecord, 'finality'>, now: number): PaymentTimeline {
  const concludedAt = finality === 'finalized' ? now : undefined
  return { deliveredAt: undefined, deliveredLast: undefined, undeliveredAt: undefined, concludedAt }
}

/** A window is used by time alone, so it never counts as untouched. */
export function isUntouched({ allowance, used, deliveries, positions }: Use): boolean {
  return allowance.unit !== 'second' && used === 0n && deliveries === 0n && positions.length === 0
}

/**
 * Updates the timeline after a use, or a part of one, that changed the account to `account`. Free uses change nothing.
 */
export function advanceTimeline(
  account: Use & PaymentTimeline,
  outcome: DeliveryOutcome,
  now: number,
): PaymentTimeline {
  const { deliveredAt, deliveredLast, undeliveredAt, concludedAt } = account
  const isBrought = outcome === 'delivered' || outcome === 'partial'
  const times = isBrought ? { deliveredAt: deliveredAt ?? now, deliveredLast: now } : { deliveredAt, deliveredLast }
  const since = outcome === 'not_started' ? (undeliveredAt ?? now) : undeliveredAt
  return { ...times, undeliveredAt: isUntouched(account) && !isBrought ? since : undefined, concludedAt }
}

/** The payment became final or was reverted. If nothing was delivered by then, the payment counts as undelivered. */
export function concluded<Finality extends 'finalized' | 'reverted'>(
  account: Use & PaymentTimeline & { readonly late: boolean },
  finality: Finality,
  now: number,
): PaymentTimeline & { readonly finality: Finality } {
  const isOpen = finality === 'finalized' && !account.late && isUntouched(account)
  const { deliveredAt, deliveredLast } = account
  const undeliveredAt = isOpen ? (account.undeliveredAt ?? now) : undefined
  return { finality, deliveredAt, deliveredLast, undeliveredAt, concludedAt: now }
}
