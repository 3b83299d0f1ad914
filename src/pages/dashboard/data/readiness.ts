/** What keeps the service from selling, asked for while somebody looks. */
import { signal } from '@preact/signals'

/** One sentence each; empty while everything is sold. */
export const faults = signal<readonly string[]>([])

const everyMs = 15_000

/** Asks until the returned function is called. */
export function watchReadiness(): () => void {
  const look = async (): Promise<void> => {
    if (document.hidden) return
    const answer = await fetch('/readyz', { credentials: 'same-origin', cache: 'no-store' })
    const { why } = (await answer.json()) as { readonly why?: unknown }
    faults.value = Array.isArray(why) ? why.map(String) : []
  }
  // A service that cannot be reached is told of elsewhere.
  const again = (): void => void look().catch(() => {})
  again()
  const timer = setInterval(again, everyMs)
  return () => clearInterval(timer)
}
