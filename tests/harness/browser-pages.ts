/** Pages in a real browser, one browser for a test file. What a page complains of, and what it asks of others, is kept. */
import type { BrowserContextOptions, ConsoleMessage, Page, Request } from 'playwright-core'
import { findViolations } from './axe.ts'
import { launchChromium } from './chromium.ts'
import { createLeftPages, isView, undoAtLeave } from './left-pages.ts'

export interface Viewer {
  readonly page: Page
  /** Errors in the console, exceptions, and requests that leave the host. */
  readonly complaints: readonly string[]
  /** Addresses below the host that were asked for, in order. */
  readonly asked: readonly string[]
  /** Says that such a complaint is expected. */
  forgive(pattern: RegExp): void
  /** What axe-core finds wrong on the screen as it is now, a line each. */
  violations(): Promise<readonly string[]>
  close(): Promise<void>
}

export interface VisitOptions extends BrowserContextOptions {
  /** Runs in the page before its own scripts. */
  readonly script?: string
  /** Called before the page loads, for example to answer its requests. */
  prepare?(page: Page): Promise<unknown>
}

export interface BrowserPages {
  /** Somebody with cookies and settings of their own. */
  visit(url: string, options?: VisitOptions): Promise<Viewer>
  close(): Promise<void>
}

const reducedMotion = 'reduce'
const settings = { timezoneId: 'UTC', colorScheme: 'light', reducedMotion } as const

export async function openBrowserPages(): Promise<BrowserPages> {
  const chromium = await launchChromium()
  const open = async (options: BrowserContextOptions = {}): Promise<Page> =>
    (await chromium.newContext({ ...settings, ...options })).newPage()
  const pages = createLeftPages(open, { reducedMotion })
  return {
    visit: async (url, { script, prepare, ...options } = {}) => {
      const isShared = isView(options)
      const page = await (isShared ? pages.take(options) : open(options))
      if (script !== undefined) undoAtLeave(page, await page.addInitScript(script))
      const complaints: string[] = []
      const asked: string[] = []
      const forgiven: RegExp[] = []
      const complain = (text: string) => void complaints.push(text)
      const hearMessage = (message: ConsoleMessage) => {
        if (message.type() === 'error') complain(`${message.text()} ${message.location().url}`)
      }
      const hearError = (error: Error) => complain(String(error))
      const hearRequest = (request: Request) => {
        const address = new URL(request.url())
        if (address.origin === new URL(url).origin) asked.push(address.pathname)
        else if (!/^(data|blob):/.test(address.protocol)) complain(`asked ${request.url()}`)
      }
      page.on('console', hearMessage).on('pageerror', hearError).on('request', hearRequest)
      await prepare?.(page)
      await page.goto(url)
      return {
        page,
        get complaints() {
          return complaints.filter((text) => !forgiven.some((pattern) => pattern.test(text)))
        },
        asked,
        forgive: (pattern) => void forgiven.push(pattern),
        violations: () => findViolations(page),
        close: async () => {
          page.off('console', hearMessage).off('pageerror', hearError).off('request', hearRequest)
          await (isShared ? pages.leave(page) : page.context().close())
        },
      }
    },
    close: chromium.close,
  }
}
