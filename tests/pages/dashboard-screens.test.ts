/** What the screens of the dashboard say, and that nothing moves on them, in a real browser. */
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { readShifts } from '../harness/layout-shift.ts'
import { cells } from '../harness/length.ts'
import { contractAnswers, readContract } from './contract.ts'
import { refundAnswer } from './contract-outgoing.ts'
import { abroad, changeAnswer, type DashboardFixture, goTo, openDashboard, watchShifts } from './dashboard-fixture.ts'

let dashboard: DashboardFixture
beforeAll(async () => {
  dashboard = await openDashboard()
})
afterAll(() => dashboard?.close())
afterEach(async () => {
  expect(await dashboard.leave()).toEqual([])
})

const tablet = { viewport: { width: 768, height: 1024 } }
const desk = { viewport: { width: 1440, height: 900 } }

describe('problems', () => {
  it.each(cells([1440, 768, 390], 3, 2))('move nothing while they load, also with a refund (%i px)', async (width) => {
    const at = new Date().toISOString()
    const { payment: _payment, ...refund } = refundAnswer('/api/weather', at)
    const sums = { required: '0.25', received: '0.25', token: 'USDC' }
    const late = { kind: 'late', endpoint: '/api/weather', timestamp: at, ...sums, refund }
    const prepare = async (page: Page) => {
      await watchShifts(page)
      await changeAnswer<object>(page, '/analytics/problems', (answer) => ({
        ...answer,
        records: Array.from({ length: 4 }, (_, index) => ({ ...late, id: `r${index}` })),
        refunds: { canSend: true, refunds: [refundAnswer('/api/weather', at)] },
      }))
    }
    const { page } = await dashboard.visit('/problems', { viewport: { width, height: 900 }, prepare })
    await page.getByRole('region', { name: 'Refunds' }).waitFor()
    const row = page.locator('tbody tr').first()
    await row.getByText('0.25 USDC', { exact: true }).filter({ visible: true }).first().waitFor()
    expect(await page.evaluate(readShifts)).toBeLessThan(0.01)
    const [text, beside] = await Promise.all(
      [row.locator('p').first(), row.locator('.refund')].map((one) => one.boundingBox()),
    )
    const isBeside = (text?.x ?? 0) + (text?.width ?? 0) <= (beside?.x ?? 0)
    expect(isBeside).toBe(width === 1440)
  })
})

describe('a visitor', () => {
  it.each(cells([1440, 390], 2, 1))('sees the sign-in form without a shift of the page (%i px)', async (width) => {
    const viewer = await dashboard.visit('', { ...abroad, viewport: { width, height: 900 }, prepare: watchShifts })
    viewer.forgive(/status of 401/)
    const { page } = viewer
    await page.getByRole('heading', { name: 'Sign in to see your payments' }).waitFor()
    expect(await page.evaluate(readShifts)).toBeLessThan(0.01)
    const box = await page.locator('.sign-in').boundingBox()
    expect((box?.x ?? 0) + (box?.width ?? 0) / 2).toBe(width / 2)
  })

  it('reads the message to sign as it is, line by line', async () => {
    const { page } = await dashboard.visit('/sign-in', desk)
    await page.getByRole('button', { name: 'Get the message to sign' }).click()
    const code = page.locator('.command code')
    await code.waitFor()
    const starts = await code.evaluate((one) => {
      const range = document.createRange()
      const texts = document.createTreeWalker(one, NodeFilter.SHOW_TEXT)
      const lefts: (readonly [string, number])[] = []
      let isStart = true
      for (let text = texts.nextNode(); text; text = texts.nextNode()) {
        const word = text.textContent ?? ''
        if (isStart && word.trim() !== '') {
          range.selectNodeContents(text)
          lefts.push([word, range.getBoundingClientRect().left - one.getBoundingClientRect().left])
        }
        isStart = word.includes('\n')
      }
      return lefts
    })
    expect(starts).toEqual(expect.arrayContaining(['URI:', 'Version:', 'Nonce:'].map((word) => [word, 0])))
    expect(await code.innerText()).toBe(await code.textContent())
  })
})

