/** The palette (⌘K, Ctrl+K): jumps to a screen, an endpoint, a saved view, or a payment by its id. */
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { useAnswer } from '../data/answer.ts'
import type { Analytics } from '../data/answers.ts'
import { type Entry, findEntries, isPaletteOpen, isPaymentName } from '../data/palette.ts'
import { formatAddress, go, type Screen } from '../data/route.ts'
import { formatViewAddress, views } from '../data/views.ts'
import { Dialog } from './dialog.tsx'

const screens: readonly (readonly [screen: Screen, name: string])[] = [
  ['home', 'Home'],
  ['payments', 'Payments'],
  ['endpoints', 'Endpoints'],
  ['payers', 'Payers'],
  ['problems', 'Problems'],
  ['refusals', 'Refused proofs'],
  ['rewards', 'Rewards'],
  ['settlement', 'Settlement'],
  ['webhooks', 'Webhooks'],
  ['service', 'Service'],
]

function listEntries(endpoints: readonly string[]): readonly Entry[] {
  return [
    ...screens.map(([screen, name]) => ({ name, kind: 'Screen', href: formatAddress(screen) })),
    ...views.value.map((view) => ({ name: view.name, kind: 'Saved view', href: formatViewAddress(view) })),
    ...endpoints.map((name) => ({ name, kind: 'Endpoint', href: formatAddress('endpoint', { name }) })),
  ]
}

export function Palette() {
  const text = useSignal('')
  const at = useSignal(0)
  const field = useRef<HTMLInputElement>(null)
  const list = useRef<HTMLDivElement>(null)
  const { endpoints = [] } = useAnswer<Analytics>('/analytics?view=names').value?.names ?? {}
  const q = text.value.trim()
  const search = { name: q, kind: 'Search payments', href: formatAddress('payments', { q }) }
  const found = [...findEntries(listEntries(endpoints), q), ...(isPaymentName(q) ? [search] : [])]
  const chosen = Math.min(at.value, found.length - 1)
  // The dialog has opened by then, and would focus its first button.
  useEffect(() => field.current?.focus(), [])
  useEffect(() => {
    list.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' })
  }, [chosen])
  const close = () => {
    isPaletteOpen.value = false
  }
  const open = (entry: Entry | undefined) => {
    if (!entry) return
    close()
    go(entry.href)
  }
  const press = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step === undefined && event.key !== 'Enter') return
    event.preventDefault()
    if (step === undefined) open(found[chosen])
    else if (found.length > 0) at.value = (chosen + step + found.length) % found.length
  }
  return (
    <Dialog title="Go to" class="panel palette" onClose={close}>
      <input
        type="text"
        class="palette-text"
        role="combobox"
        aria-label="Screen, endpoint, saved view, or id of a payment"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={chosen >= 0 ? `palette-${chosen}` : undefined}
        placeholder="Screen, endpoint, or id of a payment"
        autocomplete="off"
        spellcheck={false}
        ref={field}
        value={text.value}
        onInput={({ currentTarget }) => {
          text.value = currentTarget.value
          at.value = 0
        }}
        onKeyDown={press}
      />
      <div id="palette-list" class="palette-list" role="listbox" aria-label="Places" tabIndex={-1} ref={list}>
        {found.map((entry, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field handles the keys.
          <div
            key={`${entry.kind}${entry.href}`}
            id={`palette-${index}`}
            role="option"
            aria-selected={index === chosen}
            tabIndex={-1}
            onClick={() => open(entry)}
          >
            <span>{entry.name}</span> <span class="muted">{entry.kind}</span>
          </div>
        ))}
      </div>
      {found.length === 0 && <p class="palette-none muted">Nothing found. Of an id, type four characters or more.</p>}
    </Dialog>
  )
}
