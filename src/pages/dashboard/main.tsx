/** The entry point of the dashboard. */
import { render } from 'preact'
import { App } from './app.tsx'
import { startRouting } from './data/route.ts'
import { learnService, learnSession } from './data/session.ts'
import { startSettings } from './data/settings.ts'
import { startKeys } from './dialogs/keyboard.tsx'

startSettings()
startRouting()
startKeys()
learnService().catch(() => {})
learnSession().catch(() => {})

const place = document.getElementById('app')
if (place) {
  place.replaceChildren()
  render(<App />, place)
}
