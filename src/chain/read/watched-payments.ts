/**
 * The payments that the watcher has read. They are cached for proofs that follow soon, and recorded in the journal in
 * batches.
 */
import { setNewest } from '../../core/collections/bounded-map.ts'
import type { Meter } from '../../core/observability/metrics.ts'
import type { Effect } from '../../core/payment/verify.ts'
import { rememberedMs } from '../../core/ports/chain.ts'
import type { Mark } from '../../core/ports/journal.ts'
import type { Clock } from '../../core/runtime.ts'

export interface WatchJournal {
  mark(address: string): Promise<Mark | undefined>
  /** Records payments and the position of an address in one step. */
  note(effects: readonly Effect[], read?: { readonly address: string; readonly mark: Mark }): Promise<void>
}

export interface WatchedAddress {
  readonly address: string
  /** The position up to which everything was read. Undefined until the journal was read. */
  mark: Mark | undefined
  /** Whether an earlier entry of the list was not found, so that the mark must not move. */
  isHeldUp: boolean
  /** How often each listed payment was not found. */
  readonly misses: Map<string, number>
}

interface WatchedPaymentsParts {
  readonly addresses: ReadonlyMap<string, WatchedAddress>
  readonly journal: WatchJournal
  readonly clock: Clock
  readonly meter?: Meter
  /** Whether the socket, and not a list, reported a transaction. */
  readonly isHeard: (signature: string) => boolean
}

const flushMs = 250
const mostKept = 5_000
const mostRead = 50_000

export function createWatchedPayments(parts: WatchedPaymentsParts) {
  const { addresses, journal, clock, meter, isHeard } = parts
  const kept = new Map<string, { readonly effect: Effect; readonly at: number }>()
  /** Signatures that were read, with their slots. */
  const slots = new Map<string, number>()
  let unnoted: readonly Effect[] = []
  let flushing: Promise<void> = Promise.resolve()
  let timer: ReturnType<typeof setTimeout> | undefined
  let highestSlot = 0

  const isToWatched = ({ transfers }: Effect) => transfers.some(({ destination }) => addresses.has(destination))
  const isBehindMark = ({ transfers, slot }: Effect) =>
    transfers.some(({ destination }) => slot < (addresses.get(destination)?.mark?.slot ?? 0))
  // A payment before the mark was recorded when it was new.
  const isNews = (effect: Effect) => !slots.has(effect.signature) && isToWatched(effect) && !isBehindMark(effect)
  const markRead = (signature: string, slot: number) => setNewest(slots, signature, slot, mostRead)

  function flush(read?: Parameters<WatchJournal['note']>[1]): Promise<void> {
    const done = flushing.then(async () => {
      clearTimeout(timer)
      timer = undefined
      const effects = unnoted
      unnoted = []
      if (effects.length === 0 && !read) return
      await journal.note(effects, read).catch((error) => {
        unnoted = [...effects, ...unnoted]
        throw error
      })
    })
    flushing = done.catch(() => {})
    return done
  }

  return {
    remember: (effect: Effect) => {
      highestSlot = Math.max(highestSlot, effect.slot)
      if (!isToWatched(effect)) return
      setNewest(kept, effect.signature, { effect, at: clock.monotonic() }, mostKept)
      if (!isNews(effect)) return
      markRead(effect.signature, effect.slot)
      meter?.count('paystile_payments_seen_total', { by: isHeard(effect.signature) ? 'socket' : 'poll' })
      unnoted = [...unnoted, effect]
      timer ??= setTimeout(() => void flush().catch(() => {}), flushMs)
      timer.unref?.()
    },
    /** Whether a payment to a watched address is read for the first time. */
    isNews,
    /** Also for a transaction that only mentions the address. */
    markRead,
    /** The slot of a transaction that was read. */
    readSlot: (signature: string) => slots.get(signature),
    seen: (signature: string) => {
      const found = kept.get(signature)
      return found && clock.monotonic() - found.at < rememberedMs ? found.effect : undefined
    },
    highestSlot: () => highestSlot,
    /** Records the payments that were read. After a failure it is repeated, and the mark stays before them. */
    flush,
  }
}

export type WatchedPayments = ReturnType<typeof createWatchedPayments>
