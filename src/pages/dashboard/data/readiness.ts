/** The reasons that keep the service from selling, polled while the page is visible. */
import { signal } from '@preact/signals'

/** One sentence each; empty while everything is sold. */
export const faults = signal<readonly string[]>([])

const everyMs = 15_000

/** Polls until the returned function is called. */
export function watchReadiness(): () => void {
  const look = async (): Promise<void> => {
    if (document.hidden) return
    const answer = await fetch('/readyz', { credentials: 'same-origin', cache: 'no-store' })
    const { why } = (await answer.json()) as { readonly why?: unknown }
    faults.value = Array.isArray(why) ? why.map(String) : []
  }
  // Another part of the page reports an unreachable service.
  const again = (): void => void look().catch(() => {})
  again()
  const timer = setInterval(again, everyMs)
  return () => clearInterval(timer)
}
