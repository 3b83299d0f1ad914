/** The entry point of the dashboard. */
import { render } from 'preact'
import { formatAmount, formatCount, formatShare } from '../look/amounts.ts'
import { now } from '../look/clock.ts'
import { pageLocale } from '../look/locale.ts'
import { formatDay, formatExact, formatRelative } from '../look/times.ts'
import { App } from './app.tsx'
import { startRouting } from './data/route.ts'
import { startSettings, zone } from './data/settings.ts'
import { waitTurn } from './data/turns.ts'
import { startKeys } from './dialogs/keyboard.ts'

startSettings()
startRouting()
startKeys()

// The document shows its frame meanwhile.
waitTurn(() => {
  const place = document.getElementById('app')
  if (!place) return
  place.replaceChildren()
  render(<App />, place)
})
// The figures need these formats when they arrive, and a browser takes long to create the first of each kind.
const locale = pageLocale()
for (const prepare of [
  () => formatCount(0, locale),
  () => formatAmount('0', locale),
  () => formatShare(0.5, locale),
  () => formatRelative(0, now(), locale),
  () => formatExact(now(), zone.value, locale),
  () => formatDay(now(), zone.value, locale),
])
  waitTurn(prepare)
