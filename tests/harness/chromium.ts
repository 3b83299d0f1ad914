/** A real browser. */
import { type Browser, chromium } from 'playwright-core'
import { inject } from 'vitest'
import { browserFlags } from '../../scripts/browser.mjs'

export interface Chromium {
  readonly browser: Browser
  close(): Promise<void>
}

export async function launchChromium(): Promise<Chromium> {
  const browser = await chromium.launch({ executablePath: inject('browser'), args: [...browserFlags], headless: true })
  return { browser, close: () => browser.close() }
}
