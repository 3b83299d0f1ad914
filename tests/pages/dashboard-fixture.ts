/** A stall with some sales, a browser, and those who look at its dashboard. */
import type { Page } from 'playwright-core'
import { type BrowserPages, openBrowserPages, type Viewer } from '../harness/browser-pages.ts'
import { watchShifts as watchShiftsSlowly } from '../harness/layout-shift.ts'
import { resize, usualSize } from '../harness/left-pages.ts'
import { size } from '../harness/length.ts'
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
  const isThere = () => document.querySelector('#main :is(.is-before, .skeleton)') === null
  // Without an interval, the browser draws the page anew for every look.
  await page.waitForFunction(isThere, undefined, { polling: 25 })
}

/** As an owner sees it who does not sit at the machine. */
export const abroad = { extraHTTPHeaders: { 'x-forwarded-for': '203.0.113.9' } }

/** As on a slow phone. A slow browser uses the processor for its whole time. */
export const watchShifts = (page: Page) => watchShiftsSlowly(page, size(3, 6))

/** Changes the answers of this path before the page reads them. */
export async function changeAnswer<Answer>(
  page: Page,
  path: string,
  change: (answer: Answer) => unknown,
): Promise<void> {
  await page.route(
    (url) => url.pathname === path,
    async (route) => route.fulfill({ json: change((await (await route.fetch()).json()) as Answer) }),
  )
}

type VisitOptions = NonNullable<Parameters<BrowserPages['visit']>[1]>
/** Settings that an open page can change. */
interface BrowseOptions extends Pick<VisitOptions, 'prepare' | 'forcedColors'> {
  readonly viewport?: { readonly width: number; readonly height: number }
  readonly media?: 'print'
}

export interface DashboardFixture {
  readonly service: DashboardService
  /** Opens the dashboard at this path below it, in a new document. */
  visit(path?: string, options?: VisitOptions): Promise<Viewer>
  /**
   * Goes to this path in a document that stays open, and returns when the screen has its data. Calls with the same
   * `prepare` share the document, so their tests leave nothing in it: no dialog, no setting, no route.
   */
  browse(path?: string, options?: BrowseOptions): Promise<Viewer>
  /** Closes what was visited, and gives back all that was complained of and not forgiven. */
  leave(): Promise<readonly string[]>
  close(): Promise<void>
}

export async function openDashboard(options: ServiceOptions = {}): Promise<DashboardFixture> {
  const [service, browserPages] = await Promise.all([openService(options), openBrowserPages()])
  await service.buy('/api/moon')
  await service.buy('/api/weather')
  await service.buy('/api/moon', 'SOL')
  let viewers: Viewer[] = []
  const opened = new Map<VisitOptions['prepare'], Viewer>()
  const open = (path: string, options: VisitOptions) => browserPages.visit(`${service.url}/dashboard${path}`, options)
  return {
    service,
    visit: async (path = '', options = {}) => {
      const viewer = await open(path, options)
      viewers.push(viewer)
      return viewer
    },
    browse: async (path = '', { prepare, viewport = usualSize, ...media } = {}) => {
      const viewer = opened.get(prepare) ?? (await open(path, { viewport, ...(prepare && { prepare }) }))
      opened.set(prepare, viewer)
      const { page } = viewer
      await resize(page, viewport)
      await page.emulateMedia({ media: null, forcedColors: 'none', ...media })
      await page.mouse.move(0, 0)
      await goTo(page, path)
      return viewer
    },
    leave: async () => {
      const complaints = [...viewers, ...opened.values()].flatMap((viewer) => viewer.complaints)
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
