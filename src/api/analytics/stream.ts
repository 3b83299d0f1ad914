/**
 * `GET /analytics/stream`: payments as they happen, as server-sent events. A record comes again whenever something about
 * it has changed; its `id` says which it is. The same records as in the list, so no transaction is named.
 */
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
  /** How often a silent stream shows that it lives, and that its reader may still read. Default 15 s. */
  readonly beatMs?: number
  /** How often the list is looked at for what other servers did. Default 2 s. */
  readonly lookMs?: number
}

export interface PaymentStream {
  /** `isAllowed` is asked again with every beat: a session ends. */
  open(request: Request, isAllowed: () => Promise<boolean>): Response
  close(): void
}

const mostSubscribers = 2_000
/** Payments whose change waits to be told. When more happen at once, the stream says that it left some out. */
const mostWaiting = 500
/**
 * So many events a reader may be behind. All of them wait for the same bytes, so that what waits takes no more room for
 * a thousand readers than for one.
 */
const mostBehind = 1_000
/** Changes that come together are looked up together. */
const gatherMs = 50
const lookedUpAtOnce = 50
/** The latest payments, which are looked at for changes that happened elsewhere. */
const mostLooked = 100
/** Records that are remembered as they were told. */
const mostTold = 2_000
/** A payment may be registered a while after its block; who comes back is told again what happened so long before. */
const overlapMs = 60_000
const mostResumed = 500
/** Who comes back at the same moment after the same event, as all do when a server was restarted, shares one look. */
const resumedMs = 1_000

interface Subscriber {
  send(bytes: Uint8Array): void
  end(): void
}

const encoder = new TextEncoder()
const [greeting, beating] = [': payments as they happen', ': beat'].map((line, index) =>
  encoder.encode(`${index === 0 ? 'retry: 2000\n' : ''}${line}\n\n`),
) as [Uint8Array, Uint8Array]

