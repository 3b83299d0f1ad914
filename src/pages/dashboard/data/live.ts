/** Payments over server-sent events. The page has one connection, and reconnects after a failure. */
import { batch, effect, signal } from '@preact/signals'
import { monotonic } from '../../look/clock.ts'
import { isOverTable, news } from './answer.ts'
import type { FeedRecord } from './answers.ts'
import { ask } from './ask.ts'
import { noteAccess } from './session.ts'

export type Line = 'connecting' | 'live' | 'reconnecting'

export interface Row {
  readonly record: FeedRecord
  /** Time of arrival over the stream, since the page was requested; undefined for earlier records. */
  readonly arrivedAt: number | undefined
}

export const line = signal<Line>('connecting')
export const rows = signal<readonly Row[]>([])
export const isPaused = signal(false)
/** Records that arrived during a pause. */
export const held = signal<readonly FeedRecord[]>([])
/** Text for screen readers. */
export const spoken = signal('')

const mostRows = 60
const mostHeld = 500
/** Delay until sums are loaded again after a payment, and the minimum interval between two loads. */
const soonMs = 800
const restMs = 5_000
const longestWaitMs = 30_000

function merge(before: readonly Row[], records: readonly FeedRecord[], arrivedAt: number | undefined): readonly Row[] {
  const byId = new Map(before.map((row) => [row.record.id, row]))
  for (const record of records) {
    const known = byId.get(record.id)
    byId.set(record.id, { record, arrivedAt: known ? known.arrivedAt : arrivedAt })
  }
  // Block times are in seconds. Within one second, the latest arrival comes first.
  return [...byId.values()]
    .sort(
      (one, other) =>
        Date.parse(other.record.timestamp) - Date.parse(one.record.timestamp) ||
        (other.arrivedAt ?? 0) - (one.arrivedAt ?? 0),
    )
    .slice(0, mostRows)
}

/** The list of the service. A record in a later list that was missing in the first is as new as a streamed one. */
export function takeList(records: readonly FeedRecord[]): void {
  if (isHeld() && rows.value.length > 0) return
  rows.value = merge(rows.value, records, rows.value.length === 0 ? undefined : monotonic())
}

function isHeld(): boolean {
  return isPaused.peek() || isOverTable.peek()
}

function takeRecord(record: FeedRecord): void {
  if (isHeld()) {
    held.value = [...held.value.filter(({ id }) => id !== record.id), record].slice(-mostHeld)
    return
  }
  if (!rows.value.some((row) => row.record.id === record.id))
    spoken.value = `New payment: ${record.amount} ${record.token} for ${record.endpoint}`
  rows.value = merge(rows.value, [record], monotonic())
}

export function resume(): void {
  batch(() => {
    isPaused.value = false
    rows.value = merge(rows.value, held.value, monotonic())
    held.value = []
  })
  // More records may have arrived than were held.
  announce()
}

// No row moves under the pointer: new ones wait until it has left the table.
effect(() => {
  if (!isOverTable.value && held.peek().length > 0 && !isPaused.peek()) resume()
})

export function forgetRows(): void {
  batch(() => {
    rows.value = []
    held.value = []
    spoken.value = ''
  })
}

let isAnnounced = false
let lastNews = 0

function announce(): void {
  if (isAnnounced) return
  isAnnounced = true
  const tell = () => {
    // A hidden page waits until it is visible.
    if (document.hidden) return document.addEventListener('visibilitychange', tell, { once: true })
    isAnnounced = false
    lastNews = monotonic()
    news.value += 1
  }
  setTimeout(tell, Math.max(soonMs, lastNews + restMs - monotonic()))
}

/** Listens until the returned function is called. */
export function listen(): () => void {
  let source: EventSource | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  let waitMs = 1_000
  const open = (): void => {
    source = new EventSource('/analytics/stream')
    source.onopen = () => {
      // The list has the events that occurred during the interruption.
      if (line.value === 'reconnecting') announce()
      line.value = 'live'
      waitMs = 1_000
    }
    source.addEventListener('payment', ({ data }: MessageEvent<string>) => {
      takeRecord(JSON.parse(data) as FeedRecord)
      announce()
    })
    source.addEventListener('skipped', announce)
    source.onerror = () => {
      line.value = 'reconnecting'
      // The browser reconnects after an interruption, but not after an error response. Then the page asks for the
      // reason.
      if (source?.readyState !== EventSource.CLOSED) return
      timer = setTimeout(() => {
        ask('/api/analytics').then(noteAccess, () => {})
        open()
      }, waitMs)
      waitMs = Math.min(2 * waitMs, longestWaitMs)
    }
  }
  line.value = 'connecting'
  open()
  return () => {
    clearTimeout(timer)
    source?.close()
  }
}
