/** The payments of the dashboard in a real browser: what a row, the sum and the panel say of payments with a problem. */
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { cells } from '../harness/length.ts'
import { refundAnswer } from './contract-outgoing.ts'
import { type DashboardFixture, goTo, openDashboard } from './dashboard-fixture.ts'
import {
  type Answer,
  answering,
  detail,
  invented,
  list,
  open,
  received,
  records,
  totals,
  verified,
} from './payments-fixture.ts'

let dashboard: DashboardFixture
beforeAll(async () => {
  dashboard = await openDashboard()
})
afterAll(() => dashboard?.close())
afterEach(async () => {
  expect(await dashboard.leave()).toEqual([])
})

const solana = { token: 'SOL', amount: '0.000133', worth: '' }
const unvalued = [
  { ...verified, ...open, ...solana, id: 'waiting' },
  { ...verified, ...open, ...solana, id: 'short', problem: 'underpaid' },
  { ...verified, ...solana, id: 'sol' },
]
const several = {
  ...list,
  totals: { ...totals, unaccepted: 0, refunded: '0', unvalued: 1, received: { ...received, SOL: '0.000133' } },
}
const page1 = Array.from({ length: 25 }, (_, index) => ({ ...verified, id: `one-${index}` }))
const page2 = Array.from({ length: 3 }, (_, index) => ({ ...verified, id: `two-${index}` }))

/** Each filter has an answer of its own, so that one document shows all of them. */
function answerOf(query: URLSearchParams): Answer {
  if (query.has('cursor')) return { revenueToken: 'USDC', records: page2, next: null }
  const status = query.get('status')
  const sums = { ...list.totals, payments: 20, unaccepted: 7, notOnChain: 1, isCut: status === 'Expired' }
  if (status === 'Verified' || status === 'Expired') return { ...list, records: page1, next: 'more', totals: sums }
  if (query.get('token') === 'SOL') return { ...list, records: unvalued }
  return query.get('token') === 'NATIVE' ? several : list
}

const allowances = [
  [{ unit: 'second', amount: '600' }, '0', ['10 minutes']],
  [{ unit: 'request', amount: '10' }, '3', ['10 requests', '3 requests']],
  [{ unit: 'byte', amount: '5000000' }, '0', ['5 MB', 'nothing']],
  [{ unit: 'file', amount: '5000000' }, '2500000', ['this file (5 MB)', '2.5 MB']],
] as const

const prepare = answering(answerOf, {
  good: { ...verified, ...detail },
  above: { ...verified, ...detail, id: 'above', required: '0.001' },
  waiting: { ...unvalued[0], ...detail },
  short: { ...records[1], ...detail },
  late: {
    ...records[2],
    ...detail,
    usableUntil: verified.timestamp,
    allowance: { unit: 'request', amount: '1' },
    remaining: '1',
  },
  invented: {
    ...invented,
    ...detail,
    timeline: [{ at: verified.timestamp, event: 'claimed', note: 'No node has returned it yet.' }],
  },
  ...Object.fromEntries(
    allowances.map(([allowance, remaining]) => [
      allowance.unit,
      { ...verified, ...detail, id: allowance.unit, allowance, remaining },
    ]),
  ),
})

