/** The location: the screen and its query. Both are in the address, so that it can be bookmarked and shared. */
import { computed, signal } from '@preact/signals'

const screens = [
  'home',
  'payments',
  'endpoints',
  'endpoint',
  'payers',
  'payer',
  'rewards',
  'settlement',
  'webhooks',
  'service',
  'problems',
  'refusals',
  'sign-in',
  'unknown',
] as const
export type Screen = (typeof screens)[number]

export interface Place {
  readonly screen: Screen
  readonly query: URLSearchParams
}

const base = '/dashboard'

function readPlace(): Place {
  const name = location.pathname.slice(base.length + 1).replace(/\/$/, '')
  const screen = name === '' ? 'home' : (screens.find((one) => one === name) ?? 'unknown')
  return { screen, query: new URLSearchParams(location.search) }
}

export const place = signal<Place>({ screen: 'home', query: new URLSearchParams() })

export function startRouting(): void {
  place.value = readPlace()
  addEventListener('popstate', () => {
    place.value = readPlace()
  })
}

export type Query = Readonly<Record<string, string | undefined>>

/** The parameters that are kept between screens. */
const lasting = computed<Query>(() => {
  const { query } = place.value
  return Object.fromEntries(['period', 'from', 'to'].map((name) => [name, query.get(name) ?? undefined]))
})

export function formatAddress(screen: Screen, query: Query = {}): string {
  const all = Object.entries({ ...lasting.value, ...query })
  const text = new URLSearchParams(all.flatMap(([name, value]) => (value ? [[name, value]] : []))).toString()
  const path = screen === 'home' ? base : `${base}/${screen}`
  return text === '' ? path : `${path}?${text}`
}

/** The same screen with another query. Undefined and empty values are removed. */
export function changeAddress(changes: Query): string {
  const { screen, query } = place.value
  return formatAddress(screen, { ...Object.fromEntries(query), ...changes })
}

/** The class of a row if the address has its record open. */
export function markOpen(name: string, id: string): string | undefined {
  return place.value.query.get(name) === id ? 'is-open' : undefined
}

export function go(address: string, { isReplacing = false } = {}): void {
  const isOtherPath = new URL(address, location.href).pathname !== location.pathname
  if (isReplacing) history.replaceState(null, '', address)
  else history.pushState(null, '', address)
  place.value = readPlace()
  if (!isOtherPath) return
  scrollTo(0, 0)
  // Keyboard and screen reader users continue at the start of the new screen.
  document.getElementById('main')?.focus({ preventScroll: true })
}

export function change(changes: Query, options?: { readonly isReplacing?: boolean }): void {
  go(changeAddress(changes), options)
}

/** Follows a link within the page, unless the user wants a new window. */
export function follow(event: MouseEvent): void {
  const link = event.currentTarget as HTMLAnchorElement
  if (event.defaultPrevented || event.button !== 0) return
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
  event.preventDefault()
  go(link.getAttribute('href') ?? base)
}
