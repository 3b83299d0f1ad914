/**
 * Polls the service: often while a payment is in progress and visible, rarely otherwise, and at once when the user
 * returns.
 */
import { monotonic } from '../look/clock.ts'

const [often, seldom, rarely] = [1_200, 5_000, 30_000]
const [quietMs, longQuietMs] = [120_000, 900_000]

/** `lively` means that the state changed. */
export type Heard = 'lively' | 'quiet' | 'failed' | 'ended'

/** Sends one request at a time until the end. Returns a function that polls at once. */
export function keepAsking(listen: () => Promise<Heard>): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined
  let [lastNews, failures] = [monotonic(), 0]
  let [isAsking, hasEnded] = [false, false]
  const go = async (): Promise<void> => {
    clearTimeout(timer)
    if (isAsking || hasEnded || document.hidden) return
    isAsking = true
    const heard = await listen()
    isAsking = false
    hasEnded = heard === 'ended'
    failures = heard === 'failed' ? failures + 1 : 0
    if (heard === 'lively') lastNews = monotonic()
    timer = setTimeout(go, pauseAfter(failures, monotonic() - lastNews))
  }
  const hurry = (): void => {
    lastNews = monotonic()
    void go()
  }
  document.addEventListener('visibilitychange', hurry)
  addEventListener('focus', hurry)
  addEventListener('online', hurry)
  timer = setTimeout(go, often)
  return hurry
}

export function pauseAfter(failures: number, quiet: number): number {
  if (failures > 0) return Math.min(often * 2 ** (failures - 1), seldom)
  return quiet < quietMs ? often : quiet < longQuietMs ? seldom : rarely
}
