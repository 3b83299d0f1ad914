/** Details of the look of the dashboard in a real browser, of which the short form has the rules. */
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { contractAnswers } from './contract.ts'
import { abroad, type DashboardFixture, goTo, openDashboard } from './dashboard-fixture.ts'

let dashboard: DashboardFixture
beforeAll(async () => {
  dashboard = await openDashboard()
})
afterAll(() => dashboard?.close())
afterEach(async () => {
  expect(await dashboard.leave()).toEqual([])
})

describe('the look', () => {
  it('keeps the words of each figure within its tile on a phone with a wide font', async () => {
    const { page } = await dashboard.visit('?period=month', {
      viewport: { width: 390, height: 844 },
      prepare: contractAnswers,
    })
    const name = page.locator('.tile dt').first()
    await name.waitFor()
    expect(await name.textContent()).toMatch(/^Revenue · .* refunded$/)
    const cut = await page.locator('.tile > *').evaluateAll((all) => {
      for (const one of all) one.style.letterSpacing = '0.2em'
      return all.filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.textContent)
    })
    expect(cut).toEqual([])
  })

  it('shows small amounts beside the chart, and none is cut', async () => {
    const prepare = (asking: Page) =>
      asking.route('**/analytics/overview?*', async (route) => {
        const answer = await (await route.fetch()).json()
        const points = answer.points.slice(-1).map((point: object) => ({ ...point, revenue: '0.001' }))
        return route.fulfill({ json: { ...answer, points } })
      })
    const { page } = await dashboard.visit('', { prepare })
    await page.locator('.plot').getByText('0.00075').waitFor()
    const cut = await page.locator('.plot text').evaluateAll((all) => {
      const left = document.querySelector('.plot svg')?.getBoundingClientRect().left ?? 0
      return all.filter((one) => one.getBoundingClientRect().left < left).map((one) => one.textContent)
    })
    expect(cut).toEqual([])
  })
})

describe('the frame', () => {
  it('has choices on a phone that a finger can hit, and a link to the payer of a problem', async () => {
    const device = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true, prepare: contractAnswers }
    const { page } = await dashboard.visit('', device)
    await page.locator('.plot').waitFor()
    const heights = await page.locator('.choice label').evaluateAll((all) => all.map((one) => one.clientHeight))
    expect(Math.min(...heights)).toBeGreaterThanOrEqual(40)
    await page.setViewportSize({ width: 1440, height: 900 })
    const funnel = page.getByRole('region', { name: 'From request to delivery' })
    const rest = await funnel.evaluate((card) => {
      const last = card.querySelector('li:last-child')?.getBoundingClientRect().bottom ?? 0
      return card.getBoundingClientRect().bottom - last
    })
    expect(rest).toBeLessThan(60)
    await goTo(page, '/problems')
    const payer = page.locator('tbody tr').first().locator('td').nth(3).getByRole('link')
    await payer.click()
    await page.getByRole('heading', { name: '/api/weather' }).waitFor()
  })

  it('has no menu for a visitor who is not signed in', async () => {
    const viewer = await dashboard.visit('/payments', abroad)
    viewer.forgive(/status of 401/)
    await viewer.page.getByRole('heading', { name: 'Sign in to see your payments' }).waitFor()
    expect(await viewer.page.getByRole('navigation').count()).toBe(0)
  })

  it('has the sign-in form in the middle of a wide window', async () => {
    const { page } = await dashboard.visit('/sign-in', { viewport: { width: 1440, height: 900 } })
    const box = await page.locator('.sign-in').boundingBox()
    expect((box?.x ?? 0) + (box?.width ?? 0) / 2).toBe(720)
    await page.locator('summary', { hasText: 'Settings' }).waitFor()
  })
})
