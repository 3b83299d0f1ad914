/** The dashboard in a real browser, on a service that sells on a localnet. */
import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { cells } from '../harness/length.ts'
import { eventually } from '../harness/shop.ts'
import { contractAnswers } from './contract.ts'
import { type DashboardFixture, goTo, openDashboard, screens } from './dashboard-fixture.ts'

let dashboard: DashboardFixture
beforeAll(async () => {
  dashboard = await openDashboard()
})
afterAll(() => dashboard?.close())
afterEach(async () => {
  expect(await dashboard.leave()).toEqual([])
})

describe('home', () => {
  it('shows a payment as it is made, marked as new, and counts it', async () => {
    const { page } = await dashboard.visit()
    await page.getByRole('status').filter({ hasText: 'Live' }).waitFor()
    const feed = page.getByRole('region', { name: 'Live payments' })
    await feed.locator('tbody tr').first().waitFor()
    const before = await feed.getByRole('row').count()
    const payments = page.locator('.tile').filter({ hasText: 'Payments' }).locator('.tile-value')
    const counted = Number(await payments.textContent())
    await dashboard.service.buy('/api/weather')
    await expect.poll(() => feed.getByRole('row').count()).toBe(before + 1)
    expect(await feed.getByRole('row').nth(1).textContent()).toMatch(/0\.0125 USDC.*Verified.*\/api\/weather.*New/)
    expect(await feed.locator('[aria-live]').textContent()).toBe('New payment: 0.0125 USDC for /api/weather')
    await expect.poll(async () => Number(await payments.textContent())).toBe(counted + 1)
  })

  it('holds payments back while it is paused, and shows only the requested ones', async () => {
    const { page } = await dashboard.visit()
    const feed = page.getByRole('region', { name: 'Live payments' })
    await page.getByRole('status').filter({ hasText: 'Live' }).waitFor()
    await feed.locator('tbody tr').first().waitFor()
    await feed.getByRole('button', { name: 'Pause' }).click()
    const before = await feed.getByRole('row').count()
    await dashboard.service.buy('/api/moon')
    // One that was paid before may still be on its way here, too.
    const resume = feed.getByRole('button', { name: /^Resume, [1-9]\d* new$/ })
    await resume.waitFor()
    expect(await feed.getByRole('row').count()).toBe(before)
    await resume.click()
    await expect.poll(() => feed.getByRole('row').count()).toBeGreaterThan(before)
    await feed.getByLabel('Token').selectOption('SOL')
    expect(await feed.getByRole('row').count()).toBe(2)
  })

  it('says when the stream is broken, and comes back by itself', async () => {
    const prepare = (page: Page) =>
      page.route('**/analytics/stream', (route) => route.fulfill({ status: 503, body: '' }))
    const viewer = await dashboard.visit('', { prepare })
    viewer.forgive(/ERR_FAILED|503/)
    await viewer.page.getByText('Reconnecting…').waitFor()
    await viewer.page.unroute('**/analytics/stream')
    await viewer.page.getByRole('status').filter({ hasText: 'Live' }).waitFor()
  })

  it('draws the revenue beside the period before, also on a machine without a language, and offers it as a table', async () => {
    const posix = "Object.defineProperty(navigator, 'language', { get: () => 'en-US@posix', configurable: true })"
    const day = (ago: number) => new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10)
    const { page } = await dashboard.visit(`?period=custom&from=${day(1)}&to=${day(0)}`, { script: posix })
    const chart = page.locator('.plot svg')
    await chart.waitFor()
    expect(await chart.locator('.plot-bar').count()).toBe(48)
    expect(await chart.locator('.plot-before').count()).toBe(1)
    await page.getByText('previous 2 days').waitFor()
    const box = await chart.boundingBox()
    await page.mouse.move((box?.x ?? 0) + (box?.width ?? 0) - 20, (box?.y ?? 0) + 100)
    await expect.poll(() => page.locator('.tip').textContent()).toMatch(/USDC.*UTC.*USDC, .*UTC/)
    await page.getByRole('button', { name: 'Show as a table' }).click()
    expect(await page.locator('.chart-table tbody tr').count()).toBe(48)
    // The keyboard scrolls it.
    expect(await page.getByRole('group', { name: 'Over time' }).getAttribute('tabindex')).toBe('0')
  })

  it('says what a figure is compared with', async () => {
    const { page } = await dashboard.browse('?period=month', { prepare: contractAnswers })
    const trend = page.locator('.tile').filter({ hasText: 'Revenue' }).locator('.trend')
    await trend.getByText('vs. same days last month', { exact: true }).waitFor()
    await page.locator('.legend').getByText('same days last month', { exact: true }).waitFor()
  })

  it('names the test network, and the command to type before the first payment', async () => {
    const viewer = await dashboard.visit('/sign-in')
    const { page } = viewer
    await page.getByText('Test network (localnet): no real money.').waitFor()
    await page.route('**/analytics?*', (route) =>
      route.fulfill({ json: { revenueToken: 'USDC', records: [], next: null, names: { endpoints: [], tokens: [] } } }),
    )
    await page.route('**/analytics/payers?*', (route) =>
      route.fulfill({ json: { revenueToken: 'USDC', payers: [], next: null } }),
    )
    for (const screen of ['/payments', '/endpoints', '/payers']) {
      await goTo(page, screen)
      await page.getByText(`npx paystile pay ${dashboard.service.url}/api/moon`).waitFor()
      // A longer period has none either.
      await page.getByRole('heading', { name: 'No payments yet' }).waitFor()
    }
  })

  it('shows a frame before its script has loaded', async () => {
    const slow = await dashboard.visit('', { prepare: (asking) => asking.route('**/*.js', (route) => route.abort()) })
    slow.forgive(/ERR_FAILED/)
    await slow.page.getByText('paystile', { exact: true }).waitFor()
    await slow.page.getByRole('status').filter({ hasText: 'Loading…' }).waitFor()
  })

  it('loads its data with one request, and weighs at most 60 kB', async () => {
    const { page, asked } = await dashboard.visit()
    await page.locator('.plot svg').waitFor()
    const data = asked.filter((path) => !path.startsWith('/dashboard') && path !== '/analytics/stream')
    expect(data).toEqual(['/api/analytics/overview'])
    const files = [...new Set(asked)].filter((path) => path.startsWith('/dashboard'))
    const bytes = files.map((path) => {
      const name = path === '/dashboard' ? '/index.html' : path.slice('/dashboard'.length)
      return gzipSync(readFileSync(new URL(`../../dist/pages/dashboard${name}`, import.meta.url)), { level: 9 }).length
    })
    // The document, one script, one style sheet and the mark: a script that imports another costs a round trip.
    expect(files.length).toBe(4)
    const sum = bytes.reduce((one, other) => one + other, 0)
    process.stdout.write(`dashboard home: ${(sum / 1000).toFixed(1)} kB gzip in ${files.length} files\n`)
    expect(sum).toBeLessThanOrEqual(60_000)
  })
})