export function createStream(parts: StreamParts): PaymentStream {
  const { books, changes, log, beatMs = 15_000, lookMs = 2_000 } = parts
  const told = new Map<string, { readonly text: string; readonly isTold: boolean }>()
  /** The first look only finds out what there is. */
  let hasLooked = false
  const subscribers = new Set<Subscriber>()
  const waiting = new Set<string>()
  let timer: ReturnType<typeof setTimeout> | undefined
  let deafen: (() => void) | undefined
  let isShort = false
  let isClosed = false
  let looking: ReturnType<typeof setInterval> | undefined

  const resumes = new Map<string, Promise<readonly Uint8Array[]>>()

  /** Written out once for all. Nobody waits for anybody: who is behind has it waiting, and is let go when that is too much. */
  const broadcast = (bytes: Uint8Array): void => {
    for (const subscriber of [...subscribers]) subscriber.send(bytes)
  }
  /** What was told already is not told again. What was only found in the list may be news to those who just came. */
  const newsOf = (record: { readonly id: string }, from: 'list' | 'change'): Uint8Array | undefined => {
    const text = JSON.stringify(record)
    const known = told.get(record.id)
    if (known?.text === text && (known.isTold || from === 'list')) return undefined
    told.delete(record.id)
    told.set(record.id, { text, isTold: hasLooked || from === 'change' })
    for (const oldest of told.keys()) {
      if (told.size <= mostTold) break
      told.delete(oldest)
    }
    return eventOf(record.id, text)
  }
  /** Other servers change payments, too. */
  const look = async (): Promise<void> => {
    const revenueToken = await readRevenueToken(books)
    const captures = await books.listPayments({ order: 'latest', most: mostLooked })
    const records = await formatFeedRecords(parts, captures, revenueToken)
    const news = records.flatMap((record) => newsOf(record, 'list') ?? [])
    if (!hasLooked) {
      hasLooked = true
      return
    }
    if (news.length === mostLooked) broadcast(skipped)
    for (const event of news.reverse()) broadcast(event)
  }
  const complain = (error: unknown) => log.warn('stream fell behind', { why: String(error) })
  const flush = async (): Promise<void> => {
    const changed = [...waiting]
    waiting.clear()
    if (isShort) broadcast(skipped)
    isShort = false
    const revenueToken = await readRevenueToken(books)
    for (let first = 0; first < changed.length; first += lookedUpAtOnce) {
      const keys = changed.slice(first, first + lookedUpAtOnce).flatMap((tx) => decodeSignature(tx) ?? [])
      const captures = (await Promise.all(keys.map((tx) => books.findPayment(tx)))).flatMap((capture) => capture ?? [])
      for (const record of await formatFeedRecords(parts, captures, revenueToken)) {
        const event = newsOf(record, 'change')
        if (event) broadcast(event)
      }
    }
  }
  const note = (tx: string): void => {
    if (!waiting.has(tx) && waiting.size >= mostWaiting) isShort = true
    else waiting.add(tx)
    if (timer) return
    timer = setTimeout(() => {
      flush()
        .catch(complain)
        .finally(() => {
          timer = undefined
          if (waiting.size > 0) note([...waiting][0] ?? '')
        })
    }, gatherMs)
    timer.unref?.()
  }
  const join = (subscriber: Subscriber): void => {
    subscribers.add(subscriber)
    if (deafen) return
    deafen = changes.listen(note)
    look().catch(complain)
    looking = setInterval(() => void look().catch(complain), lookMs)
    looking.unref?.()
  }
  const leave = (subscriber: Subscriber): void => {
    subscribers.delete(subscriber)
    if (subscribers.size > 0) return
    clearInterval(looking)
    hasLooked = false
    deafen?.()
    deafen = undefined
  }

  /** What happened since somebody was here last. */
  const lookBack = async (since: PaymentListMark): Promise<readonly Uint8Array[]> => {
    const revenueToken = await readRevenueToken(books)
    const from = since.at - overlapMs
    const captures = await books.listPayments({ from, order: 'oldest', most: mostResumed + 1 })
    // So many at once would put a reader behind at the start: the list has them.
    if (captures.length > mostResumed) return [skipped]
    const records = await formatFeedRecords(parts, captures, revenueToken)
    return records.map((record) => eventOf(record.id, JSON.stringify(record)))
  }
  const resume = async (since: PaymentListMark, subscriber: Subscriber): Promise<void> => {
    const name = parts.cursors.write(since)
    const looking = resumes.get(name) ?? lookBack(since)
    if (!resumes.has(name)) {
      resumes.set(name, looking)
      setTimeout(() => resumes.delete(name), resumedMs).unref?.()
    }
    for (const event of await looking) subscriber.send(event)
  }

  return {
    open: (request, isAllowed) => {
      if (isClosed) return problem('shutting_down')
      if (subscribers.size >= mostSubscribers) return problem('stream_full')
      const since = parts.cursors.read(request.headers.get('last-event-id') ?? '')
      let beat: ReturnType<typeof setInterval> | undefined
      let subscriber: Subscriber | undefined
      const end = (): void => {
        clearInterval(beat)
        if (subscriber) leave(subscriber)
      }
      const body = new ReadableStream<Uint8Array>(
        {
          start: (controller) => {
            const own: Subscriber = {
              send: (bytes) => {
                if (!subscribers.has(own)) return
                controller.enqueue(bytes)
                // Who does not read is let go, and comes back with the last it has.
                if ((controller.desiredSize ?? 0) < -mostBehind) own.end()
              },
              end: () => {
                if (!subscribers.has(own)) return
                end()
                controller.close()
              },
            }
            subscriber = own
            join(own)
            own.send(greeting)
            beat = setInterval(() => {
              own.send(beating)
              isAllowed().then(
                (may) => may || own.end(),
                () => {},
              )
            }, beatMs)
            beat.unref?.()
            if (since) resume(since, own).catch(() => own.end())
          },
          cancel: end,
        },
        { highWaterMark: 0 },
      )
      return new Response(body, {
        // Buffers of proxies would hold events back.
        headers: { ...plainHeaders, 'Content-Type': 'text/event-stream; charset=utf-8', 'X-Accel-Buffering': 'no' },
      })
    },
    close: () => {
      isClosed = true
      clearTimeout(timer)
      for (const subscriber of [...subscribers]) subscriber.end()
    },
  }
}

/** Some were left out; the list has them. */
const skipped = encoder.encode('event: skipped\ndata: {}\n\n')

function eventOf(id: string, record: string): Uint8Array {
  return encoder.encode(`event: payment\nid: ${id}\ndata: ${record}\n\n`)
}
