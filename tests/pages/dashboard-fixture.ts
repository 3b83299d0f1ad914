/** A stall with some sales, a browser, and those who look at its dashboard. */
import type { Page } from 'playwright-core'
import { type BrowserPages, openBrowserPages, type Viewer } from '../harness/browser-pages.ts'
import { watchShifts as watchShiftsSlowly } from '../harness/layout-shift.ts'
import { type DashboardService, openService, type ServiceOptions } from './shop-fixture.ts'

export const screens = [
  '',
  '/payments',
  '/endpoints',
  '/endpoint?name=/api/weather',
  '/payers',
  '/payer?name=somebody',
  '/rewards',
  '/settlement',
  '/webhooks',
  '/service',
  '/problems',
  '/refusals',
  '/sign-in',
] as const

/**
 * Goes to a path below the dashboard as a link does, and returns when the screen has its data. A new document would take
 * three times as long.
 */
export async function goTo(page: Page, path: string): Promise<void> {
  await page.evaluate((address) => {
    const isOther = new URL(address, location.href).pathname !== location.pathname
    if (isOther) for (const part of document.querySelectorAll('#main > *')) part.classList.add('is-before')
    history.pushState(null, '', address)
    dispatchEvent(new PopStateEvent('popstate'))
  }, `/dashboard${path}`)
  await page.waitForFunction(() => document.querySelector('#main :is(.is-before, .skeleton)') === null)
}

/** As an owner sees it who does not sit at the machine. */
export const abroad = { extraHTTPHeaders: { 'x-forwarded-for': '203.0.113.9' } }

/** As on a slow phone. */
export const watchShifts = (page: Page) => watchShiftsSlowly(page, 6)

export interface DashboardFixture {
  readonly service: DashboardService
  /** Opens the dashboard at this path below it. */
  visit(path?: string, options?: Parameters<BrowserPages['visit']>[1]): Promise<Viewer>
  /** Closes what was opened, and gives back all that was complained of and not forgiven. */
  leave(): Promise<readonly string[]>
  close(): Promise<void>
}

export async function openDashboard(options: ServiceOptions = {}): Promise<DashboardFixture> {
  const [service, browserPages] = await Promise.all([openService(options), openBrowserPages()])
  await service.buy('/api/moon')
  await service.buy('/api/weather')
  await service.buy('/api/moon', 'SOL')
  let viewers: Viewer[] = []
  return {
    service,
    visit: async (path = '', options = {}) => {
      const viewer = await browserPages.visit(`${service.url}/dashboard${path}`, options)
      viewers.push(viewer)
      return viewer
    },
    leave: async () => {
      const complaints = viewers.flatMap((viewer) => viewer.complaints)
      for (const viewer of viewers) await viewer.close()
      viewers = []
      return complaints
    },
    close: async () => {
      await browserPages.close()
      await service.close()
    },
  }
}
