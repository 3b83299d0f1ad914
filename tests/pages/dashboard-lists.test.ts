/** The lists of the dashboard in a real browser: what a row says, and the order of the rows. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { contractAnswers } from './contract.ts'
import { type DashboardFixture, openDashboard } from './dashboard-fixture.ts'

let dashboard: DashboardFixture
beforeAll(async () => {
  dashboard = await openDashboard()
})
afterAll(() => dashboard?.close())
afterEach(async () => {
  expect(await dashboard.leave()).toEqual([])
})

describe('a refunded payment', () => {
  it.each([
    ['in the colours of the system', { forcedColors: 'active' }],
    ['on paper', { media: 'print' }],
  ] as const)('differs from a delivered one by an icon and a word (%s)', async (_name, media) => {
    const { page } = await dashboard.visit('/payments', { prepare: contractAnswers })
    await page.emulateMedia(media)
    const badges = page.locator('tbody .badge')
    await expect
      .poll(() => badges.allInnerTexts())
      .toEqual([expect.stringMatching(/^Verified\s+part refunded$/), 'Refunded'])
    const [part, whole] = [badges.first(), badges.last()]
    for (const badge of [part, whole]) expect(await badge.locator('.icon').isVisible()).toBe(true)
    await page.emulateMedia({ forcedColors: 'none', media: 'screen' })
    const read = (badge: typeof part) => badge.evaluate((one) => getComputedStyle(one).color)
    expect(await read(whole)).not.toBe(await read(part))
  })

  it('has another mark in the timeline than a delivery', async () => {
    const { page } = await dashboard.visit('/payments?payment=r1', { prepare: contractAnswers })
    const read = (event: string) =>
      page
        .locator('.moment', { has: page.getByText(event, { exact: true }) })
        .evaluate((one) => getComputedStyle(one, '::before').borderTopStyle)
    await page.locator('.moment').first().waitFor()
    expect([await read('Delivered'), await read('Refunded')]).toEqual(['none', 'solid'])
  })
})
