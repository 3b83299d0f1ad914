/**
 * A watcher that one of several processes runs for all. The leading process watches and publishes every payment that it
 * reads. The others keep these payments, and watch themselves as soon as they lead.
 */
import type { Effect } from '../../core/payment/verify.ts'
import type { WatchNotice, WatchPeers } from '../../core/ports/processes.ts'
import { createWatchedPayments, type WatchedAddress } from './watched-payments.ts'
import { createWatcher, type Watcher, type WatcherParts } from './watcher.ts'

/** The parts of a watcher that do not depend on the process that watches. */
export type WatcherView = Pick<Watcher, 'watch' | 'isCurrent' | 'seen' | 'found' | 'close'>

export interface SharedWatcherParts extends WatcherParts {
  readonly peers: WatchPeers
  /** Called for a payment that another process has read. */
  readonly onSeen: (effect: Effect) => void
}

const beatMs = 1_000
/** A leading process that is silent for this long has ended, or hangs. */
const silenceMs = 3_000

export function createSharedWatcher(parts: SharedWatcherParts): WatcherView {
  const { peers, clock, onSeen } = parts
  const addresses = new Map<string, WatchedAddress>()
  // The leading process writes the journal and counts the payments.
  const journal = { mark: async () => undefined, note: async () => {} }
  const payments = createWatchedPayments({ addresses, journal, clock, isHeard: () => false })
  let own: Watcher | undefined
  let currentUntil = 0
  let beat: ReturnType<typeof setInterval> | undefined

  const take = (notice: WatchNotice): void => {
    if (own) return
    if (notice.kind === 'current') currentUntil = notice.isCurrent ? clock.monotonic() + silenceMs : 0
    else {
      payments.remember(notice.effect)
      onSeen(notice.effect)
    }
  }
  const lead = (): void => {
    const watcher = createWatcher({ ...parts, onNew: (effect) => peers.publish({ kind: 'seen', effect }) })
    own = watcher
    for (const address of addresses.keys()) watcher.watch(address)
    const tell = (): void => peers.publish({ kind: 'current', isCurrent: watcher.isCurrent() })
    beat = setInterval(tell, beatMs)
    beat.unref?.()
  }
  const ends = [peers.subscribe(take), peers.onceLeading(lead)]
  return {
    watch: (address) => {
      addresses.set(address, { address, mark: undefined, isHeldUp: false, misses: new Map() })
      own?.watch(address)
    },
    isCurrent: () => (own ? own.isCurrent() : clock.monotonic() < currentUntil),
    seen: (signature) => own?.seen(signature) ?? payments.seen(signature),
    found: (effect, wasHeard) => (own ? own.found(effect, wasHeard) : payments.remember(effect)),
    close: async () => {
      for (const end of ends) end()
      clearInterval(beat)
      await own?.close()
      await payments.flush()
    },
  }
}
