/** Pages for one visit after the other. A new page starts a process, which takes twice the time of a visit. */
import type { BrowserContextOptions, Page } from 'playwright-core'

export interface LeftPages {
  /** A page without cookies, and with these settings alone. */
  take(view?: View): Promise<Page>
  /** Ends the visit of a page: the next one may take it. */
  leave(page: Page): Promise<void>
}

/** Settings that a page can change. All others belong to its context. */
export type View = Pick<
  BrowserContextOptions,
  'viewport' | 'colorScheme' | 'forcedColors' | 'reducedMotion' | 'extraHTTPHeaders'
>
const ofView = ['viewport', 'colorScheme', 'forcedColors', 'reducedMotion', 'extraHTTPHeaders']

export function isView(options: BrowserContextOptions): options is View {
  return Object.keys(options).every((name) => ofView.includes(name))
}

interface Change {
  dispose(): Promise<unknown>
}
const changes = new WeakMap<Page, Change[]>()

/** Undoes a change of the page, such as a script in it, before the next visit takes it. */
export function undoAtLeave(page: Page, change: Change): void {
  changes.set(page, [...(changes.get(page) ?? []), change])
}

export interface Settings {
  readonly reducedMotion: 'reduce' | 'no-preference'
}

export function createLeftPages(open: () => Promise<Page>, settings: Settings): LeftPages {
  const left: Page[] = []
  return {
    take: async ({ viewport, extraHTTPHeaders, ...media } = {}) => {
      const page = left.pop() ?? (await open())
      await resize(page, viewport ?? usualSize)
      if (extraHTTPHeaders) {
        await page.setExtraHTTPHeaders(extraHTTPHeaders)
        undoAtLeave(page, { dispose: () => page.setExtraHTTPHeaders({}) })
      }
      if (Object.keys(media).length > 0) await page.emulateMedia({ ...settings, ...media })
      return page
    },
    leave: async (page) => {
      for (const change of changes.get(page) ?? []) await change.dispose()
      changes.delete(page)
      // A page that visited no host has nothing to keep.
      if (!page.url().startsWith('http')) return page.context().close()
      await empty(page)
      await page.emulateMedia({ media: null, colorScheme: 'light', forcedColors: 'none', ...settings })
      left.push(page)
    },
  }
}

export const usualSize = { width: 1280, height: 720 }

/** Changes the size of the window, if it has another. */
export async function resize(page: Page, { width, height }: { readonly width: number; readonly height: number }) {
  const size = page.viewportSize()
  if (size?.width !== width || size.height !== height) await page.setViewportSize({ width, height })
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
  await page.mouse.move(0, 0)
}