describe('an address', () => {
  it('without a screen says so, and marks no entry of the menu', async () => {
    const { page } = await dashboard.visit('/nothere')
    await page.getByRole('heading', { name: 'Page not found' }).waitFor()
    expect(await page.locator('.ways a[aria-current]').count()).toBe(0)
    await page.getByRole('link', { name: 'Go to Home' }).click()
    await page.locator('.plot').waitFor()
  })

  it.each([
    ['/endpoint?name=GET /api/unknown', 'Endpoint not found', 'All endpoints'],
    ['/payer?name=nobody', 'Payer not found', 'All payers'],
  ])('of an unknown record says so (%s)', async (address, title, link) => {
    const { page } = await dashboard.browse(address)
    await page.getByRole('heading', { name: title }).waitFor()
    expect(await page.locator('.plot, .tile').count()).toBe(0)
    await page.getByRole('link', { name: link }).click()
    await page.locator('tbody tr').first().waitFor()
  })

  it('of a payer without a name says so, and asks the service for nothing', async () => {
    const { page, asked } = await dashboard.visit('/payer?name=', { ...tablet, prepare: watchShifts })
    await page.getByRole('heading', { name: 'Payer not found' }).waitFor()
    expect([await page.evaluate(readShifts), asked.filter((path) => path === '/api/analytics/payer')]).toEqual([0, []])
  })
})

describe('a payment that its payer can still claim', () => {
  const visit = (refundableFrom: string) =>
    dashboard.visit('/payments?payment=r1', {
      timezoneId: 'Asia/Kolkata',
      prepare: async (page) => {
        await contractAnswers(page)
        await page.route('**/analytics/r1', async (route) => {
          const why = `the payer can still claim the payment; try again at ${refundableFrom}`
          const { refund: _refund, ...answer } = readContract('/analytics/r1')
          return route.fulfill({ json: { ...answer, notRefundable: why, refundableFrom } })
        })
      },
    })

  it('can be refunded from a time of the reader’s clock on', async () => {
    const later = new Date(Date.now() + 60_000)
    const { page } = await visit(later.toISOString())
    const text = page.getByText('The payer can still claim it. You can refund it from')
    await text.waitFor()
    expect(await text.innerText()).toMatch(/from (?:\d{1,2} \w+, |\w+ \d{1,2}, )?\d\d:\d\d on\.$/)
    expect(await page.getByText('Not possible').count()).toBe(0)
  })
})

describe('the service', () => {
  it('shows a route by the name that its endpoint has everywhere', async () => {
    const { page } = await dashboard.browse('/service')
    const row = page.getByRole('row').filter({ hasText: '/api/moon' })
    await row.waitFor()
    expect(await row.getByRole('link').innerText()).toBe('/api/moon')
    expect(await row.getByText('GET').count()).toBe(0)
  })

  it.each(cells([390, 768], 2))(
    'keeps each price, change and time on one line, and says what a price buys (%i px)',
    async (width) => {
      const { page } = await dashboard.visit('/service', {
        viewport: { width, height: 900 },
        prepare: (asking) => contractAnswers(asking, 'GET /a/route/with/a/long/name/that/fills/its/column'),
      })
      const routes = page.getByRole('region', { name: 'Routes and prices' })
      await routes.getByText('for a request, reopened in a browser for 10 minutes').waitFor()
      const whole = page.locator('tbody .whole')
      expect(await whole.allInnerTexts()).toEqual(['0.25 USDC', '0.01 → 0.02', '12 ms', '2,000 ms'])
      const heights = await whole.evaluateAll((all) => all.map((one) => one.getBoundingClientRect().height))
      expect(Math.max(...heights)).toBeLessThan(24)
      await goTo(page, '/endpoint?name=/api/weather')
      const price = page.getByRole('region', { name: 'Price', exact: true })
      await price.getByText('for a request, reopened in a browser for 10 minutes').waitFor()
    },
  )

  it('lists SOL beside the tokens with a mint', async () => {
    const { page } = await dashboard.browse('/service')
    const tokens = page.getByRole('region', { name: 'Tokens' })
    const sol = tokens.locator('.fact').filter({ hasText: /^SOL/ })
    await sol.getByText('Offered', { exact: true }).waitFor()
    await sol.getByText('has no mint').waitFor()
    await tokens.getByRole('button', { name: 'Copy the address of USDC' }).waitFor()
  })
})

