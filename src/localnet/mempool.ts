/**
 * Holds transactions between submission and execution.
 *
 * Normally a transaction runs when it arrives. Tests can delay it by some slots or lose it, as on a busy cluster. A
 * transaction that cannot land yet (for example because its payer has no money) is retried while its blockhash is
 * valid.
 */
import type { Bank, Submission } from './bank/bank.ts'
import type { Transaction } from './transaction/wire.ts'

export interface Delivery {
  /** The number of slots that a transaction waits. */
  readonly delaySlots: number
  /** The transaction is accepted and then lost. */
  readonly lose: boolean
}

interface Waiting {
  readonly transaction: Transaction
  readonly due: number
  readonly retriesLeft: number
}

const maxWaiting = 10_000

export function createMempool(bank: Bank) {
  let queue: Waiting[] = []

  function attempt({ transaction, retriesLeft }: Waiting, slot: number): void {
    const result = bank.submit(transaction)
    if (!canRetry(result) || retriesLeft === 0 || queue.length >= maxWaiting) return
    queue.push({ transaction, due: slot + 1, retriesLeft: retriesLeft - 1 })
  }

  bank.listen({
    moved(_from, slot) {
      if (queue.length === 0) return
      const due = queue.filter((waiting) => waiting.due <= slot)
      queue = queue.filter((waiting) => waiting.due > slot)
      for (const waiting of due) attempt(waiting, slot)
    },
  })

  return {
    send(transaction: Transaction, { delaySlots, lose }: Delivery, maxRetries: number | undefined) {
      if (lose) return
      const slot = bank.sync()
      const waiting = { transaction, due: slot + delaySlots, retriesLeft: maxRetries ?? Number.POSITIVE_INFINITY }
      if (delaySlots === 0) attempt(waiting, slot)
      else if (queue.length < maxWaiting) queue.push(waiting)
    },
    waiting: () => queue.length,
  }
}

export type Mempool = ReturnType<typeof createMempool>

/** Whether a later attempt can succeed. An expired blockhash stays expired, and a transaction lands only once. */
function canRetry(result: Submission): boolean {
  if (result.kind === 'landed') return false
  return result.failure === 'AccountNotFound' || result.failure === 'InsufficientFundsForFee'
}
