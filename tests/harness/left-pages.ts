/** Pages for one visit after the other. A new page starts a process, which takes twice the time of a visit. */
import type { Page } from 'playwright-core'

export interface LeftPages {
  /** A page without cookies and settings. */
  take(): Promise<Page>
  /** Ends the visit of a page: the next one may take it. */
  leave(page: Page): Promise<void>
}

export interface Settings {
  readonly reducedMotion: 'reduce' | 'no-preference'
}

export function createLeftPages(open: () => Promise<Page>, settings: Settings): LeftPages {
  const left: Page[] = []
  return {
    take: async () => left.pop() ?? open(),
    leave: async (page) => {
      // A page that visited no host has nothing to keep.
      if (!page.url().startsWith('http')) return page.context().close()
      await empty(page)
      await page.emulateMedia({ media: null, colorScheme: 'light', forcedColors: 'none', ...settings })
      left.push(page)
    },
  }
}

/** Ends scripts and connections. The origin stays, and with it the process. */
async function empty(page: Page): Promise<void> {
  const context = page.context()
  for (const other of context.pages()) if (other !== page) await other.close()
  await page.unrouteAll({ behavior: 'ignoreErrors' })
  await page.route('**/*', (route) => route.fulfill({ contentType: 'text/html', body: '' }))
  await page.goto(new URL(page.url()).origin)
  await page.evaluate(() => {
    localStorage.clear()
    sessionStorage.clear()
  })
  await page.unrouteAll()
  await context.clearCookies()
  await page.setViewportSize({ width: 1280, height: 720 })
  await page.mouse.move(0, 0)
}
