/** Everything that needs attention: polled while the page is visible, and part of the home screen's data. */
import { signal } from '@preact/signals'
import type { ServiceStatus as Now } from './answers.ts'
import { ask } from './ask.ts'
import { place } from './route.ts'

export const status = signal<Now | undefined>(undefined)

const everyMs = 15_000

export function takeStatus(now: Now): void {
  status.value = now
}

/** Polls until the returned function is called. The home screen brings the first one itself. */
export function watchStatus(): () => void {
  const look = async (): Promise<void> => {
    if (document.hidden) return
    const outcome = await ask<Now>('/api/status')
    if (outcome.kind === 'answer') takeStatus(outcome.value)
  }
  const again = (): void => void look().catch(() => {})
  if (place.peek().screen !== 'home') again()
  const timer = setInterval(again, everyMs)
  return () => clearInterval(timer)
}

/** The number of payments with a problem. */
export function countProblems({ problems }: Now): number {
  return Object.values(problems).reduce((sum, count) => sum + count, 0)
}