describe('a row of the payments', () => {
  it('names the kind of its problem', async () => {
    const { page } = await dashboard.browse('/payments', { prepare })
    const badges = page.locator('tbody .badge')
    await badges.first().waitFor()
    const words = (await badges.allInnerTexts()).map((text) => text.replace(/\s+/g, ' ').trim())
    expect(words).toEqual([
      ...['Not on chain', 'Underpaid', 'Late', 'Surplus', 'Pending unclaimed', 'Verified', 'part refunded'],
      ...['Verified', 'Verified'],
    ])
    const values = await page.locator('tbody td:nth-child(2)').allInnerTexts()
    expect(values.slice(0, 2)).toEqual(['–\n, not valued: not on chain', '0.008'])
    expect(values.at(-2)).toBe('no rate')
    expect(await page.locator('tbody tr').first().locator('td').first().innerText()).toMatch(/^–/)
  })

  it('promises a delivery only to a payment that can still get one', async () => {
    const { page } = await dashboard.browse('/payments', { prepare })
    const deliveries = page.locator('tbody td:nth-child(6)')
    await deliveries.first().waitFor()
    const words = (await deliveries.allInnerTexts()).map((text) => text.replace(/\s+/g, ' '))
    const none = '– , not accepted, so nothing is delivered'
    expect(words.slice(0, 6)).toEqual([none, none, none, 'Not yet', 'Not yet', 'Delivered'])
    await page.locator('[data-row=late]').click()
    const facts = page.getByRole('dialog').locator('.fact')
    await facts.filter({ hasText: 'Received' }).waitFor()
    expect(await facts.filter({ hasText: /Usable until|Bought|Left/ }).count()).toBe(0)
  })

  it('names a missing rate only where one is missing', async () => {
    const { page } = await dashboard.browse('/payments?token=SOL', { prepare })
    const values = page.locator('tbody td:nth-child(2)')
    await values.first().waitFor()
    const texts = async () => (await values.allInnerTexts()).map((text) => text.replace(/\s/g, ' '))
    await expect.poll(texts).toEqual(['– , valued when it is claimed', '– , not valued: not accepted', 'no rate'])
    await page.locator('[data-row=waiting]').click()
    await page.getByRole('dialog').locator('.fact').filter({ hasText: 'valued when it is claimed' }).waitFor()
  })

  it.each(cells(['/payments', '/endpoint?name=/api/weather', ''], 3))(
    'opens its payment wherever a finger taps it, except at another link (%s)',
    async (screen) => {
      const mixed = [{ ...verified, id: 'valued', token: 'SOL', amount: '0.000133' }, ...records]
      const mixing = async (page: Page) => {
        await answering(() => ({ ...list, records: mixed }))(page)
        for (const part of ['overview', 'endpoint'])
          await page.route(`**/api/analytics/${part}?*`, async (route) => {
            const answer: Answer = await (await route.fetch()).json()
            return route.fulfill({ json: { ...answer, records: mixed } })
          })
      }
      const { page } = await dashboard.visit(screen, {
        viewport: { width: 390, height: 3_000 },
        hasTouch: true,
        prepare: mixing,
      })
      const rows = page.locator('tbody tr:has(.row-link[data-row])')
      await rows.nth(mixed.length - 1).waitFor()
      const missed = await rows.evaluateAll((all) =>
        all.flatMap((row) => {
          const { left, top, width, height } = row.getBoundingClientRect()
          const points = Array.from({ length: 60 * 12 }, (_, at) => [
            left + (width * ((at % 60) + 0.5)) / 60,
            top + (height * (Math.floor(at / 60) + 0.5)) / 12,
          ])
          const hits = points.map(([x = 0, y = 0]) => document.elementFromPoint(x, y))
          return hits.flatMap((hit) => (row.contains(hit) && hit?.closest('a') ? [] : [hit?.outerHTML]))
        }),
      )
      expect(missed).toEqual([])
    },
  )

  it('opens its payment at the token and the status, and underlines the links to other pages', async () => {
    const { page } = await dashboard.browse('/payments', { prepare })
    const row = page.locator('tbody tr').last()
    const panel = page.getByRole('dialog', { name: 'Payment' })
    for (const target of [row.locator('.unit'), row.locator('.badge')]) {
      const box = (await target.boundingBox()) ?? expect.fail()
      await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2)
      await panel.waitFor()
      await page.keyboard.press('Escape')
      await panel.waitFor({ state: 'detached' })
    }
    const lines = await row
      .locator('a:not(.row-link)')
      .evaluateAll((links) => links.map((link) => getComputedStyle(link).textDecorationLine))
    expect(lines).toEqual(['underline', 'underline'])
    await row.getByRole('link', { name: '/api/weather' }).click()
    await page.getByRole('heading', { name: '/api/weather' }).waitFor()
  })
})

