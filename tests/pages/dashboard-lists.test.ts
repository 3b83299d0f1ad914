/** The lists of the dashboard in a real browser: what a row says, and the order of the rows. */
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { contractAnswers } from './contract.ts'
import { type DashboardFixture, goTo, openDashboard } from './dashboard-fixture.ts'

let dashboard: DashboardFixture
beforeAll(async () => {
  dashboard = await openDashboard()
})
afterAll(() => dashboard?.close())
afterEach(async () => {
  expect(await dashboard.leave()).toEqual([])
})

describe('the list of payments', () => {
  it('is sorted by value and by time with its headings, and keeps the order in its address', async () => {
    const { page } = await dashboard.visit('/payments')
    const values = async () => {
      const cells = await page.locator('tbody td:nth-child(2)').allInnerTexts()
      return cells.map(Number)
    }
    await expect.poll(async () => (await values()).length).toBe(3)
    const heading = (name: RegExp) => page.getByRole('columnheader', { name })
    expect(await heading(/^When/).getAttribute('aria-sort')).toBe('descending')
    const sorted = (await values()).toSorted((one, other) => one - other)
    await heading(/^Value/)
      .getByRole('button')
      .click()
    await expect.poll(values).toEqual(sorted.toReversed())
    expect([await heading(/^Value/).getAttribute('aria-sort'), page.url()]).toEqual([
      'descending',
      expect.stringContaining('sort=-value'),
    ])
    await heading(/^Value/)
      .getByRole('button')
      .click()
    await expect.poll(values).toEqual(sorted)
    await page.reload()
    await expect.poll(values).toEqual(sorted)
    await heading(/^When/).getByRole('button').click()
    await expect.poll(() => page.url()).not.toContain('sort=')
  })

  it('has a choice of the order where its headings have no room, and says that not all are sorted', async () => {
    const prepare = (asking: Page) =>
      asking.route('**/analytics?*order=largest*', async (route) => {
        const answer = (await (await route.fetch()).json()) as object
        return route.fulfill({ json: { ...answer, isCut: true } })
      })
    const { page } = await dashboard.visit('/payments', { viewport: { width: 390, height: 844 }, prepare })
    await page.getByLabel('Order').selectOption('Largest first')
    await page.getByText('Only the latest 2,000 of these payments are sorted by value.').waitFor()
    await page.getByRole('table', { name: 'Payments, largest first' }).waitFor()
    await page.getByLabel('Order').selectOption('Newest first')
    await expect.poll(() => page.getByText('are sorted by value').count()).toBe(0)
    await page.setViewportSize({ width: 1440, height: 900 })
    await page.getByRole('columnheader', { name: /^Value/ }).waitFor()
    expect(await page.getByLabel('Order').isVisible()).toBe(false)
  })
})

describe('a tablet', () => {
  const lists = [
    ['/payments', ['Amount', 'Value, USDC', 'Status', 'Endpoint', 'Payer', 'When']],
    ['/endpoints', ['Endpoint', 'Asked (402)', 'Payments', 'Conversion', 'Delivered', 'Revenue, USDC']],
    ['/payers', ['Payer', 'Payments', 'Paid', 'Revenue, USDC', 'First', 'Last']],
    ['/settlement', ['Sold', 'Received', 'Against the quote', 'State', 'Transaction', 'When']],
    ['/webhooks', ['Event', 'State', 'Attempts', 'Problem', 'When']],
    ['/problems', ['Problem', 'Received', 'Endpoint', 'When']],
  ] as const
  it.each(['/api/weather', 'GET /a/very/long/endpoint/name/that/nobody/would/choose/if/they/had/to/type/it'])(
    'shows lists as tables, and cuts nothing (%s)',
    async (name) => {
      const prepare = (asking: Page) => contractAnswers(asking, name)
      const { page } = await dashboard.visit('/sign-in', { viewport: { width: 768, height: 1024 }, prepare })
      for (const [screen, columns] of lists) {
        await goTo(page, screen)
        const table = page.locator('.table-box').first()
        await table.locator('tbody tr').first().waitFor()
        const shown = await table.locator('th').filter({ visible: true }).allInnerTexts()
        expect([screen, shown.map((text) => text.replace(/\s*[↑↓↕]$/, ''))]).toEqual([screen, columns])
        const cut = await page
          .locator('.table-box, th, td')
          .evaluateAll((all) => all.filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.textContent))
        expect([screen, cut]).toEqual([screen, []])
      }
    },
  )
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
  it.each([
    ['in the colours of the system', { forcedColors: 'active' }],
    ['on paper', { media: 'print' }],
  ] as const)('differs from a delivered one by an icon and a word (%s)', async (_name, media) => {
    const { page } = await dashboard.visit('/payments', { prepare: contractAnswers })
    await page.emulateMedia(media)
    const badges = page.locator('tbody .badge')
    await expect.poll(() => badges.allInnerTexts()).toEqual(['Verified', 'part refunded', 'Refunded'])
    const [part, whole] = [badges.nth(1), badges.last()]
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
