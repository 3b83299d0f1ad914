/** Accessibility faults that axe-core finds on the page as it is now. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type axe from 'axe-core'
import type { Page } from 'playwright-core'

const script = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** One line for each violated rule; none is good. */
export async function findViolations(page: Page): Promise<readonly string[]> {
  // Evaluated by the browser's tools, which a page's policy does not bind.
  const isThere = await page.evaluate(() => 'axe' in globalThis)
  if (!isThere) await page.evaluate(script)
  return page.evaluate(async () => {
    const { axe: loaded } = globalThis as unknown as { axe: typeof axe }
    const { violations } = await loaded.run({ resultTypes: ['violations'] })
    return violations.map(
      ({ id, nodes }) => `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join('; ')}`,
    )
  })
}
