/** Keyboard shortcuts: moving among rows, opening, searching. */
import { signal } from '@preact/signals'
import { isPaletteOpen } from '../data/palette.ts'
import { change, formatAddress, go, place } from '../data/route.ts'
import { isReader } from '../data/session.ts'

export const isHelpOpen = signal(false)
/** The keys that open the palette. */
export const paletteKey = /^(Mac|iP)/.test(navigator.platform) ? '⌘K' : 'Ctrl K'
export const searchId = 'search'
/** The search was requested, and its screen may still be loading. */
const isSearchWanted = signal(false)

const rowLinks = (): HTMLElement[] => [...document.querySelectorAll<HTMLElement>('[data-row]')]
const findRow = (link: HTMLElement | undefined): string | undefined => link?.dataset['row']

/** Moves to the next or previous row; in an open drawer, to the next payment. */
function move(step: 1 | -1): void {
  const links = rowLinks()
  const open = place.value.query.get('payment')
  const current = open ?? findRow(document.activeElement as HTMLElement)
  const at = links.findIndex((link) => findRow(link) === current)
  const next = links[at === -1 ? (step === 1 ? 0 : links.length - 1) : at + step]
  if (!next) return
  if (open === null) next.focus()
  else change({ payment: findRow(next) }, { isReplacing: true })
}

function search(): void {
  isSearchWanted.value = true
  if (place.value.screen === 'payments') giveSearch()
  else go(formatAddress('payments'))
}

/** Focuses the search field if it was requested. */
export function giveSearch(): void {
  if (isSearchWanted.value) document.getElementById(searchId)?.focus()
  isSearchWanted.value = false
}

function press(event: KeyboardEvent): void {
  const target = event.target as HTMLElement
  if ((event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === 'k') {
    event.preventDefault()
    if (isReader.value) isPaletteOpen.value = !isPaletteOpen.value
    return
  }
  if (isPaletteOpen.value) return
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return
  if (target.closest('input:not([type=radio]), select, textarea')) {
    if (event.key === 'Escape') target.blur()
    return
  }
  if (isHelpOpen.value && event.key !== '?') return
  const isOnRow = target.dataset['row'] !== undefined || place.value.query.has('payment')
  const acts: Readonly<Record<string, (() => void) | undefined>> = {
    j: () => move(1),
    k: () => move(-1),
    // Outside rows the arrow keys scroll.
    ArrowDown: isOnRow ? () => move(1) : undefined,
    ArrowUp: isOnRow ? () => move(-1) : undefined,
    '/': place.value.query.has('payment') ? undefined : search,
    '?': () => {
      isHelpOpen.value = !isHelpOpen.value
    },
  }
  const act = acts[event.key]
  if (!act) return
  event.preventDefault()
  act()
}

export function startKeys(): void {
  document.addEventListener('keydown', press)
}
