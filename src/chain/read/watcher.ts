/**
 * Reads payments to watched addresses as they land, ahead of their proofs, and those that never bring one.
 *
 * A WebSocket tells of them at once; lists read from the nodes now and then are the truth, because a socket may fall
 * silent. How far the lists were read is kept in the journal, so that nothing is missed while no server runs. What a
 * single node tells here only decides what is read: every payment is then read as any other, from as many nodes as
 * must agree.
 */
import { decodeSignature } from '../../core/encoding/base58.ts'
import type { Meter } from '../../core/encoding/metrics.ts'
import type { Effect } from '../../core/payment/verify.ts'
import type { Reading } from '../../core/ports/chain.ts'
import type { Clock, ConnectSocket, Log } from '../../core/runtime.ts'
import { createSubscription } from '../rpc/subscription.ts'
import { catchUp } from './catch-up.ts'
import type { NodeReader } from './node-reader.ts'
import { createWatchedPayments, type WatchedAddress, type WatchJournal } from './watched-payments.ts'

/** What the watcher needs from outside the chain. */
export interface Watch {
  readonly connect: ConnectSocket
  /** Where each node listens for WebSockets, the likeliest address first. */
  readonly socketUrls: readonly (readonly string[])[]
  readonly journal: WatchJournal
}

export interface WatcherParts extends Watch {
  readonly nodeReaders: readonly NodeReader[]
  readonly read: (signature: string) => Promise<Reading>
  readonly clock: Clock
  readonly log: Log
  readonly meter?: Meter
}

export interface Watcher {
  watch(address: string): void
  /** Whether what was not seen most likely is not there. */
  isCurrent(): boolean
  seen(signature: string): Effect | undefined
  /** Takes note of a transaction that was read. Unless it was heard of before, the socket has failed to tell. */
  found(effect: Effect, wasHeard: boolean): void
  close(): Promise<void>
}

const pollMs = 2_000
/** While the socket tells of everything, lists are read only to be sure, and to move the mark. */
const quietPollMs = 20_000
/** So many transactions that the socket told of wait to be read; the rest is found in the lists. */
const mostHeard = 5_000
const mostHeardAtOnce = 32

export function createWatcher(parts: WatcherParts): Watcher {
  const { clock, log, meter, journal } = parts
  const addresses = new Map<string, WatchedAddress>()
  /** Transactions that the socket told of and that are being read. */
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

  /** A transaction that touches two watched accounts is told of twice. */
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

  /** One at a time; one for all that asked meanwhile follows. */
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
      for (const watched of addresses.values()) {
        isDone = (await catchUp(watched, { ...parts, payments, isClosed: () => closed })) && isDone
      }
      // Everything up to the beginning of this connection was read, and the connection tells the rest.
      if (isDone) subscription.caughtUp(before)
    } catch (error) {
      log.warn('watcher.failed', { why: error instanceof Error ? error.message : String(error) })
    }
    if (closed) return
    timer = setTimeout(poll, subscription.isCurrent() ? quietPollMs : pollMs)
    timer.unref?.()
  }

  return {
    watch: (address) => {
      if (addresses.has(address) || closed) return
      addresses.set(address, { address, mark: undefined, isHeldUp: false, misses: new Map() })
      subscription.subscribe(address)
      poll()
    },
    isCurrent: () => addresses.size > 0 && subscription.isCurrent(),
    seen: payments.seen,
    found: (effect, wasHeard) => {
      const isNews = payments.isNews(effect)
      payments.remember(effect)
      if (!isNews || wasHeard || !subscription.isCurrent()) return
      meter?.count('paystile_payments_missed_total')
      log.warn('watcher.missed', { why: 'the WebSocket did not tell of a payment; connecting anew' })
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
