/** A real browser. */
import { statfsSync } from 'node:fs'
import { createRequire } from 'node:module'
import type * as Playwright from 'playwright-core'
import type { BrowserContext, BrowserContextOptions } from 'playwright-core'
import { inject } from 'vitest'
import { browserFlags } from '../../scripts/browser.mjs'

// An import would parse the four megabytes of this module once more, for the names of its exports.
const { chromium } = createRequire(import.meta.url)('playwright-core') as typeof Playwright

export interface Chromium {
  /** A context without cookies and settings. */
  newContext(options?: BrowserContextOptions): Promise<BrowserContext>
  /** Closes the contexts. */
  close(): Promise<void>
}

/**
 * A busy machine may take long for a step. This limit is shorter than that of a test, so the error names the step that
 * hangs.
 */
const stepMs = 150_000

/** One tile for a window. Painting a page in tiles of the usual size takes twice the time of the compositor. */
const drawingFlags = ['--default-tile-width=1280', '--default-tile-height=1024']

/** Playwright keeps the memory that the processes share in files, because containers may have little room for it. */
function hasSharedMemory(): boolean {
  try {
    const { bavail, bsize } = statfsSync('/dev/shm')
    return bavail * bsize > 2 ** 31
  } catch {
    return false
  }
}

/** The files of a worker share its browser, because a start takes the time of several visits. */
let launched: Promise<Playwright.Browser> | undefined
let users = 0
let closing: NodeJS.Timeout | undefined
/** The next file of a worker begins sooner, if there is one. */
const idleMs = 10_000

function launch(): Promise<Playwright.Browser> {
  clearTimeout(closing)
  launched ??= chromium.launch({
    executablePath: inject('browser'),
    args: [...browserFlags, ...drawingFlags],
    ignoreDefaultArgs: hasSharedMemory() ? ['--disable-dev-shm-usage'] : [],
    headless: true,
  })
  return launched
}

function closeWhenIdle(): void {
  closing = setTimeout(() => {
    launched?.then((browser) => browser.close()).catch(() => {})
    launched = undefined
  }, idleMs).unref()
}

export async function launchChromium(): Promise<Chromium> {
  const browser = await launch()
  const contexts: BrowserContext[] = []
  users += 1
  return {
    newContext: async (options = {}) => {
      const context = await browser.newContext({ locale: 'en-US', ...options })
      context.setDefaultTimeout(stepMs)
      contexts.push(context)
      return context
    },
    close: async () => {
      for (const context of contexts) await context.close()
      users -= 1
      if (users === 0) closeWhenIdle()
    },
  }
}
