/** The remaining time of the quote, by the service's clock. */
import { fill } from '../../core/checkout/languages/fill.ts'
import type { CheckoutFacts } from '../../core/checkout/messages.ts'
import { monotonic } from '../look/clock.ts'
import { find, say } from './screen.ts'

const closeSeconds = 60

/** The service read its clock after the page was requested, so the countdown ends early rather than late. */
export function remainingMs({ expiresAt, now }: Pick<CheckoutFacts, 'expiresAt' | 'now'>): number {
  return expiresAt - now - monotonic()
}

/** Calls `onOver` once, when the time is over. */
export function startCountdown(facts: CheckoutFacts, onOver: () => void): void {
  const place = find('time')
  let wasClose = remainingMs(facts) < closeSeconds * 1_000
  const tick = (): void => {
    const left = remainingMs(facts)
    if (left <= 0) {
      onOver()
      return
    }
    const seconds = Math.ceil(left / 1_000)
    const isClose = seconds <= closeSeconds
    place.textContent = fill(facts.texts.validFor, { time: formatSeconds(seconds, facts.locale) })
    place.classList.toggle('close', isClose)
    if (isClose && !wasClose) say(facts.texts.oneMinute)
    wasClose = isClose
    setTimeout(tick, left % 1_000 || 1_000)
  }
  tick()
}

/** "14 min 59 sec", in the language of the page. */
function formatSeconds(seconds: number, locale: string): string {
  const parts = [
    [Math.floor(seconds / 3_600), 'hour'],
    [Math.floor(seconds / 60) % 60, 'minute'],
    [seconds % 60, 'second'],
  ] as const
  const first = parts.findIndex(([value]) => value > 0)
  const words = parts.slice(first).map(([value, unit]) => value.toLocaleString(locale, { style: 'unit', unit }))
  return words.join(' ')
}
