/**
 * `GET /analytics/stream`: payments as server-sent events. A record is sent again after each change; its `id`
 * identifies it. The records are those of the list, so they contain no transactions.
 */

import { setNewest } from '../../core/collections/bounded-map.ts'
import { decodeSignature } from '../../core/encoding/base58.ts'
import type { PaymentListMark } from '../../core/ports/reports.ts'
import type { Log } from '../../core/runtime.ts'
import type { Changes } from '../../paywall/runtime/changes.ts'
import { plainHeaders, problem } from '../http/errors.ts'
import { readRevenueToken } from './format.ts'
import { formatFeedRecords } from './records.ts'
import type { BooksParts } from './reports.ts'

export interface StreamParts extends Pick<BooksParts, 'books' | 'cursors' | 'decimalsOf' | 'outgoing'> {
  readonly changes: Changes
  readonly log: Log
  /**
   * Interval of the heartbeat, which keeps a silent stream open and checks that its reader is still authorized. Default
   * 15 s.
   */
  readonly beatMs?: number
  /** Interval between reads of the list, which show changes by other servers. Default 2 s. */
  readonly lookMs?: number
}

const mostSubscribers = 2_000
/** Limit of changed payments that wait to be sent. Beyond it, the stream reports that it skipped some. */
const mostWaiting = 500
/**
 * Limit of events by which a reader may lag. All readers queue the same bytes, so a thousand slow readers need no more
 * memory than one.
 */
const mostBehind = 1_000
/** Changes within this time are looked up together. */
const gatherMs = 50
const lookedUpAtOnce = 50
/** Number of latest payments that are checked for changes by other servers. */
const mostLooked = 100
/** Number of sent records that are remembered. */
const mostTold = 2_000
/** A payment can be registered some time after its block, so a reader that resumes gets this much again. */
const overlapMs = 60_000
const mostResumed = 500
/** Readers that resume from the same event at the same time, as after a server restart, share one query. */
const resumedMs = 1_000

interface Subscriber {
  send(bytes: Uint8Array): void
  end(): void
}

const encoder = new TextEncoder()
const [greeting, beating] = [': payments as they happen', ': beat'].map((line, index) =>
  encoder.encode(`${index === 0 ? 'retry: 2000\n' : ''}${line}\n\n`),
) as [Uint8Array, Uint8Array]

interface State extends StreamParts {
  readonly subscribers: Set<Subscriber>
  /** Records as they were sent, by id. */
  readonly told: Map<string, { readonly text: string; readonly isTold: boolean }>
  /** Changed transactions that were not sent yet. */
  readonly waiting: Set<string>
  /** Running queries of resumed readers, by their cursor. */
  readonly resumes: Map<string, Promise<readonly Uint8Array[]>>
  /** The first read of the list only collects the existing records. */
  hasLooked: boolean
  isShort: boolean
  isClosed: boolean
  timer: ReturnType<typeof setTimeout> | undefined
  looking: ReturnType<typeof setInterval> | undefined
  stopListening: (() => void) | undefined
}

export function createStream(parts: StreamParts) {
  const state: State = {
    ...parts,
    subscribers: new Set(),
    told: new Map(),
    waiting: new Set(),
    resumes: new Map(),
    hasLooked: false,
    isShort: false,
    isClosed: false,
    timer: undefined,
    looking: undefined,
    stopListening: undefined,
  }
  return {
    /** `isAllowed` is called with every heartbeat, because sessions end. */
    open: (request: Request, isAllowed: () => Promise<boolean>) => {
      if (state.isClosed) return problem('shutting_down')
      if (state.subscribers.size >= mostSubscribers) return problem('stream_full')
      const since = parts.cursors.read(request.headers.get('last-event-id') ?? '')
      return new Response(openBody(state, since, isAllowed), {
        // Keeps proxies from buffering events.
        headers: { ...plainHeaders, 'Content-Type': 'text/event-stream; charset=utf-8', 'X-Accel-Buffering': 'no' },
      })
    },
    close: () => {
      state.isClosed = true
      clearTimeout(state.timer)
      for (const subscriber of [...state.subscribers]) subscriber.end()
    },
  }
}

export type PaymentStream = ReturnType<typeof createStream>

function openBody(state: State, since: PaymentListMark | undefined, isAllowed: () => Promise<boolean>) {
  let beat: ReturnType<typeof setInterval> | undefined
  let subscriber: Subscriber | undefined
  const end = (): void => {
    clearInterval(beat)
    if (subscriber) leave(state, subscriber)
  }
  const start = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
    const own: Subscriber = {
      send: (bytes) => {
        if (!state.subscribers.has(own)) return
        controller.enqueue(bytes)
        // A reader that does not read is disconnected. It resumes from its last event.
        if ((controller.desiredSize ?? 0) < -mostBehind) own.end()
      },
      end: () => {
        if (!state.subscribers.has(own)) return
        end()
        controller.close()
      },
    }
    subscriber = own
    join(state, own)
    own.send(greeting)
    beat = setInterval(() => {
      own.send(beating)
      isAllowed().then(
        (may) => may || own.end(),
        () => {},
      )
    }, state.beatMs ?? 15_000)
    beat.unref?.()
    if (since) resume(state, since, own).catch(() => own.end())
  }
  return new ReadableStream<Uint8Array>({ start, cancel: end }, { highWaterMark: 0 })
}