describe('the sum of the payments', () => {
  it('counts accepted payments, less refunds, as the home screen does, and names the others', async () => {
    const { page } = await dashboard.browse('/payments', { prepare })
    const said = page.locator('.list-totals > *')
    await expect.poll(() => said.allInnerTexts()).toEqual(['89 paid', '0.673 USDC (0.02 refunded)', '6 not accepted'])
  })

  it('names payments without a rate, and the amounts of several tokens', async () => {
    const { page } = await dashboard.browse('/payments?token=NATIVE', { prepare })
    const said = page.locator('.list-totals > *')
    const both = 'received 0.693 USDC + 0.000133 SOL, 1 without a rate'
    await expect.poll(() => said.allInnerTexts()).toEqual(['89 paid', '0.693 USDC', both])
  })
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

  it('covers all time while a search is on, and says so', async () => {
    const { page } = await dashboard.browse('/payments?q=a-long', { prepare })
    const period = page.getByRole('group', { name: 'Period' })
    expect(await period.getByRole('radio', { name: 'All' }).isChecked()).toBe(true)
    expect(await period.getByRole('radio', { name: '30 d' }).isDisabled()).toBe(true)
    await page.getByRole('searchbox').fill('')
    await expect.poll(() => period.getByRole('radio', { name: '7 d' }).isChecked()).toBe(true)
    expect(await period.getByRole('radio', { name: '30 d' }).isDisabled()).toBe(false)
  })

  it('says which of its rows a page has, if their number is exact', async () => {
    const { page } = await dashboard.browse('/payments?status=Verified', { prepare })
    const said = page.locator('.pages [role=status]')
    await expect.poll(() => said.innerText()).toBe('1–25 of 28')
    await page.getByRole('button', { name: 'Next' }).click()
    await expect.poll(() => said.innerText()).toBe('26–28 of 28')
    await dashboard.browse('/payments?status=Expired', { prepare })
    await expect.poll(() => said.innerText()).toBe('Page 1')
  })

  it('of a new service says that there are none yet, and leads to the first steps', async () => {
    const none = { ...list, records: [], names: { endpoints: [], tokens: [] } }
    const { page } = await dashboard.visit('/payments?period=30d', { prepare: answering(() => none) })
    await page.getByRole('heading', { name: 'No payments yet' }).waitFor()
    expect(await page.getByText('choose a longer period').count()).toBe(0)
    await page.getByRole('link', { name: 'All first steps' }).click()
    await expect.poll(() => new URL(page.url()).pathname).toBe('/dashboard')
    await goTo(page, '/payments?token=SOL')
    await page.getByRole('heading', { name: 'No payments yet' }).waitFor()
  })

  it('has filters for the verification and for the state on the chain', async () => {
    const { page } = await dashboard.browse('/payments', { prepare })
    await page.getByLabel('Verification').selectOption('Pending')
    await page.getByLabel('Chain').selectOption('late')
    await expect.poll(() => new URL(page.url()).search).toBe('?status=Pending&state=late')
  })

  it('shows a refund that lands after its panel was closed, on any page', async () => {
    const refund = { ...refundAnswer('payment', verified.timestamp), id: 'refund-9', tx: null }
    let state = 'planned'
    let isLanded = false
    const answer = (query: URLSearchParams) => {
      const one = { ...verified, ...(isLanded && { refunded: '0.02' }) }
      return { ...list, records: [one], next: query.has('cursor') ? null : 'more' }
    }
    const refunding = async (page: Page) => {
      const good = { ...verified, ...detail, notRefundable: '', refund: { ...refund, state } }
      await answering(answer, { good })(page)
      await page.route(
        (url) => url.pathname === '/api/refunds',
        (route) => route.fulfill({ json: { canSend: true, refunds: [{ ...refund, state }] } }),
      )
    }
    const { page } = await dashboard.visit('/payments', { prepare: refunding })
    await page.getByRole('button', { name: 'Next' }).click()
    await expect.poll(() => page.getByRole('button', { name: 'Next' }).isDisabled()).toBe(true)
    await page.locator('.row-link').click()
    const panel = page.getByRole('dialog', { name: 'Payment' })
    await panel.locator('.refund-state').waitFor()
    expect(await panel.locator('.refund-state').innerText()).toBe(`Planned ${refund.amount} ${refund.token}`)
    await page.keyboard.press('Escape')
    await panel.waitFor({ state: 'detached' })
    isLanded = true
    state = 'landed'
    await page.locator('tbody .badge').getByText('Refunded').waitFor()
  })
})

