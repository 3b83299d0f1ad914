/** How often the service is asked: often while something happens and is seen, seldom otherwise, at once on coming back. */
import { monotonic } from '../look/clock.ts'

const [often, seldom, rarely] = [1_200, 5_000, 30_000]
const [quietMs, longQuietMs] = [120_000, 900_000]

/** `lively` when something new was heard. */
export type Heard = 'lively' | 'quiet' | 'failed' | 'ended'

/** Asks one at a time until it ends. Returns a function that asks at once. */
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
