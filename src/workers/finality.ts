/**
 * Follows payments until the chain can no longer revert them. Recording an outcome twice changes nothing, so every
 * server can run this worker.
 */
import { encodeBase58 } from '../core/encoding/base58.ts'
import type { Meter } from '../core/observability/metrics.ts'
import type { Chain } from '../core/ports/chain.ts'
import type { Conclusion, Journal } from '../core/ports/journal.ts'
import type { Log } from '../core/runtime.ts'
import { type Loop, type LoopParts, startLoop } from './loop.ts'

export interface FinalityParts extends Pick<LoopParts, 'leads'> {
  readonly journal: Pick<Journal, 'unfinal' | 'conclude'>
  readonly chain: Pick<Chain, 'fatesOf'>
  readonly log: Log
  readonly meter: Meter
  /** Called for payments with a newly known outcome. */
  readonly onConcluded: (tx: string, finality: Conclusion['finality']) => void
}

const everyMs = 5_000
const mostAtOnce = 1_024

export function startFinality({ journal, chain, log, meter, onConcluded, leads }: FinalityParts): Loop {
  let fromSlot = 0

  const look = async (): Promise<void> => {
    const open = await journal.unfinal(mostAtOnce, fromSlot)
    // Payments with an unknown outcome must not block the rest, so the next run continues after them.
    const [first, last] = [open[0]?.slot ?? 0, open.at(-1)?.slot ?? 0]
    fromSlot = open.length < mostAtOnce ? 0 : first < last ? last : last + 1
    meter.set('paystile_payments_unfinal', open.length)
    if (open.length === 0) return
    const names = open.map(({ tx }) => encodeBase58(tx))
    const fates = await chain.fatesOf(open.map(({ slot }, index) => ({ signature: names[index] ?? '', slot })))
    const conclusions = open.flatMap(({ tx }, index): Conclusion[] => {
      const finality = fates[index]
      return finality === 'finalized' || finality === 'reverted' ? [{ tx, finality }] : []
    })
    for (const { tx, finality } of await journal.conclude(conclusions)) {
      const name = encodeBase58(tx)
      meter.count('paystile_payments_concluded_total', { finality })
      if (finality === 'reverted') log.error('payment.reverted', { tx: name, why: 'the chain reverted the payment' })
      onConcluded(name, finality)
    }
  }
  return startLoop({ name: 'finality', everyMs, work: look, log, leads })
}
