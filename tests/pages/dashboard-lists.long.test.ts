/** Details of the lists of the dashboard in a real browser, of which the short form has the rules. */
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { contractAnswers } from './contract.ts'
import { type DashboardFixture, goTo, openDashboard } from './dashboard-fixture.ts'
import { answering, list, open, records, verified } from './payments-fixture.ts'

let dashboard: DashboardFixture
beforeAll(async () => {
  dashboard = await openDashboard()
})
afterAll(() => dashboard?.close())
afterEach(async () => {
  expect(await dashboard.leave()).toEqual([])
})

it.each(['/endpoints', '/payers'])(
  'a tablet shows the mark of a sorted column in its own heading (%s)',
  async (screen) => {
    const { page } = await dashboard.visit(screen, { viewport: { width: 768, height: 900 }, prepare: contractAnswers })
    const heading = page.getByRole('columnheader', { name: 'Revenue, USDC' })
    await heading.waitFor()
    const [mark, end, own] = await heading.evaluate((one) => {
      const range = document.createRange()
      range.selectNodeContents(one.querySelector('.sort-end')?.firstChild as Node)
      const boxes = [one.querySelector('.sort-mark')?.getBoundingClientRect(), range.getBoundingClientRect()]
      return [...boxes, one.getBoundingClientRect()].map((box) => [box?.left ?? 0, box?.right ?? 0, box?.top ?? 0])
    })
    expect(mark?.[0]).toBeGreaterThan(own?.[0] ?? 0)
    expect(mark?.[1]).toBeLessThanOrEqual(end?.[0] ?? 0)
    expect(Math.abs((mark?.[2] ?? 0) - (end?.[2] ?? 0))).toBeLessThan(3)
  },
)

it('a phone shows the whole names of endpoints beside their badges', async () => {
  const name = 'GET /a/very/long/endpoint/name/that/nobody/would/choose/if/they/had/to/type/it'
  const prepare = (asking: Page) => contractAnswers(asking, name)
  const { page } = await dashboard.visit('/sign-in', { viewport: { width: 390, height: 844 }, prepare })
  for (const screen of ['', '/payments', '/endpoints', '/problems', '/refusals', '/webhooks', '/service']) {
    await goTo(page, screen)
    await page.locator('tbody tr').first().waitFor()
    const cells = page.locator('tbody td').filter({ visible: true, hasText: name })
    const cut = await cells.evaluateAll((all) =>
      all
        .flatMap((cell) => [cell, ...cell.querySelectorAll('.narrow, a, p')])
        .filter((one) => one.scrollWidth > one.clientWidth && getComputedStyle(one).display !== 'inline')
        .map((one) => one.outerHTML),
    )
    expect([screen, await cells.count(), cut]).toEqual([screen, expect.toSatisfy((count) => count > 0), []])
  }
})

describe('a refunded payment', () => {
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

describe('a row of the payments', () => {
  it('breaks neither its status nor the name of its endpoint within a word on a tablet', async () => {
    const widest = { ...verified, ...open, token: 'SOL', amount: '0.000006667', id: 'widest' }
    const { page } = await dashboard.visit('/payments', {
      prepare: answering(() => ({ ...list, records: [widest, ...records] })),
      viewport: { width: 768, height: 1024 },
    })
    const badges = page.locator('tbody .badge')
    await badges.first().waitFor()
    const heights = await badges.evaluateAll((all) => all.map((badge) => badge.getBoundingClientRect().height))
    // "Pending" is above "unclaimed".
    expect(Math.max(...heights)).toBeLessThan(46)
    const names = page.locator('tbody .endpoint .cell-link')
    const lines = await names.evaluateAll((all) => all.map((name) => name.getClientRects().length))
    expect(new Set(lines)).toEqual(new Set([1]))
    const box = page.locator('.table-box')
    expect(await box.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).toBe(0)
  })

  it('begins no second line with a dot, and ends none with one, on a phone', async () => {
    const endpoint = '/api/a-long-name-of-an-endpoint/that-fills-the-line'
    const sol = { ...verified, id: 'long', token: 'SOL', amount: '0.000133', worth: '0.0199', endpoint }
    const { page } = await dashboard.visit('/payments', {
      prepare: answering(() => ({ ...list, records: [sol] })),
      viewport: { width: 390, height: 844 },
    })
    const parts = page.locator('tbody .dotted')
    await parts.waitFor()
    expect(await parts.locator('> *').allInnerTexts()).toEqual(['0.0199 USDC', endpoint])
    const [first, second] = await parts
      .locator('> *')
      .evaluateAll((all) => all.map((part) => part.getBoundingClientRect()))
    // The dot of a part is in the padding before it, which is cut off at the start of a line.
    expect([second?.left, (second?.top ?? 0) >= (first?.bottom ?? 0)]).toEqual([first?.left, true])
    expect(await parts.evaluate((one) => getComputedStyle(one).clipPath)).toContain('13px')
  })
})
