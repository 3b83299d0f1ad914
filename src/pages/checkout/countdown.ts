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
    place.textContent = fill(facts.texts.validFor, { time: clockFace(seconds) })
    place.classList.toggle('close', isClose)
    if (isClose && !wasClose) say(facts.texts.oneMinute)
    wasClose = isClose
    setTimeout(tick, left % 1_000 || 1_000)
  }
  tick()
}

function clockFace(seconds: number): string {
  const two = (value: number): string => String(value).padStart(2, '0')
  const [hours, minutes] = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60]
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`
}
