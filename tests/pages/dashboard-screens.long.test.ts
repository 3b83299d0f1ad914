/** Details of the screens of the dashboard in a real browser, of which the short form has the rules. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { contractAnswers, readContract } from './contract.ts'
import { changeAnswer, type DashboardFixture, goTo, openDashboard } from './dashboard-fixture.ts'

let dashboard: DashboardFixture
beforeAll(async () => {
  dashboard = await openDashboard()
})
afterAll(() => dashboard?.close())
afterEach(async () => {
  expect(await dashboard.leave()).toEqual([])
})

const phone = { viewport: { width: 390, height: 844 } }
const tablet = { viewport: { width: 768, height: 1024 } }
const desk = { viewport: { width: 1440, height: 900 } }

describe('webhooks', () => {
  interface Answer {
    readonly receivers: readonly object[]
    readonly deliveries: readonly object[]
  }
  const address = 'https://shop.example/hooks/paystile/payments/of/this/service'
  const visit = (names: readonly string[]) =>
    dashboard.visit('/webhooks', {
      ...tablet,
      prepare: (page) =>
        changeAnswer<Answer>(page, '/api/webhooks', () => ({
          receivers: names.map((name) => ({ name, address, events: ['payment.confirmed'] })),
          deliveries: names.map((receiver) => ({
            ...{ id: receiver, type: 'payment.confirmed', state: 'waiting', receiver, address },
            ...{ at: new Date().toISOString(), attempts: 1, why: '' },
          })),
        })),
    })

  it('do not repeat the only receiver in each line on a tablet', async () => {
    const { page } = await visit(['one'])
    await page.locator('tbody tr').first().waitFor()
    const heading = page.getByRole('columnheader', { name: 'Receiver' })
    expect(await heading.isVisible()).toBe(false)
    await page.setViewportSize(desk.viewport)
    await heading.waitFor()
  })

  it('show each of several receivers in one line, and cut off only its start', async () => {
    const { page } = await visit(['one', 'other'])
    const cell = page.getByRole('cell', { name: address.slice('https://'.length) }).first()
    await cell.waitFor()
    expect(await cell.getAttribute('title')).toBe(address)
    expect(await page.locator('.table-box').evaluate((one) => one.scrollWidth - one.clientWidth)).toBe(0)
    const [end, edge] = await cell.evaluate((one) =>
      [one.querySelector('bdi'), one].map((part) => part?.getBoundingClientRect().right ?? 0),
    )
    expect(end).toBeLessThanOrEqual(edge ?? 0)
    await page.getByRole('row').getByText('Retrying').first().waitFor()
    const height = (selector: string) =>
      page
        .locator(selector)
        .first()
        .evaluate((one) => one.clientHeight)
    expect(await height('tbody tr')).toBeLessThan(48)
  })

  it('name the command that tests a receiver in one line on a wide screen', async () => {
    const { page } = await dashboard.visit('/webhooks', desk)
    const lines = await page.locator('.command code').evaluate((one) => one.clientHeight / 16)
    expect(lines).toBeLessThan(3)
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

  it('has the day beside the time if that is not today', async () => {
    const { page } = await visit('2030-12-03T13:41:47.197Z')
    await page.getByText('You can refund it from Dec 3, 19:12 on.').waitFor()
  })
})

describe('the service', () => {
  it('keeps the button that copies a value beside it', async () => {
    const { page } = await dashboard.visit('/service', desk)
    const fact = page.locator('.fact').filter({ hasText: 'Genesis' })
    await fact.waitFor()
    const ends = await fact.evaluate((one) => {
      const range = document.createRange()
      range.selectNodeContents(one.querySelector('code') as Element)
      const button = one.querySelector('button')?.getBoundingClientRect().left ?? 0
      return button - range.getBoundingClientRect().right
    })
    expect(ends).toBeLessThan(12)
  })

  it('keeps the method and the path of a route together', async () => {
    const { page } = await dashboard.visit('/service', { prepare: (asking) => contractAnswers(asking, 'POST /orders') })
    const cell = page.getByRole('region', { name: 'Upstreams' }).locator('td:last-child').first()
    expect(await cell.textContent()).toBe('POST\u00a0/orders')
  })
})

describe('a phone', () => {
  it('shows the name of a figure right above it', async () => {
    for (const prepare of [contractAnswers, undefined]) {
      const { page } = await dashboard.visit('', { ...phone, ...(prepare && { prepare }) })
      await page.locator('.tile').first().waitFor()
      const gaps = await page.locator('.tile').evaluateAll((tiles) =>
        tiles.map((tile) => {
          const range = document.createRange()
          range.selectNodeContents(tile.querySelector('dt') as Element)
          const value = tile.querySelector('.tile-value')?.getBoundingClientRect().top ?? 0
          return value - range.getBoundingClientRect().bottom
        }),
      )
      expect(gaps).toEqual(gaps.map(() => expect.toSatisfy((gap) => gap < 8)))
    }
  })

  it('keeps the name of an open screen within its part of the bar', async () => {
    const { page } = await dashboard.visit('/settlement', phone)
    for (const screen of ['/settlement', '/webhooks']) {
      await goTo(page, screen)
      const part = page.locator('.ways summary')
      const room = await part.evaluate((one) => {
        const { left, right } = one.getBoundingClientRect()
        const range = document.createRange()
        range.selectNode(one.querySelector('.way-open')?.firstChild as Node)
        const parts = [range, ...one.querySelectorAll('.icon')].map((part) => part.getBoundingClientRect())
        return Math.min(...parts.map((part) => Math.min(part.left - left, right - part.right)))
      })
      expect([screen, room]).toEqual([screen, expect.toSatisfy((one) => one >= 4)])
    }
  })

  it('has no list of keys, and its settings are sentences', async () => {
    const { page } = await dashboard.visit('/payments', { ...phone, hasTouch: true, isMobile: true })
    await page.locator('summary', { hasText: 'Settings' }).click()
    await page.getByText('Times in').waitFor()
    expect(await page.locator('.menu-list').getByRole('button', { name: /^Keys/ }).count()).toBe(0)
    const words = await page.locator('.setting label').allInnerTexts()
    expect(words).toContain('Local time')
  })
})

describe('paper', () => {
  it('has the dates of the period', async () => {
    const { page } = await dashboard.visit('/endpoints?period=custom&from=2026-03-01&to=2026-03-07')
    await page.locator('tbody tr, .notice').first().waitFor()
    await page.emulateMedia({ media: 'print' })
    const shown = page.locator('.period').filter({ visible: true })
    expect(await shown.innerText()).toBe('Mar 1, 2026 – Mar 7, 2026')
  })

  it('breaks no name of an endpoint within a word', async () => {
    const { page } = await dashboard.visit('/sign-in', {
      viewport: { width: 718, height: 1016 },
      prepare: (asking) => contractAnswers(asking, '/api/calendar'),
    })
    await page.emulateMedia({ media: 'print' })
    for (const screen of ['', '/endpoints', '/payments', '/problems', '/service']) {
      await goTo(page, screen)
      await page.locator('td.endpoint').first().waitFor()
      const lines = await page.locator('td.endpoint').evaluateAll((cells) =>
        cells.map((cell) => {
          const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT)
          let most = 0
          for (let text = texts.nextNode(); text; text = texts.nextNode()) {
            const start = (text.textContent ?? '').indexOf('calendar')
            if (start < 0) continue
            const range = document.createRange()
            range.setStart(text, start)
            range.setEnd(text, start + 'calendar'.length)
            most = Math.max(most, range.getClientRects().length)
          }
          return most
        }),
      )
      expect([screen, Math.max(...lines)]).toEqual([screen, 1])
    }
  })
})
