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
   * Reads the ledger again, for the quote of another server. At most once a second, because anybody can make up a
   * requestId: all calls within a second get the result of one reading. Rejects if the ledger is unavailable, because a
   * payment for a quote that is only unknown here must not be refused for good.
   */
  refresh(): Promise<void>
}

const prefix = 'splits/'
const forever = Number.MAX_SAFE_INTEGER
const refreshMs = 1_000

export function createSplitRegistry(kv: KeyValueStore, clock: Pick<Clock, 'monotonic'>): SplitRegistry {
  let known: ReadonlyMap<string, RecipientSet> = new Map()
  let refreshedAt = Number.NEGATIVE_INFINITY
  let reading: Promise<void> | undefined
  const load = async (): Promise<void> => {
    const entries = await kv.list(prefix)
    known = new Map(entries.flatMap(({ name, value }) => readEntry(name.slice(prefix.length), value)))
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
    refresh: async () => {
      const now = clock.monotonic()
      if (now - refreshedAt >= refreshMs) {
        refreshedAt = now
        reading = load()
      }
      await reading
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
