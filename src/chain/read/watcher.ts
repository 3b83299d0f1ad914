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
import type { Mark } from '../../core/ports/journal.ts'
import type { Clock, ConnectSocket, Log } from '../../core/runtime.ts'
import { createSubscription } from '../rpc/subscription.ts'
import { type Listed, listPayments, readFinalizedSlot } from './address-signatures.ts'
import type { NodeReader } from './node-reader.ts'

/** What the watcher needs from outside the chain. */
export interface Watch {
  readonly connect: ConnectSocket
  /** Where each node listens for WebSockets, the likeliest address first. */
  readonly socketUrls: readonly (readonly string[])[]
  readonly journal: WatchJournal
}

export interface WatchJournal {
  mark(address: string): Promise<Mark | undefined>
  /** Notes payments, and how far an address was read, in one step. */
  note(effects: readonly Effect[], read?: { readonly address: string; readonly mark: Mark }): Promise<void>
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

interface Place {
  readonly address: string
  /** Up to where everything was read; undefined until the journal was asked. */
  mark: Mark | undefined
  /** Whether something earlier in the list was not found, so that the mark must not move. */
  isHeldUp: boolean
  /** How often a listed payment could not be found. */
  readonly misses: Map<string, number>
}

const pollMs = 2_000
/** While the socket tells of everything, lists are read only to be sure, and to move the mark. */
const quietPollMs = 20_000
const flushMs = 250
/** After that, a fork that was dropped would be known: what is asked for later is read again. */
const keepMs = 60_000
const mostKept = 5_000
const mostRead = 50_000
const mostAtOnce = 8
const mostPerPiece = 1_000
/** So many of what the socket tells wait to be read; the rest is found in the lists. */
const mostHeard = 5_000
const mostHeardAtOnce = 32
/** A payment that one node lists and the others never heard of holds up the mark this often. */
const mostMisses = 5

export function createWatcher(parts: WatcherParts): Watcher {
  const { nodeReaders, clock, log, meter, journal } = parts
  const places = new Map<string, Place>()
  const kept = new Map<string, { readonly effect: Effect; readonly at: number }>()
  /** Signatures that were read, with their slots. */
  const read = new Map<string, number>()
  /** Those that the socket told of and that are being read. */
  const reading = new Set<string>()
  const queue: string[] = []
  let readers = 0
  let unnoted: readonly Effect[] = []
  let flushing: Promise<void> = Promise.resolve()
  let highestSlot = 0
  let polling: Promise<void> = Promise.resolve()
  let isPollDue = false
  let timer: ReturnType<typeof setTimeout> | undefined
  let flushTimer: ReturnType<typeof setTimeout> | undefined
  let closed = false
  const listener = createSubscription({ ...parts, heard, subscribed: poll })

  function remember(effect: Effect): void {
    highestSlot = Math.max(highestSlot, effect.slot)
    if (!paysWatched(effect)) return
    keep(kept, effect.signature, { effect, at: clock.monotonic() }, mostKept)
    // What lies behind the mark was noted when it was new.
    if (read.has(effect.signature) || isBehindMark(effect)) return
    keep(read, effect.signature, effect.slot, mostRead)
    meter?.count('paystile_payments_seen_total', { by: reading.has(effect.signature) ? 'socket' : 'poll' })
    unnoted = [...unnoted, effect]
    flushTimer ??= setTimeout(() => void flush().catch(() => {}), flushMs)
    flushTimer.unref?.()
  }

  function paysWatched({ transfers }: Effect): boolean {
    return transfers.some(({ destination }) => places.has(destination))
  }

  function isBehindMark({ transfers, slot }: Effect): boolean {
    return transfers.some(({ destination }) => slot < (places.get(destination)?.mark?.slot ?? 0))
  }

  /** A transaction that touches two watched accounts is told of twice. */
  function heard(signature: string): void {
    if (read.has(signature) || reading.has(signature) || reading.size >= mostHeard) return
    if (decodeSignature(signature) === undefined) return
    reading.add(signature)
    queue.push(signature)
    if (readers < mostHeardAtOnce) void readQueue()
  }

  async function readQueue(): Promise<void> {
    readers += 1
    for (let signature = queue.shift(); signature !== undefined && !closed; signature = queue.shift()) {
      if (!read.has(signature)) await parts.read(signature)
      reading.delete(signature)
    }
    readers -= 1
  }

  /** Writes down what was read, one batch after another. Should it fail, it is tried again, and the mark stands before it. */
  function flush(upTo?: Parameters<WatchJournal['note']>[1]): Promise<void> {
    const done = flushing.then(async () => {
      clearTimeout(flushTimer)
      flushTimer = undefined
      const effects = unnoted
      unnoted = []
      if (effects.length === 0 && !upTo) return
      await journal.note(effects, upTo).catch((error) => {
        unnoted = [...effects, ...unnoted]
        throw error
      })
    })
    flushing = done.catch(() => {})
    return done
  }

  /** Reads what is new. False when no node lists it. */
  async function catchUp(place: Place): Promise<boolean> {
    place.mark ??= (await journal.mark(place.address)) ?? (await begin(place))
    if (!place.mark) return false
    place.isHeldUp = false
    const listed = await listPayments(nodeReaders, place.address, place.mark, highestSlot)
    if (!listed) return false
    // Piece by piece, so that a long list is not begun anew when something breaks.
    for (let start = 0; start < listed.length; start += mostPerPiece) {
      if (!(await readPiece(place, listed.slice(start, start + mostPerPiece)))) return false
    }
    return true
  }

  async function readPiece(place: Place, listed: readonly Listed[]): Promise<boolean> {
    const unread = listed.filter(({ signature }) => !read.has(signature))
    for (let start = 0; start < unread.length; start += mostAtOnce) {
      await Promise.all(unread.slice(start, start + mostAtOnce).map(({ signature }) => study(place, signature)))
      if (closed) return false
    }
    const unresolved = listed.findIndex(({ signature }) => !read.has(signature) && isWorthWaiting(place, signature))
    const done = unresolved < 0 ? listed : listed.slice(0, unresolved)
    const last = done.findLast(({ signature, isFinal }) => isFinal && read.has(signature))
    const slot = last && read.get(last.signature)
    if (!last || slot === undefined || place.isHeldUp) {
      place.isHeldUp ||= unresolved >= 0
      await flush()
      return true
    }
    place.isHeldUp = unresolved >= 0
    const mark = { signature: last.signature, slot }
    await flush({ address: place.address, mark })
    place.mark = mark
    for (const { signature } of done) place.misses.delete(signature)
    return true
  }

  async function study(place: Place, signature: string): Promise<void> {
    // The socket may have been quicker.
    if (read.has(signature)) return
    const finding = await parts.read(signature)
    if (finding.kind !== 'found') return void place.misses.set(signature, 1 + (place.misses.get(signature) ?? 0))
    // A transaction that only mentions the address is done with as well.
    keep(read, signature, finding.effect.slot, mostRead)
  }

  function isWorthWaiting({ misses }: Place, signature: string): boolean {
    return (misses.get(signature) ?? 0) < mostMisses
  }

  /** An address that was never watched: what came before is not ours to tell. */
  async function begin({ address }: Place): Promise<Mark | undefined> {
    const slot = await readFinalizedSlot(nodeReaders)
    if (slot === undefined) return undefined
    const mark = { signature: '', slot }
    await journal.note([], { address, mark })
    return mark
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
    const before = listener.connection()
    try {
      let isDone = true
      for (const place of places.values()) isDone = (await catchUp(place)) && isDone
      // Everything up to the beginning of this connection was read, and the connection tells the rest.
      if (isDone) listener.caughtUp(before)
    } catch (error) {
      log.warn('watcher.failed', { why: error instanceof Error ? error.message : String(error) })
    }
    if (closed) return
    timer = setTimeout(poll, listener.isCurrent() ? quietPollMs : pollMs)
    timer.unref?.()
  }

  return {
    watch: (address) => {
      if (places.has(address) || closed) return
      places.set(address, { address, mark: undefined, isHeldUp: false, misses: new Map() })
      listener.subscribe(address)
      poll()
    },
    isCurrent: () => places.size > 0 && listener.isCurrent(),
    seen: (signature) => {
      const found = kept.get(signature)
      return found && clock.monotonic() - found.at < keepMs ? found.effect : undefined
    },
    found: (effect, wasHeard) => {
      const isNews = !read.has(effect.signature) && paysWatched(effect) && !isBehindMark(effect)
      remember(effect)
      if (!isNews || wasHeard || !listener.isCurrent()) return
      meter?.count('paystile_payments_missed_total')
      log.warn('watcher.missed', { why: 'the WebSocket did not tell of a payment; connecting anew' })
      listener.restart()
    },
    close: async () => {
      closed = true
      clearTimeout(timer)
      listener.close()
      await polling
      await flush().catch(() => {})
    },
  }
}

/** Adds to a map that holds so many and no more. The oldest go first. */
export function keep<Value>(map: Map<string, Value>, key: string, value: Value, most: number): void {
  map.delete(key)
  map.set(key, value)
  for (const oldest of map.keys()) {
    if (map.size <= most) return
    map.delete(oldest)
  }
}
