/** What a person sees of the checkout page. */
import type { Page } from 'playwright-core'

/** The title of the notice; empty when there is none. */
export async function heading(page: Page): Promise<string> {
  return (await page.locator('#notice h2').allTextContents()).join()
}

/** Waits for a notice with this title. Its title is looked for in the page, which takes less time than reading it. */
export function told(page: Page, title: string): Promise<void> {
  return page
    .locator('#notice h2')
    .and(page.getByText(title, { exact: true }))
    .waitFor()
}

/** Whether the ways to pay are shown. */
export function offered(page: Page): Promise<boolean> {
  return page.locator('#pay').isVisible()
}

/** Coming back to a page makes it ask at once. */
export async function hurry(page: Page): Promise<void> {
  await page.evaluate(() => dispatchEvent(new Event('focus')))
}

/** How often the wallet was asked. */
export function asked(page: Page): Promise<{ readonly connect: number; readonly sign: number }> {
  return page.evaluate(() => (window as unknown as { asked: { connect: number; sign: number } }).asked)
}

/** Says yes to what a wallet that signs `later` is asking. */
export async function approve(page: Page): Promise<void> {
  await page.evaluate(() => dispatchEvent(new Event('approve')))
}
