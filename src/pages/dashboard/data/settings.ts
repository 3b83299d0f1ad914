/** The user's settings in this browser: theme and time zone. Also the clock for relative times. */
import { effect, signal } from '@preact/signals'
import { attempt } from '../../../core/errors/attempt.ts'
import { now } from '../../look/clock.ts'
import type { Zone } from '../../look/times.ts'

export const themes = ['system', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]

/** Storage may be disabled. Then a setting lasts as long as the page. */
export function recall(name: string): string | null {
  return attempt(() => localStorage.getItem(`paystile.${name}`)) ?? null
}

export function keep(name: string, value: string): void {
  try {
    localStorage.setItem(`paystile.${name}`, value)
  } catch {}
}

export const theme = signal<Theme>(themes.find((one) => one === recall('theme')) ?? 'system')
export const zone = signal<Zone>(recall('zone') === 'utc' ? 'utc' : 'local')
const tickMs = 10_000
/** Advances every ten seconds, so that relative times stay correct. */
export const tick = signal(now())
export const isOnline = signal(true)

/** Updates all relative times if the service reports another time than expected. */
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
