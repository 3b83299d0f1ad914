/** The parts of a ledger beside its payments, on either database. */
import type { Ledger } from '../../core/ports/ledger.ts'
import type { Clock } from '../../core/runtime.ts'
import { createBooks } from './books/books.ts'
import { createEvents } from './events.ts'
import { createJournal } from './journal.ts'
import { createKeyValueStore } from './key-value-store.ts'
import { createOutgoingTransactions } from './payables/outgoing-transactions.ts'
import { createRewards } from './payables/rewards.ts'
import { createRateJournal } from './rates.ts'
import { createSubmissions } from './submissions.ts'
import type { SqlStore } from './work.ts'

export function createPorts(
  store: SqlStore,
  clock: Clock,
): Pick<Ledger, 'journal' | 'books' | 'kv' | 'events' | 'rewards' | 'outgoing' | 'rates' | 'submissions'> {
  return {
    journal: createJournal(store, clock),
    books: createBooks(store, clock),
    kv: createKeyValueStore(store, clock),
    events: createEvents(store, clock),
    rewards: createRewards(store, clock),
    outgoing: createOutgoingTransactions(store, clock),
    rates: createRateJournal(store, clock),
    submissions: createSubmissions(store, clock),
  }
}
