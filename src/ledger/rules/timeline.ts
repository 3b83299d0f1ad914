/** When what a payment bought was delivered, and when its fate on chain was known: what people ask afterwards. */
import type { Allowance } from '../../core/payment/allowance.ts'
import type { Positions } from '../../core/payment/byte-ranges.ts'
import type { DeliveryOutcome } from '../../core/payment/delivery.ts'
import type { PaymentRecord } from '../../core/ports/ledger.ts'

/** In milliseconds since 1970; undefined for what did not happen. */
export interface PaymentTimeline {
  /** The ends of the first response that brought something, and of the last. */
  readonly deliveredAt: number | undefined
  readonly deliveredLast: number | undefined
  /** Since when it is known that a response brought nothing, as long as none has. */
  readonly undeliveredAt: number | undefined
  /** When the chain could no longer take it back, or did. */
  readonly concludedAt: number | undefined
}

/** How much of what was bought has been used. */
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

/** A window is used by time, whatever is asked for in it. */
export function isUntouched({ allowance, used, deliveries, positions }: Use): boolean {
  return allowance.unit !== 'second' && used === 0n && deliveries === 0n && positions.length === 0
}

/** After the end of a use, or a step of it, that has changed the account to what is given. A look that is free is neither. */
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

/** The chain has decided. What nothing was delivered of by then is undelivered, also where nobody ended its use. */
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
