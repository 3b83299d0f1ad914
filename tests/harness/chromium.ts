/** A real browser. */
import { type BrowserContext, type BrowserContextOptions, chromium } from 'playwright-core'
import { inject } from 'vitest'
import { browserFlags } from '../../scripts/browser.mjs'

export interface Chromium {
  /** A context without cookies and settings. */
  newContext(options?: BrowserContextOptions): Promise<BrowserContext>
  close(): Promise<void>
}

/**
 * A busy machine may take long for a step. This limit is shorter than that of a test, so the error names the step that
 * hangs.
 */
const stepMs = 150_000

export async function launchChromium(): Promise<Chromium> {
  const browser = await chromium.launch({ executablePath: inject('browser'), args: [...browserFlags], headless: true })
  return {
    newContext: async (options = {}) => {
      const context = await browser.newContext({ locale: 'en-US', ...options })
      context.setDefaultTimeout(stepMs)
      return context
    },
    close: () => browser.close(),
  }
}