function join(state: State, subscriber: Subscriber): void {
  state.subscribers.add(subscriber)
  if (state.stopListening) return
  const lookAgain = () => void look(state).catch((error) => warn(state, error))
  state.stopListening = state.changes.listen((tx) => note(state, tx))
  lookAgain()
  state.looking = setInterval(lookAgain, state.lookMs ?? 2_000)
  state.looking.unref?.()
}

function leave(state: State, subscriber: Subscriber): void {
  state.subscribers.delete(subscriber)
  if (state.subscribers.size > 0) return
  clearInterval(state.looking)
  state.hasLooked = false
  state.stopListening?.()
  state.stopListening = undefined
}

function warn({ log }: State, error: unknown): void {
  log.warn('stream.failed', { why: String(error) })
}

/**
 * Sends the same bytes to all readers. No reader waits for another: a slow reader queues events until it is
 * disconnected.
 */
function broadcast({ subscribers }: State, bytes: Uint8Array): void {
  for (const subscriber of [...subscribers]) subscriber.send(bytes)
}

/** Reads the list, because other servers change payments, too. */
async function look(state: State): Promise<void> {
  const { books } = state
  const revenueToken = await readRevenueToken(books)
  const payments = await books.listPayments({ order: 'latest', most: mostLooked })
  const records = await formatFeedRecords(state, payments, revenueToken)
  const news = records.flatMap((record) => createNews(state, record, 'list') ?? [])
  if (!state.hasLooked) {
    state.hasLooked = true
    return
  }
  if (news.length === mostLooked) broadcast(state, skipped)
  for (const event of news.reverse()) broadcast(state, event)
}

/**
 * Returns undefined for a record that was sent already. A record that was only found in the list can be new to readers
 * that just connected.
 */
function createNews(state: State, record: { readonly id: string }, from: 'list' | 'change'): Uint8Array | undefined {
  const text = JSON.stringify(record)
  const known = state.told.get(record.id)
  if (known?.text === text && (known.isTold || from === 'list')) return undefined
  setNewest(state.told, record.id, { text, isTold: state.hasLooked || from === 'change' }, mostTold)
  return formatEvent(record.id, text)
}

function note(state: State, tx: string): void {
  if (!state.waiting.has(tx) && state.waiting.size >= mostWaiting) state.isShort = true
  else state.waiting.add(tx)
  if (state.timer) return
  state.timer = setTimeout(() => {
    flush(state)
      .catch((error) => warn(state, error))
      .finally(() => {
        state.timer = undefined
        if (state.waiting.size > 0) note(state, [...state.waiting][0] ?? '')
      })
  }, gatherMs)
  state.timer.unref?.()
}

async function flush(state: State): Promise<void> {
  const { books, waiting } = state
  const changed = [...waiting]
  waiting.clear()
  if (state.isShort) broadcast(state, skipped)
  state.isShort = false
  const revenueToken = await readRevenueToken(books)
  for (let first = 0; first < changed.length; first += lookedUpAtOnce) {
    const keys = changed.slice(first, first + lookedUpAtOnce).flatMap((tx) => decodeSignature(tx) ?? [])
    const payments = (await Promise.all(keys.map((tx) => books.findPayment(tx)))).flatMap((payment) => payment ?? [])
    for (const record of await formatFeedRecords(state, payments, revenueToken)) {
      const event = createNews(state, record, 'change')
      if (event) broadcast(state, event)
    }
  }
}

/** Sends a resumed reader everything since its last event. */
async function resume(state: State, since: PaymentListMark, subscriber: Subscriber): Promise<void> {
  const { resumes } = state
  const name = state.cursors.write(since)
  const looking = resumes.get(name) ?? lookBack(state, since)
  if (!resumes.has(name)) {
    resumes.set(name, looking)
    setTimeout(() => resumes.delete(name), resumedMs).unref?.()
  }
  for (const event of await looking) subscriber.send(event)
}

async function lookBack(state: State, since: PaymentListMark): Promise<readonly Uint8Array[]> {
  const { books } = state
  const revenueToken = await readRevenueToken(books)
  const from = since.at - overlapMs
  const payments = await books.listPayments({ from, order: 'oldest', most: mostResumed + 1 })
  // So many events would put the reader behind at once. It finds them in the list.
  if (payments.length > mostResumed) return [skipped]
  const records = await formatFeedRecords(state, payments, revenueToken)
  return records.map((record) => formatEvent(record.id, JSON.stringify(record)))
}

/** Some events were skipped. The list has them. */
const skipped = encoder.encode('event: skipped\ndata: {}\n\n')

function formatEvent(id: string, record: string): Uint8Array {
  return encoder.encode(`event: payment\nid: ${id}\ndata: ${record}\n\n`)
}