describe('payments', () => {
  it('are found by their id, from anywhere by one key', async () => {
    const [, wanted] = await dashboard.service.list()
    const viewer = await dashboard.visit()
    // A service that cannot search yet says so, and the page finds the record otherwise.
    viewer.forgive(/status of 400/)
    const { page } = viewer
    await page.getByRole('heading', { name: 'Home' }).waitFor()
    await page.keyboard.press('/')
    await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe('search')
    await page.keyboard.type('jk?')
    expect(await page.locator('#search').inputValue()).toBe('jk?')
    await page.locator('#search').fill(wanted?.id ?? '')
    await page.keyboard.press('Enter')
    await expect.poll(() => page.locator('tbody tr').count()).toBe(1)
    expect(await page.locator('[data-row]').getAttribute('data-row')).toBe(wanted?.id)
    // A payer is found while the seller types, by its two ends as the page shortens them.
    const { payer = '' } = wanted ?? {}
    await page.locator('#search').fill(`${payer.slice(0, 6)}…${payer.slice(-4)}`)
    await expect.poll(() => page.locator('tbody tr').count()).toBeGreaterThan(1)
    expect(new URL(page.url()).searchParams.get('q')).toContain('…')
  })

  it('are walked through and opened with the keyboard alone', async () => {
    const list = await dashboard.service.list()
    const { page } = await dashboard.visit('/payments')
    await page.locator('[data-row]').first().waitFor()
    const focused = () => page.evaluate(() => (document.activeElement as HTMLElement).dataset['row'])
    await page.keyboard.press('j')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('k')
    expect(await focused()).toBe(list[0]?.id)
    await page.keyboard.press('Enter')
    const drawer = page.getByRole('dialog', { name: 'Payment' })
    await drawer
      .getByText('The transaction is on chain')
      .or(drawer.getByText('does not report single checks'))
      .waitFor()
    for (let press = 0; press < 12; press += 1) await page.keyboard.press('Tab')
    // Beyond the last comes the browser itself, never the page behind.
    expect(await page.evaluate(() => document.activeElement?.closest('dialog, body')?.tagName)).toMatch(/DIALOG|BODY/)
    expect(await page.evaluate(() => document.activeElement?.closest('main'))).toBeNull()
    await page.keyboard.press('j')
    await expect.poll(() => new URL(page.url()).searchParams.get('payment')).toBe(list[1]?.id)
    await page.keyboard.press('Escape')
    await drawer.waitFor({ state: 'detached' })
    await expect.poll(focused).toBe(list[0]?.id)
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keys' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  })

  it('are filtered, and the address keeps it', async () => {
    const { page } = await dashboard.visit('/payments')
    await page.getByLabel('Token').selectOption('SOL')
    await expect.poll(() => page.locator('tbody tr').count()).toBe(1)
    expect(page.url()).toContain('token=SOL')
    await page.reload()
    await page.locator('tbody tr').first().waitFor()
    expect(await page.locator('tbody tr').count()).toBe(1)
    await page.getByLabel('Endpoint').selectOption('/api/weather')
    await page.getByRole('heading', { name: 'No matching payments' }).waitFor()
    await page.getByRole('link', { name: 'Clear' }).click()
    await expect.poll(() => page.locator('tbody tr').count()).toBeGreaterThan(2)
  })

  it('are reached by the palette and by saved views, with the keyboard alone', async () => {
    const viewer = await dashboard.visit('/payments?token=SOL')
    const { page } = viewer
    await page.locator('tbody tr').first().waitFor()
    await page.locator('summary', { hasText: 'Views' }).press('Enter')
    await page.getByLabel('Save these filters as').fill('Paid in SOL')
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: 'Paid in SOL' }).waitFor()
    await page.keyboard.press('Control+k')
    const field = page.getByRole('combobox', { name: /^Screen, endpoint/ })
    await field.waitFor()
    expect(await viewer.violations()).toEqual([])
    await page.keyboard.type('moon')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: '/api/moon' }).waitFor()
    await page.reload()
    await page.getByRole('heading', { name: '/api/moon' }).waitFor()
    await page.keyboard.press('Meta+k')
    await field.fill('paid in')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Payments' }).waitFor()
    expect(new URL(page.url()).searchParams.get('token')).toBe('SOL')
    await page.keyboard.press('Control+k')
    await field.fill('e')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  })

  it('are taken along by the service, with the filters that are set', async () => {
    const { page } = await dashboard.visit('/payments?token=SOL')
    await page.locator('tbody tr').first().waitFor()
    await page.getByText('Export').click()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'CSV' }).click(),
    ])
    const lines = readFileSync(await download.path(), 'utf8')
      .trim()
      .split('\r\n')
    expect(lines).toHaveLength(2)
    expect(lines[1]).toContain(',SOL,')
  })
})

