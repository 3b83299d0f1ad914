/** A ledger on a shelf of its own for every test, and the few things that most tests do with it. */
import { afterEach, beforeEach } from 'vitest'
import type { DeliveryOutcome } from '../../src/core/payment/delivery.ts'
import type { Journal } from '../../src/core/ports/journal.ts'
import type { Grant, Ledger, PaymentRecord, PaymentStatus, Take, Taken } from '../../src/core/ports/ledger.ts'
import type { Books } from '../../src/core/ports/reports.ts'
import type { TestClock } from './payments.ts'
import { createPayment, createTestClock, takeOf } from './payments.ts'
import type { OpenShelf, Shelf } from './stores.ts'

export interface Desk {
  readonly ledger: Ledger
  readonly clock: TestClock
  books(): Books
  journal(): Journal
  kindOf(take: Take): Promise<Taken['kind']>
  stateOf(payment: PaymentRecord): Promise<PaymentStatus['state'] | undefined>
  grantOf(take: Take): Promise<Grant>
  /** A payment of its own, with a first response under way. */
  registered(changes?: Partial<PaymentRecord>): Promise<PaymentRecord>
  /** Takes, and ends what was granted. */
  use(take: Take, outcome: DeliveryOutcome, used?: bigint): Promise<boolean>
}

export function useDesk(open: OpenShelf): Desk {
  let clock: TestClock
  let kv: Shelf
  beforeEach(async () => {
    clock = createTestClock()
    kv = await open(clock)
  })
  afterEach(() => kv.clear())
  const grantOf = async (take: Take) => granted(await kv.ledger.take(take)).grant
  return {
    get ledger() {
      return kv.ledger
    },
    get clock() {
      return clock
    },
    kindOf: async (take) => (await kv.ledger.take(take)).kind,
    stateOf: async (payment) => (await kv.ledger.peek(payment.tx))?.state,
    grantOf,
    books: () => booksOf(kv.ledger),
    journal: () => {
      if (!kv.ledger.journal) throw new Error('this ledger keeps no journal')
      return kv.ledger.journal
    },
    registered: async (changes = {}) => {
      const payment = createPayment(changes)
      await grantOf(takeOf(payment))
      return payment
    },
    use: async (take, outcome, used = 1n) => kv.ledger.end(await grantOf(take), outcome, used),
  }
}

export function booksOf({ books }: Ledger): Books {
  if (!books) throw new Error('this ledger keeps no books')
  return books
}

export function granted(taken: Taken): Extract<Taken, { kind: 'granted' }> {
  if (taken.kind !== 'granted') throw new Error(`not granted but ${taken.kind}`)
  return taken
}
