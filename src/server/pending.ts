/** Payments that genuine proofs name and nobody can verify yet, for the list that people look at. */
import type { RefusalCode } from '../core/errors.ts'
import type { TokenCode } from '../core/network.ts'
import type { Journal, Log, Sighting } from '../core/ports.ts'
import type { OpenedRequest } from '../core/request-id.ts'
import { endpointOf } from './endpoint.ts'
import { claimableUntil } from './quote.ts'
import type { Case } from './reading.ts'

/** What may still turn out to be paid. */
const unsettled: readonly RefusalCode[] = ['tx_not_found', 'tx_not_final', 'chain_unavailable', 'chain_disagreement']

/**
 * Has the list show a payment that a genuine proof names and nobody can verify yet. Written behind, and not at all while
 * many wait: it is for people who look, and the proof comes again.
 */
export function notePending(
  { service, route, incoming, proof }: Case,
  request: OpenedRequest,
  recipient: string,
  name: string,
  code: RefusalCode,
): void {
  if (!unsettled.includes(code)) return
  const { token: preferred } = route.config.pricing
  const [token = preferred, received = 0n] =
    Object.entries(request.amounts).find(([code]) => code === preferred) ?? Object.entries(request.amounts)[0] ?? []
  service.pending.note({
    tx: proof.txBytes,
    recipient,
    request: name,
    payer: '',
    token: token as TokenCode,
    received,
    slot: 0,
    paidAt: Math.floor(service.clock.now()),
    endpoint: endpointOf(route.config.endpoint, incoming),
    claimableUntil: claimableUntil(request, route.config.proofTtlSeconds),
  })
}

export interface PendingBook {
  note(sighting: Sighting): void
  stop(): Promise<void>
}

const pendingEveryMs = 1_000
const mostPending = 256

export function createPendingBook(journal: Pick<Journal, 'sight'> | undefined, log: Log): PendingBook {
  let waiting = new Map<string, Sighting>()
  let timer: ReturnType<typeof setTimeout> | undefined
  const write = async (): Promise<void> => {
    const sightings = [...waiting.values()]
    waiting = new Map()
    timer = undefined
    try {
      if (sightings.length > 0) await journal?.sight(sightings)
    } catch (error) {
      log.warn('pending payments not written', { why: error instanceof Error ? error.message : String(error) })
    }
  }
  return {
    note: (sighting) => {
      if (!journal || waiting.size >= mostPending) return
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