describe('the other screens', () => {
  it('tell of endpoints, and give the table as CSV', async () => {
    const { page } = await dashboard.visit('/endpoints')
    const row = page.getByRole('row').filter({ hasText: '/api/moon' })
    await row.waitFor()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export CSV' }).click(),
    ])
    expect(download.suggestedFilename()).toMatch(/^paystile-endpoints-\d{4}-\d\d-\d\d\.csv$/)
    expect(readFileSync(await download.path(), 'utf8')).toMatch(/^\ufeffendpoint,calls,payments,.*\r\n/)
    const names = () => page.locator('tbody .row-link').evaluateAll((links) => links.map((link) => link.textContent))
    const heading = page.getByRole('columnheader', { name: 'Endpoint' })
    await heading.getByRole('button').click()
    await expect.poll(() => heading.getAttribute('aria-sort')).toBe('ascending')
    const ascending = await names()
    await page.keyboard.press('Enter')
    await expect.poll(names).toEqual(ascending.toReversed())
    expect(page.url()).toContain('sort=-endpoint')
  })

  it('count and sum the endpoints and the payers, and sort them by any figure', async () => {
    const { page } = await dashboard.browse('/endpoints', { prepare: contractAnswers })
    const totals = page.locator('.list-totals')
    const made = ['4 payments', '88.20 USDC revenue', '100.00 earned, 11.80 refunded']
    const said = () => totals.locator('> *').allInnerTexts()
    await expect.poll(said).toEqual(['1 endpoint', '9 calls', ...made])
    await page.getByRole('button', { name: 'Earned' }).click()
    await expect.poll(() => page.url()).toContain('sort=-gross')
    await goTo(page, '/payers')
    await expect.poll(said).toEqual(['1 payer', ...made])
    await page.getByRole('button', { name: 'Payments' }).click()
    await expect.poll(() => page.url()).toContain('sort=-payments')
  })

  it('tell which payers are shown, and in which order, if there are more', async () => {
    const prepare = async (asking: Page) => {
      await contractAnswers(asking)
      await asking.route('**/analytics/payers?*', async (route) => {
        const { searchParams } = new URL(route.request().url())
        const paid = { payments: 1, revenue: '0.1', received: { USDC: '0.1' }, sentBack: {} }
        const at = new Date().toISOString()
        const first = searchParams.has('cursor') ? 25 : 0
        const payers = Array.from({ length: first === 0 ? 25 : 3 }, (_, index) => ({
          ...{ ...paid, payer: `payer-${first + index}`, first: at, last: at },
        }))
        return route.fulfill({ json: { revenueToken: 'USDC', payers, next: first === 0 ? 'more' : null } })
      })
    }
    const { page } = await dashboard.visit('/payers?sort=payments', { prepare })
    const totals = page.locator('.list-totals')
    const said = () => totals.locator('> *').allInnerTexts()
    const byRevenue = ['Sorted by revenue, the largest first.', 'Sort by last payment']
    await expect.poll(said).toEqual(['Payers 1 to 25, more on the next page', ...byRevenue])
    const sortable = page.getByRole('columnheader').getByRole('button')
    expect(await sortable.allInnerTexts()).toEqual([
      expect.stringContaining('Revenue'),
      expect.stringContaining('Last'),
    ])
    await page.getByRole('button', { name: 'Next' }).click()
    await expect.poll(said).toEqual(['Payers 26 to 28', ...byRevenue])
    await page.getByRole('button', { name: 'Last' }).click()
    await expect.poll(() => page.url()).toContain('sort=-last')
    const byTime = ['Sorted by last payment, the latest first.', 'Sort by revenue']
    await expect.poll(said).toEqual(['Payers 1 to 25, more on the next page', ...byTime])
    await page.getByRole('link', { name: 'Sort by revenue' }).click()
    await expect.poll(said).toEqual(['Payers 1 to 25, more on the next page', ...byRevenue])
  })

  it('lead from an endpoint to its page, to a payer, and to a payment', async () => {
    const sold = (await dashboard.service.list()).filter(({ endpoint }) => endpoint === '/api/moon').length
    const { page } = await dashboard.visit('/endpoints')
    await page.getByRole('link', { name: '/api/moon' }).click()
    await page.getByRole('heading', { name: '/api/moon' }).waitFor()
    await page.getByRole('region', { name: 'Price' }).getByText('for a request').waitFor()
    await page.locator('.plot svg').waitFor()
    const tile = page.locator('.tile').filter({ hasText: 'Payments' })
    await expect.poll(() => tile.locator('.tile-value').innerText()).toBe(String(sold))
    const latest = page.getByRole('region', { name: 'Latest payments' })
    expect(await latest.locator('tbody tr').count()).toBe(Math.min(sold, 10))
    await latest.locator('.cell-link .name').first().click()
    await page.getByRole('heading', { name: /^Payer / }).waitFor()
    await latest.getByRole('link', { name: '/api/weather' }).first().waitFor()
    await latest.locator('.row-link').first().click()
    await page.getByRole('dialog', { name: 'Payment' }).waitFor()
  })

  it('show what is for sale at which price, and the tokens that are not offered', async () => {
    const { page } = await dashboard.visit('/service')
    const routes = page.getByRole('region', { name: 'Routes and prices' })
    await routes.getByRole('row').filter({ hasText: '/api/weather' }).getByText('0.0125 USDC for a request').waitFor()
    const tokens = page.getByRole('region', { name: 'Tokens' })
    await tokens.locator('.fact').filter({ hasText: 'USDC' }).getByText('Offered', { exact: true }).waitFor()
    const nodes = page.getByRole('region', { name: 'Nodes' })
    await nodes.getByRole('row').filter({ hasText: 'node 1' }).getByText('Up', { exact: true }).waitFor()
    await page.getByRole('region', { name: 'Versions' }).getByText(process.versions.node).waitFor()
    await page.getByRole('region', { name: 'Versions' }).getByText('SQLite').waitFor()
    const status = { alerts: [{ kind: 'token_withheld', detail: 'USDC: it has no rate' }], problems: {} }
    await page.route('**/api/status', (route) => route.fulfill({ json: status }))
    await page.route('**/api/service', async (route) => {
      const answer = (await (await route.fetch()).json()) as object
      await route.fulfill({ json: { ...answer, status } })
    })
    await page.reload()
    await tokens.locator('.fact').filter({ hasText: 'USDC' }).getByText('Not offered').waitFor()
    await page.getByRole('alert').getByText('A token is not offered. USDC: it has no rate.').waitFor()
  })

  it('edit prices: the change is shown before it is saved, and a refusal with its reason', async () => {
    const posted: unknown[] = []
    const line = { route: 0, name: 'GET /api/weather', line: 7, before: '0.01', after: '0.05' }
    const prepare = async (page: Page) => {
      await contractAnswers(page)
      await page.route('**/api/prices', async (route) => {
        const body = route.request().postDataJSON() as { readonly save: boolean }
        posted.push(body)
        const isRefused = body.save && posted.length === 2
        const stale = { code: 'prices_not_saved', detail: 'paystile.yaml was not written: EROFS.' }
        if (isRefused) await route.fulfill({ status: 500, json: stale })
        else await route.fulfill({ json: { version: 'v2', isSaved: body.save, lines: [line] } })
      })
    }
    const viewer = await dashboard.visit('/service', { prepare })
    viewer.forgive(/status of 500/)
    const { page } = viewer
    await page.getByRole('region', { name: 'Upstreams' }).getByText('Down', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Edit prices' }).click()
    const panel = page.getByRole('dialog')
    const review = panel.getByRole('button', { name: 'Review the change' })
    expect(await review.isDisabled()).toBe(true)
    expect(await panel.getByRole('textbox').nth(1).isDisabled()).toBe(true)
    // The browser reports what is no price.
    await panel.getByRole('textbox').first().fill('five')
    await review.click()
    expect(posted).toEqual([])
    await panel.getByRole('textbox').first().fill('0.05')
    await review.click()
    await panel.getByText('paystile.yaml, line 7').waitFor()
    expect(await panel.locator('del, ins').allTextContents()).toEqual(['Old: - price: 0.01', 'New: + price: 0.05'])
    await panel.getByRole('button', { name: 'Save and apply' }).click()
    await panel.getByRole('alert').getByText('paystile.yaml was not written: EROFS.').waitFor()
    await panel.getByRole('button', { name: 'Save and apply' }).click()
    await panel.getByText('The gateway sells at the new prices.').waitFor()
    await panel.getByRole('button', { name: 'Done' }).click()
    await panel.waitFor({ state: 'detached' })
    const prices = [{ route: 0, price: '0.05' }]
    expect(posted).toEqual([false, true, true].map((save) => ({ version: 'v1', prices, save })))
  })

  it('list problems by kind, with their meaning and the next step', async () => {
    const { page } = await dashboard.browse('/problems', { prepare: contractAnswers })
    await page.getByRole('link', { name: 'Underpaid 3' }).click()
    await page.getByText('What to do:').waitFor()
    const problems = page.getByRole('region', { name: 'All problems' })
    await expect.poll(() => problems.locator('tbody tr').count()).toBe(1)
    await goTo(page, '/payers')
    await page.getByRole('row').filter({ hasText: '100.00 USDC' }).waitFor()
  })

  it('show net revenue, with gross and refunds beside it', async () => {
    const { page } = await dashboard.browse('', { prepare: contractAnswers })
    const made = '100.00 earned, 11.80 refunded'
    const tile = page.locator('.tile').filter({ hasText: 'Revenue' })
    await tile.getByText('11.80 refunded').waitFor()
    expect(await tile.locator('.tile-value').innerText()).toBe('88.20 USDC')
    // The average payment is of what was paid.
    await page.locator('.tile').filter({ hasText: 'Average payment' }).getByText('25.00').waitFor()
    await page.locator('.readout').getByText(made).waitFor()
    await page.getByText('Show as a table').click()
    const cells = ['100.00', '11.80', '88.20 USDC', '50.00 USDC']
    await expect.poll(async () => (await page.locator('.chart-table td').allInnerTexts()).slice(1)).toEqual(cells)
    await page.locator('.bars-hint').getByText('11.80 refunded').waitFor()
    await page.getByText('The revenue excludes 1 payment that had no rate when paid.').waitFor()
    for (const screen of ['/endpoints', '/payers', '']) {
      await goTo(page, screen)
      const table = page.getByRole('table').filter({ hasText: 'Refunded' }).first()
      await table.getByRole('columnheader', { name: 'Earned' }).waitFor()
      const row = table.locator('tbody tr').first()
      for (const figure of ['100.00', '11.80', '88.20']) await row.getByText(figure, { exact: true }).waitFor()
    }
    await goTo(page, '/payments?payment=r1')
    await page.locator('.facts').getByText('0.05').first().waitFor()
    await page.locator('.facts').getByText('0.20 USDC', { exact: true }).waitFor()
  })

  it('say so where the service is older than they are', async () => {
    const viewer = await dashboard.visit('/sign-in')
    viewer.forgive(/status of 404/)
    const { page } = viewer
    await page.route(/\/analytics\/(payers|problems)/, (route) =>
      route.fulfill({ status: 404, json: { code: 'not_found', detail: 'No resource exists at this address.' } }),
    )
    for (const screen of ['/payers', '/problems']) {
      await goTo(page, screen)
      await page.getByRole('heading', { name: 'Not available on this service yet' }).waitFor()
    }
  })

  it('show the problem while the service does not respond, and continue afterwards', async () => {
    const prepare = (asking: Page) => asking.route('**/analytics?*', (route) => route.abort())
    const viewer = await dashboard.visit('/payments', { prepare })
    viewer.forgive(/ERR_/)
    const { page } = viewer
    await page.getByRole('heading', { name: 'The service does not respond' }).waitFor()
    await page.unroute('**/analytics?*')
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.locator('tbody tr').first().waitFor()
    await page.context().setOffline(true)
    await page.getByText('You are offline.').waitFor()
    await page.context().setOffline(false)
    await page.getByText('You are offline.').waitFor({ state: 'detached' })
  })

  it('T177: name the routes that cannot deliver', async () => {
    dashboard.service.pause('/api/moon', 'the upstream is out of reach')
    onTestFinished(() => dashboard.service.pause('/api/moon'))
    await eventually(
      async () => JSON.stringify(await (await fetch(`${dashboard.service.url}/readyz`)).json()),
      (text) => text.includes('out of reach'),
    )
    const { page } = await dashboard.visit('/payments')
    const alert = page
      .getByRole('alert')
      .getByText('A resource is down, so it is not sold. /api/moon: the upstream is out of reach.')
    await alert.waitFor()
    const strip = page.getByRole('alert')
    expect(await strip.getAttribute('tabindex')).toBe(null)
    // There, its line has no link that the keyboard could reach.
    await goTo(page, '/service')
    await expect.poll(() => strip.getAttribute('tabindex')).toBe('0')
  })

  it('T138: show names that are markup as text, and nothing else', async () => {
    const evil = '"><img src=x onerror="window.caught=1"><script>window.caught=1</script>'
    const { page } = await dashboard.visit('/sign-in', { prepare: (asking) => contractAnswers(asking, evil) })
    for (const screen of cells(screens, 3)) {
      await goTo(page, screen)
      const main = page.locator('#main')
      const shown = main.getByText(evil).or(main.getByTitle(evil)).locator('visible=true')
      if (screen !== '/sign-in') await shown.first().waitFor()
      expect([screen, await page.locator('img[src=x]').count()]).toEqual([screen, 0])
    }
    await goTo(page, `/payments?payment=r1&q=${encodeURIComponent(evil)}`)
    await page.getByRole('dialog').getByText(evil).first().waitFor()
    expect(await page.evaluate(() => [document.querySelectorAll('img[src=x]').length, 'caught' in window])).toEqual([
      0,
      false,
    ])
  })
})
