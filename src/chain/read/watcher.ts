/**
 * Reads payments to watched addresses as they land, before their proofs, and also those that never get a proof.
 *
 * A WebSocket reports them at once. The periodic lists of the nodes are authoritative, because a socket can fall
 * silent. The journal stores how far the lists were read, so that no payment is missed while no server runs. The report
 * of a single node only selects the transactions to read. Every payment is then verified by the quorum.
 */
import { decodeSignature } from '../../core/encoding/base58.ts'
import type { Meter } from '../../core/observability/metrics.ts'
import type { Effect } from '../../core/payment/verify.ts'
import type { Reading } from '../../core/ports/chain.ts'
import type { WatchPeers } from '../../core/ports/processes.ts'
import type { Clock, ConnectSocket, Log } from '../../core/runtime.ts'
import { createSubscription } from '../rpc/subscription.ts'
import { catchUp } from './catch-up.ts'
import type { NodeReader } from './node-reader.ts'
import { createWatchedPayments, type WatchedAddress, type WatchJournal } from './watched-payments.ts'

/** The watcher's dependencies. */
export interface Watch {
  readonly connect: ConnectSocket
  /** The WebSocket addresses of each node, the most likely one first. */
  readonly socketUrls: readonly (readonly string[])[]
  readonly journal: WatchJournal
  /** Set if another process may watch instead of this one. */
  readonly peers?: WatchPeers | undefined
}

export interface WatcherParts extends Watch {
  readonly nodeReaders: readonly NodeReader[]
  readonly read: (signature: string) => Promise<Reading>
  readonly clock: Clock
  readonly log: Log
  readonly meter?: Meter
  /** Called for each payment to a watched address, when it is read for the first time. */
  readonly onNew?: (effect: Effect) => void
}

const pollMs = 2_000
/** While the socket reports everything, lists are only read as a check and to move the mark. */
const quietPollMs = 20_000
/** The maximum number of reported transactions that wait to be read. The lists contain the rest. */
const mostHeard = 5_000
const mostHeardAtOnce = 32

export function createWatcher(parts: WatcherParts) {
  const { clock, log, meter, journal } = parts
  const addresses = new Map<string, WatchedAddress>()
  /** Transactions that the socket reported and that are being read. */
  const heard = new Set<string>()
  const queue: string[] = []
  let readers = 0
  let polling: Promise<void> = Promise.resolve()
  let isPollDue = false
  let timer: ReturnType<typeof setTimeout> | undefined
  let closed = false
  const isHeard = (signature: string) => heard.has(signature)
  const payments = createWatchedPayments({ addresses, journal, clock, ...(meter && { meter }), isHeard })
  const isRead = (signature: string) => payments.readSlot(signature) !== undefined
  const subscription = createSubscription({ ...parts, heard: hear, subscribed: poll })

  /** A transaction that touches two watched accounts is reported twice. */
  function hear(signature: string): void {
    if (isRead(signature) || isHeard(signature) || heard.size >= mostHeard) return
    if (decodeSignature(signature) === undefined) return
    heard.add(signature)
    queue.push(signature)
    if (readers < mostHeardAtOnce) void readQueue()
  }

  async function readQueue(): Promise<void> {
    readers += 1
    for (let signature = queue.shift(); signature !== undefined && !closed; signature = queue.shift()) {
      if (!isRead(signature)) await parts.read(signature)
      heard.delete(signature)
    }
    readers -= 1
  }

  /** Runs one poll at a time. All requests that arrive meanwhile share the next one. */
  function poll(): void {
    if (isPollDue) return
    isPollDue = true
    polling = polling.then(() => {
      isPollDue = false
      return pollOnce()
    })
  }

  async function pollOnce(): Promise<void> {
    clearTimeout(timer)
    if (closed) return
    const before = subscription.connection()
    try {
      let isDone = true
      for (const watched of addresses.values())
        isDone = (await catchUp(watched, { ...parts, payments, isClosed: () => closed })) && isDone
      // Everything up to the start of this connection was read, and the connection reports the rest.
      if (isDone) subscription.caughtUp(before)
    } catch (error) {
      log.warn('watcher.failed', { why: error instanceof Error ? error.message : String(error) })
    }
    if (closed) return
    timer = setTimeout(poll, subscription.isCurrent() ? quietPollMs : pollMs)
    timer.unref?.()
  }

  return {
    watch: (address: string) => {
      if (addresses.has(address) || closed) return
      addresses.set(address, { address, mark: undefined, isHeldUp: false, misses: new Map() })
      subscription.subscribe(address)
      poll()
    },
    /** Whether a transaction that was not seen most likely does not exist. */
    isCurrent: () => addresses.size > 0 && subscription.isCurrent(),
    seen: payments.seen,
    /** Records a transaction that was read. If the socket has not reported it, the socket has failed. */
    found: (effect: Effect, wasHeard: boolean) => {
      const isNews = payments.isNews(effect)
      payments.remember(effect)
      if (isNews) parts.onNew?.(effect)
      if (!isNews || wasHeard || !subscription.isCurrent()) return
      meter?.count('paystile_payments_missed_total')
      log.warn('watcher.missed', { why: 'the WebSocket did not report a payment; reconnecting' })
      subscription.restart()
    },
    close: async () => {
      closed = true
      clearTimeout(timer)
      subscription.close()
      await polling
      await payments.flush().catch(() => {})
    },
  }
}

export type Watcher = ReturnType<typeof createWatcher>
