/** Pages in a real browser: each in a context of its own, with what it complained about kept. */
import type { BrowserContextOptions, ConsoleMessage, Page } from 'playwright-core'
import { findViolations } from './axe.ts'
import { launchChromium } from './chromium.ts'
import { createLeftPages, type View } from './left-pages.ts'

export interface Tab {
  readonly page: Page
  /** What the page wrote to the console as an error, and errors nobody caught. */
  readonly complaints: string[]
  /** Violations that axe-core finds in what is seen now; none is good. */
  violations(): Promise<readonly string[]>
  close(): Promise<void>
}

export interface Browser {
  page(options?: BrowserContextOptions): Promise<Tab>
  /** A page that the next test takes when it is closed. No script may stay in it for good. */
  sharedPage(view?: View): Promise<Tab>
  close(): Promise<void>
}

export async function openBrowser(): Promise<Browser> {
  const { newContext, close } = await launchChromium()
  const open = async (options: BrowserContextOptions = {}): Promise<Page> => (await newContext(options)).newPage()
  const pages = createLeftPages(() => open({ permissions: ['clipboard-read', 'clipboard-write'] }), {
    reducedMotion: 'no-preference',
  })
  return {
    page: async (options) => {
      const page = await open(options)
      return listen(page, () => page.context().close())
    },
    sharedPage: async (view) => {
      const page = await pages.take(view)
      return listen(page, () => pages.leave(page))
    },
    close,
  }
}

/** Keeps the complaints of a page until it is closed. */
function listen(page: Page, close: () => Promise<void>): Tab {
  const complaints: string[] = []
  const hearMessage = (message: ConsoleMessage) => {
    // The status of a request is the test's own doing; the page says itself what follows from it.
    if (message.type() === 'error' && !/Failed to load resource/.test(message.text())) complaints.push(message.text())
  }
  const hearError = (error: Error) => void complaints.push(error.message)
  page.on('console', hearMessage).on('pageerror', hearError)
  return {
    page,
    complaints,
    violations: () => findViolations(page),
    close: () => {
      page.off('console', hearMessage).off('pageerror', hearError)
      return close()
    },
  }
}
