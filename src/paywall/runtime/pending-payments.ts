/** Payments with a genuine proof that cannot be verified yet. They are written to the payment list once a second. */
import type { Journal, Sighting } from '../../core/ports/journal.ts'
import type { Log } from '../../core/runtime.ts'

const pendingEveryMs = 1_000
const mostPending = 256

export function createPendingPayments(
  journal: Pick<Journal, 'sight'>,
  log: Log,
  onWritten: (tx: Uint8Array) => void = () => {},
) {
  let waiting = new Map<string, Sighting>()
  let timer: ReturnType<typeof setTimeout> | undefined
  const write = async (): Promise<void> => {
    const sightings = [...waiting.values()]
    waiting = new Map()
    timer = undefined
    try {
      if (sightings.length > 0) await journal.sight(sightings)
      for (const { tx } of sightings) onWritten(tx)
    } catch (error) {
      log.warn('pending.write_failed', { why: error instanceof Error ? error.message : String(error) })
    }
  }
  return {
    note: (sighting: Sighting) => {
      if (waiting.size >= mostPending) return
      waiting.set(String(sighting.tx), sighting)
      timer ??= setTimeout(() => void write(), pendingEveryMs)
      timer.unref?.()
    },
    stop: async () => {
      clearTimeout(timer)
      await write()
    },
  }
}

export type PendingPayments = ReturnType<typeof createPendingPayments>
