/**
 * The splits for which a service has issued quotes.
 *
 * A requestId seals its splits, but has no room to contain them. The ledger therefore keeps all splits that were ever
 * quoted: a payment is judged by the splits of its quote, whatever the configuration says later, and on every server.
 */
import {
  formatSplits,
  listSealable,
  nameRecipientSet,
  parseSplits,
  type RecipientSet,
} from '../../core/payment/splits.ts'
import type { KeyValueStore } from '../../core/ports/kv.ts'
import type { Clock } from '../../core/runtime.ts'

export interface SplitRegistry {
  /** Reads the ledger. */
  load(): Promise<void>
  /** The sets of recipients with splits by their names, collected or not, as of the last reading. */
  known(): ReadonlyMap<string, RecipientSet>
  /** Stores the splits of a set of recipients. They may be quoted afterwards. */
  keep(recipientSet: RecipientSet): Promise<void>
  /**
   * Reads the ledger again, for the quote of another server. The reading begins after the call: an earlier one may lack
   * splits that were quoted since. Anybody can make up a requestId, so readings begin at most four times a second, and
   * the calls in between share the next one. Rejects if the ledger is unavailable, because a payment for a quote that is
   * only unknown here must not be refused for good.
   */
  refresh(): Promise<void>
}

const prefix = 'splits/'
const forever = Number.MAX_SAFE_INTEGER
const refreshMs = 250

export function createSplitRegistry(kv: KeyValueStore, clock: Pick<Clock, 'monotonic'>): SplitRegistry {
  let known: ReadonlyMap<string, RecipientSet> = new Map()
  let readAt = Number.NEGATIVE_INFINITY
  /** The reading that has not begun. */
  let next: Promise<void> | undefined
  const load = async (): Promise<void> => {
    const entries = await kv.list(prefix)
    // Splits are never removed. Another reading may have ended meanwhile.
    known = new Map([...known, ...entries.flatMap(({ name, value }) => readEntry(name.slice(prefix.length), value))])
  }
  const loadInTurn = async (): Promise<void> => {
    const waitMs = readAt + refreshMs - clock.monotonic()
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs))
    next = undefined
    readAt = clock.monotonic()
    await load()
  }
  return {
    load,
    known: () => known,
    keep: async (recipientSet) => {
      const name = nameRecipientSet(recipientSet)
      if (recipientSet.splits.length === 0 || known.has(name)) return
      await kv.put(`${prefix}${name}`, formatSplits(recipientSet.splits), forever)
      known = new Map([...known, ...nameSealable(recipientSet)])
    },
    refresh: () => {
      // It begins in the next task, so that calls of this moment share it.
      next ??= Promise.resolve().then(loadInTurn)
      return next
    },
  }
}

function readEntry(name: string, value: string): readonly (readonly [string, RecipientSet])[] {
  const [recipient = ''] = name.split('/')
  const splits = parseSplits(value)
  const recipientSet = splits && { recipient, splits }
  return recipientSet && nameRecipientSet(recipientSet) === name ? nameSealable(recipientSet) : []
}

function nameSealable(recipientSet: RecipientSet) {
  return listSealable(recipientSet).map((one) => [nameRecipientSet(one), one] as const)
}