describe('figures', () => {
  it('without a base say so: a conversion without requests, and a change from almost nothing', async () => {
    const prepare = async (page: Page) => {
      await contractAnswers(page)
      const { summary: whole, ...overview } = readContract('/api/analytics/overview')
      const summary = whole as { readonly previous: object }
      const funnel = { challenged: 0, paid: 4, delivered: 3 }
      const previous = { ...summary.previous, totalRevenue: '0.01' }
      await page.route('**/api/analytics/overview?*', (route) =>
        route.fulfill({ json: { ...overview, summary: { ...summary, funnel, previous } } }),
      )
    }
    const { page } = await dashboard.visit('', { prepare })
    const tile = (name: string) => page.locator('.tile').filter({ hasText: name })
    await tile('Conversion').locator('.tile-trend').getByText('no requests for payment').waitFor()
    expect(await tile('Conversion').locator('.tile-value').textContent()).toMatch(/^–, no requests for payment/)
    expect(await tile('Revenue').locator('.tile-trend').textContent()).toMatch(/^↑\u2009up by over 1,000% vs/)
  })

  it.each(cells(['', '/endpoints', '/payers'], 3))(
    'of a column have the same number of decimals (%s)',
    async (screen) => {
      const amounts = ['0.4', '0.135', '0.1', '0.031']
      const made = amounts.map((revenue, index) => ({ revenue, gross: revenue, refunded: index === 1 ? '0.02' : '0' }))
      const at = new Date().toISOString()
      const lines = made.map((one, index) => ({
        ...one,
        payments: 1,
        unvalued: 0,
        received: { USDC: one.revenue },
        index,
      }))
      const prepare = async (page: Page) => {
        await contractAnswers(page)
        const overview = readContract<{ readonly summary: object }>('/api/analytics/overview')
        const topEndpoints = lines.map(({ index, ...one }) => ({ ...one, path: `/${index}`, calls: 1 }))
        const give = (path: string, json: object) =>
          page.route(
            (url) => url.pathname === path,
            (route) => route.fulfill({ json }),
          )
        await give('/api/analytics/overview', { ...overview, summary: { ...overview.summary, topEndpoints } })
        const base = { revenueToken: 'USDC', from: null, to: null, next: null }
        const revenue = lines.map(({ index, ...one }) => ({ ...one, endpoint: `/${index}`, sentBack: {} }))
        await give('/analytics', { ...base, usage: [], revenue })
        const payers = lines.map(({ index, ...one }) => ({
          ...one,
          payer: `p${index}`,
          first: at,
          last: at,
          sentBack: {},
        }))
        await give('/analytics/payers', { ...base, payers })
      }
      const { page } = await dashboard.visit(screen, { ...desk, prepare })
      const table = page.locator('table').filter({ has: page.getByRole('columnheader', { name: /^Revenue, USDC/ }) })
      await table.waitFor()
      const headings = await table.locator('th').allInnerTexts()
      const read = (name: RegExp) =>
        table.locator(`td:nth-child(${headings.findIndex((one) => name.test(one)) + 1})`).allInnerTexts()
      expect(await read(/^Revenue/)).toEqual(['0.400', '0.135', '0.100', '0.031'])
      expect(await read(/^Refunded/)).toEqual(['–', '0.02', '–', '–'])
    },
  )
})

describe('the first steps', () => {
  it('lead to a resource that a browser can buy', async () => {
    const prepare = (page: Page) =>
      changeAnswer<{ setup: object }>(page, '/api/analytics/overview', (answer) => ({
        ...answer,
        records: [],
        setup: { ...answer.setup, hasPayments: false, frontPage: '/' },
      }))
    const { page } = await dashboard.visit('', { prepare })
    const step = page.getByRole('listitem').filter({ hasText: 'Make the first payment' })
    const read = (name: string) => step.getByRole('link', { name }).getAttribute('href')
    expect([await read('the page of the resource'), await read('front page')]).toEqual(['/api/moon', '/'])
  })
})

describe('rewards', () => {
  it('name the payee and the role in the heading of their column', async () => {
    const { page } = await dashboard.browse('/rewards', { prepare: contractAnswers })
    await page
      .getByRole('region', { name: 'Payees' })
      .getByRole('columnheader', { name: 'Payee and role', exact: true })
      .waitFor()
  })
})
