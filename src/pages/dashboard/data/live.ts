/** Payments as they happen, over server-sent events: connected once for the page, and again whenever it breaks. */
import { batch, signal } from '@preact/signals'
import { monotonic } from '../../look/clock.ts'
import { gaps, news } from './answer.ts'
import type { FeedRecord } from './answers.ts'
import { ask } from './ask.ts'
import { noteAccess } from './session.ts'

export type Line = 'connecting' | 'live' | 'reconnecting'

export interface Row {
  readonly record: FeedRecord
  /** When it came over the stream, since the page was asked for; undefined for what was there before. */
  readonly arrivedAt: number | undefined
}

export const line = signal<Line>('connecting')
export const rows = signal<readonly Row[]>([])
export const isPaused = signal(false)
/** What came during the pause. */
export const held = signal<readonly FeedRecord[]>([])
/** What is told to those who listen to the page instead of looking at it. */
export const spoken = signal('')

const mostRows = 60
const mostHeld = 500
/** So soon are sums asked for again when a payment came in, and so often at the most while more do. */
const soonMs = 800
const restMs = 5_000
const longestWaitMs = 30_000

function merge(before: readonly Row[], records: readonly FeedRecord[], arrivedAt: number | undefined): readonly Row[] {
  const byId = new Map(before.map((row) => [row.record.id, row]))
  for (const record of records) {
    const known = byId.get(record.id)
    byId.set(record.id, { record, arrivedAt: known ? known.arrivedAt : arrivedAt })
  }
  // A block's time is in seconds: of one second, what came last is above.
  return [...byId.values()]
    .sort(
      (one, other) =>
        other.record.timestamp.localeCompare(one.record.timestamp) || (other.arrivedAt ?? 0) - (one.arrivedAt ?? 0),
    )
    .slice(0, mostRows)
}

/** The list as the service has it. What is in a later one and was not in the first is as new as what is streamed. */
export function takeList(records: readonly FeedRecord[]): void {
  if (isPaused.value) return
  rows.value = merge(rows.value, records, rows.value.length === 0 ? undefined : monotonic())
}

function takeRecord(record: FeedRecord): void {
  if (isPaused.value) {
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
    // More may have come than was held.
    gaps.value += 1
  })
}

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
    // Nobody looks: it can wait until somebody does.
    if (document.hidden) return document.addEventListener('visibilitychange', tell, { once: true })
    isAnnounced = false
    lastNews = monotonic()
    news.value += 1
  }
  setTimeout(tell, Math.max(soonMs, lastNews + restMs - monotonic()))
}

function fillGap(): void {
  gaps.value += 1
  announce()
}

/** Listens until the returned function is called. */
export function listen(): () => void {
  let source: EventSource | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  let waitMs = 1_000
  const open = (): void => {
    source = new EventSource('/analytics/stream')
    source.onopen = () => {
      // What happened while nobody listened is in the list.
      if (line.value === 'reconnecting') fillGap()
      line.value = 'live'
      waitMs = 1_000
    }
    source.addEventListener('payment', ({ data }: MessageEvent<string>) => {
      takeRecord(JSON.parse(data) as FeedRecord)
      announce()
    })
    source.addEventListener('skipped', fillGap)
    source.onerror = () => {
      line.value = 'reconnecting'
      // The browser comes back by itself after a break, but not after a refusal: then it is asked why.
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
