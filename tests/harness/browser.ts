/** Pages in a real browser: each in a context of its own, with what it complained about kept. */
import type { BrowserContextOptions, Page } from 'playwright-core'
import { findViolations } from './axe.ts'
import { launchChromium } from './chromium.ts'

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
  close(): Promise<void>
}

export async function openBrowser(): Promise<Browser> {
  const { browser, close } = await launchChromium()
  return {
    page: async (options = {}) => {
      const context = await browser.newContext({ locale: 'en-US', ...options })
      const page = await context.newPage()
      const complaints: string[] = []
      page.on('console', (message) => {
        // The status of a request is the test's own doing; the page says itself what follows from it.
        if (message.type() === 'error' && !/Failed to load resource/.test(message.text()))
          complaints.push(message.text())
      })
      page.on('pageerror', (error) => complaints.push(error.message))
      return { page, complaints, violations: () => findViolations(page), close: () => context.close() }
    },
    close,
  }
}
