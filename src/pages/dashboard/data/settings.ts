/** What a person has chosen for this browser: the theme and the time zone. And the clock by which times are told. */
import { effect, signal } from '@preact/signals'
import { now } from '../../look/clock.ts'
import type { Zone } from '../../look/times.ts'

export const themes = ['system', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]

/** Storage may be shut off; then a choice lasts as long as the page. */
function recall(name: string): string | null {
  try {
    return localStorage.getItem(`paystile.${name}`)
  } catch {
    return null
  }
}

function keep(name: string, value: string): void {
  try {
    localStorage.setItem(`paystile.${name}`, value)
  } catch {}
}

export const theme = signal<Theme>(themes.find((one) => one === recall('theme')) ?? 'system')
export const zone = signal<Zone>(recall('zone') === 'utc' ? 'utc' : 'local')
const tickMs = 10_000
/** Moves on every ten seconds, so that what was a moment ago does not stay one. */
export const tick = signal(now())
export const isOnline = signal(true)

/** Where the service has told another time than was thought, all moments are told anew. */
export function catchUp(): void {
  if (Math.abs(now() - tick.value) > 2 * tickMs) tick.value = now()
}

export function startSettings(): void {
  effect(() => {
    keep('theme', theme.value)
    if (theme.value === 'system') delete document.documentElement.dataset['theme']
    else document.documentElement.dataset['theme'] = theme.value
  })
  effect(() => keep('zone', zone.value))
  setInterval(() => {
    tick.value = now()
  }, tickMs)
  isOnline.value = navigator.onLine
  addEventListener('online', () => {
    isOnline.value = true
  })
  addEventListener('offline', () => {
    isOnline.value = false
  })
}