describe('the panel of a payment', () => {
  const sizes = [
    [1440, 900],
    [390, 844],
  ] as const
  it.each(cells(sizes, 2, 1))(
    'offers the refund with its value and the receipt without scrolling (%i px)',
    async (width, height) => {
      const refundable = [{ token: 'SOL', amount: '0.0000665', reason: 'delivered' }]
      const good = { ...verified, ...detail, token: 'SOL', amount: '0.000133', refundable, notRefundable: '' }
      const asOwner = async (page: Page) => {
        await answering(() => list, { good })(page)
        await page.route('**/sign-in', (route) => route.fulfill({ json: { signedIn: true, owner: true } }))
      }
      const { page } = await dashboard.visit('/payments?payment=good', {
        viewport: { width, height },
        prepare: asOwner,
      })
      const panel = page.getByRole('dialog', { name: 'Payment' })
      for (const name of ['Refund the payment…', 'Signed receipt']) {
        const box = await panel.getByRole('button', { name }).boundingBox()
        expect((box?.y ?? height) + (box?.height ?? 0)).toBeLessThan(height / 2)
      }
      const lines = panel.locator('.fact').filter({ hasText: /^(Received|Record)/ })
      const heights = await lines.evaluateAll((all) => all.map((one) => one.clientHeight))
      expect(heights).toHaveLength(2)
      expect(Math.max(...heights) - Math.min(...heights)).toBeLessThan(2)
      await panel.getByRole('button', { name: 'Refund the payment…' }).click()
      const refund = page.getByRole('dialog', { name: 'Refund' })
      await refund.getByText('0.0000665 SOL (≈ 0.01 USDC when paid)').waitFor()
      await page.emulateMedia({ forcedColors: 'active' })
      const fill = (name: RegExp) =>
        refund.getByRole('button', { name }).evaluate((one) => getComputedStyle(one).backgroundColor)
      expect(await fill(/^Refund/)).not.toBe(await fill(/^Cancel/))
    },
  )

  it('says that a claim is not on chain yet, and that nothing was received', async () => {
    const { page } = await dashboard.browse('/payments?payment=invented', { prepare })
    const panel = page.getByRole('dialog', { name: 'Payment' })
    await panel.getByText('Claimed, not on chain yet').waitFor()
    expect(await panel.getByText('Paid on chain').count()).toBe(0)
    const fact = (name: string) => panel.locator('.fact').filter({ hasText: name }).locator('dd').innerText()
    expect([await fact('Received'), await fact('Value when paid')]).toEqual(['– USDC', 'not valued: not on chain'])
    expect(await panel.locator('.badge').innerText()).toBe('Not on chain')
  })

  it('leads from the kind of its problem to the problems, and has the value of its row', async () => {
    const { page } = await dashboard.browse('/payments?payment=short', { prepare })
    const panel = page.getByRole('dialog', { name: 'Payment' })
    await panel.locator('.fact').filter({ hasText: 'Value when paid' }).getByText('0.008 USDC').waitFor()
    await panel.getByRole('link', { name: 'Underpaid' }).click()
    await page.getByRole('heading', { name: 'Problems' }).waitFor()
    expect(new URL(page.url()).searchParams.get('kind')).toBe('underpaid')
  })

  it('has the name of each fact on one line (768 px)', async () => {
    const { page } = await dashboard.visit('/payments?payment=good', {
      viewport: { width: 768, height: 1024 },
      prepare,
    })
    const names = page.getByRole('dialog', { name: 'Payment' }).locator('.fact dt')
    await names.filter({ hasText: 'Value when paid' }).waitFor()
    const heights = await names.evaluateAll((all) => all.map((one) => one.clientHeight))
    expect(Math.max(...heights)).toBeLessThan(30)
  })

  it('names the surplus of an accepted payment', async () => {
    const { page } = await dashboard.browse('/payments?payment=above', { prepare })
    const panel = page.getByRole('dialog', { name: 'Payment' })
    await panel.getByRole('link', { name: 'Surplus' }).waitFor()
    expect(await panel.locator('.badge').allInnerTexts()).toEqual(['Verified', 'Surplus'])
  })

  it.each(allowances)('names an allowance of %o as the buyer reads it', async (allowance, _remaining, words) => {
    const { page } = await dashboard.browse(`/payments?payment=${allowance.unit}`, { prepare })
    const facts = page.getByRole('dialog', { name: 'Payment' }).locator('.fact')
    const shown = facts.filter({ hasText: /Bought|Left/ }).locator('dd')
    await expect.poll(() => shown.allInnerTexts()).toEqual(words)
  })
})
