/** The hooks of the test files of the checkout page. */
import type { BrowserContextOptions } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest'
import { type Browser, openBrowser, type Tab } from '../harness/browser.ts'
import type { View } from '../harness/left-pages.ts'
import { type CheckoutFixture, openCheckout } from './checkout-fixture.ts'

export interface OpenedCheckout {
  readonly fixture: CheckoutFixture
  /** Opens a tab that closes with the test. The test fails if the page complained. */
  openTab(options?: BrowserContextOptions): Promise<Tab>
  /** Opens the tab that the tests of the file share. It may use the clipboard. */
  openSharedTab(view?: View): Promise<Tab>
}

/** Opens one browser for the file, and a checkout for each test. */
export function openForEach(begin: (opened: OpenedCheckout) => Promise<void> | void): void {
  const tabs: Tab[] = []
  let browser: Browser
  let fixture: CheckoutFixture
  const keep = (tab: Tab): Tab => {
    tabs.push(tab)
    return tab
  }
  const openTab = async (options?: BrowserContextOptions) => keep(await browser.page(options))
  const openSharedTab = async (view?: View) => keep(await browser.sharedPage(view))
  beforeAll(async () => {
    browser = await openBrowser()
  })
  afterAll(() => browser?.close())
  beforeEach(async () => {
    fixture = await openCheckout()
    await begin({ fixture, openTab, openSharedTab })
  })
  afterEach(async () => {
    const opened = tabs.splice(0)
    const complaints = opened.flatMap((tab) => tab.complaints)
    for (const tab of opened) await tab.close()
    await fixture.close()
    expect(complaints).toEqual([])
  })
}
