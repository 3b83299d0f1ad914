/** The payments of the dashboard in a real browser: what a row, the sum and the panel say of payments with a problem. */
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { contractAnswers } from './contract.ts'
import { refundAnswer } from './contract-outgoing.ts'
import { type DashboardFixture, goTo, openDashboard } from './dashboard-fixture.ts'

let dashboard: DashboardFixture
beforeAll(async () => {
  dashboard = await openDashboard()
})
afterAll(() => dashboard?.close())
afterEach(async () => {
  expect(await dashboard.leave()).toEqual([])
})

type Answer = Readonly<Record<string, unknown>>

const verified = {
  id: 'good',
  timestamp: '2026-01-31T12:00:00.000Z',
  requestId: 'request',
  payer: 'a-long-pseudonym-of-a-payer',
  endpoint: '/api/weather',
  token: 'USDC',
  amount: '0.02',
  worth: '0.02',
  revenueToken: 'USDC',
  status: 'Verified',
  verification: 'confirmed',
  state: 'finalized',
  problem: '',
  delivery: 'all',
  recipient: 'recipient',
  splits: '',
  collected: '',
  shared: '',
  refundedAt: '',
  refunded: '',
  revenue: '0.02',
}
const open = { status: 'Pending', verification: 'pending', state: 'unclaimed', worth: '', delivery: 'none' }
const invented = { ...verified, ...open, id: 'invented', amount: '', problem: 'not_on_chain', payer: '' }
const records = [
  invented,
  { ...verified, ...open, id: 'short', amount: '0.008', problem: 'underpaid' },
  { ...verified, ...open, id: 'late', problem: 'late' },
  { ...verified, ...open, id: 'much', amount: '0.06', problem: 'surplus' },
  { ...verified, ...open, id: 'waiting' },
  { ...verified, id: 'part', refunded: '0.01' },
  { ...verified, id: 'sol', token: 'SOL', amount: '0.000133', worth: '' },
  verified,
]
const received = { NATIVE: '0', USDC: '0.693', SOL: '0' }
const totals = { payments: 89, unaccepted: 6, notOnChain: 1, isCut: false, worth: '0.693', refunded: '0.02' }
const list = {
  revenueToken: 'USDC',
  records,
  next: null,
  totals: { ...totals, unvalued: 0, received },
  names: { endpoints: ['/api/weather'], tokens: ['NATIVE', 'USDC', 'SOL'] },
}

/** The answer of the service to each query of the list. */
const answering = (answer: (query: URLSearchParams) => Answer, details: Readonly<Record<string, Answer>> = {}) => {
  return async (page: Page) => {
    await contractAnswers(page)
    await page.route(
      (url) => url.pathname.startsWith('/analytics'),
      (route) => {
        const { pathname, searchParams } = new URL(route.request().url())
        const detail = details[pathname.slice('/analytics/'.length)]
        if (pathname === '/analytics') return route.fulfill({ json: answer(searchParams) })
        return detail ? route.fulfill({ json: detail }) : route.fallback()
      },
    )
  }
}

const unchecked = {
  exists: 'unchecked',
  recipient: 'unchecked',
  amount: 'unchecked',
  memo: 'unchecked',
  unused: 'unchecked',
}
const detail = {
  checks: unchecked,
  timeline: [],
  required: '0.02',
  usableUntil: null,
  allowance: null,
  remaining: null,
  canRefund: true,
  refundable: [],
  notRefundable: 'no',
}

describe('a row of the payments', () => {
  it('names the kind of its problem', async () => {
    const { page } = await dashboard.visit('/payments', { prepare: answering(() => list) })
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

  it('names a missing rate only where one is missing', async () => {
    const solana = { token: 'SOL', amount: '0.000133', worth: '' }
    const unvalued = [
      { ...verified, ...open, ...solana, id: 'waiting' },
      { ...verified, ...open, ...solana, id: 'short', problem: 'underpaid' },
      { ...verified, ...solana, id: 'sol' },
    ]
    const details = { waiting: { ...unvalued[0], ...detail } }
    const { page } = await dashboard.visit('/payments', {
      prepare: answering(() => ({ ...list, records: unvalued }), details),
    })
    const values = page.locator('tbody td:nth-child(2)')
    await values.first().waitFor()
    const texts = (await values.allInnerTexts()).map((text) => text.replace(/\s/g, ' '))
    expect(texts).toEqual(['– , valued when it is claimed', '– , not valued: not accepted', 'no rate'])
    await page.locator('[data-row=waiting]').click()
    await page.getByRole('dialog').locator('.fact').filter({ hasText: 'valued when it is claimed' }).waitFor()
  })

  it.each(['/payments', '/endpoint?name=/api/weather', ''])(
    'opens its payment wherever a finger taps it, except at another link (%s)',
    async (screen) => {
      const mixed = [{ ...verified, id: 'valued', token: 'SOL', amount: '0.000133' }, ...records]
      const prepare = async (page: Page) => {
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
        prepare,
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
    const { page } = await dashboard.visit('/payments', {
      prepare: answering(() => list, { good: { ...verified, ...detail } }),
    })
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

describe('the sum of the payments', () => {
  it('counts accepted payments, less refunds, as the home screen does, and names the others', async () => {
    const { page } = await dashboard.visit('/payments', { prepare: answering(() => list) })
    const said = page.locator('.list-totals > *')
    await said.first().waitFor()
    expect(await said.allInnerTexts()).toEqual(['89 paid', '0.673 USDC (0.02 refunded)', '6 not accepted'])
  })

  it('names payments without a rate, and the amounts of several tokens', async () => {
    const both = { ...received, SOL: '0.000133' }
    const answer = { ...list, totals: { ...totals, unaccepted: 0, refunded: '0', unvalued: 1, received: both } }
    const { page } = await dashboard.visit('/payments', { prepare: answering(() => answer) })
    const said = page.locator('.list-totals > *')
    await said.first().waitFor()
    expect(await said.allInnerTexts()).toEqual([
      '89 paid',
      '0.693 USDC',
      'received 0.693 USDC + 0.000133 SOL, 1 without a rate',
    ])
  })
})

describe('the list of payments', () => {
  it('covers all time while a search is on, and says so', async () => {
    const { page } = await dashboard.visit('/payments?q=a-long', { prepare: answering(() => list) })
    const period = page.getByRole('group', { name: 'Period' })
    expect(await period.getByRole('radio', { name: 'All' }).isChecked()).toBe(true)
    expect(await period.getByRole('radio', { name: '30 d' }).isDisabled()).toBe(true)
    await page.getByRole('searchbox').fill('')
    await expect.poll(() => period.getByRole('radio', { name: '7 d' }).isChecked()).toBe(true)
    expect(await period.getByRole('radio', { name: '30 d' }).isDisabled()).toBe(false)
  })

  it('says which of its rows a page has, if their number is exact', async () => {
    const page1 = Array.from({ length: 25 }, (_, index) => ({ ...verified, id: `one-${index}` }))
    const page2 = Array.from({ length: 3 }, (_, index) => ({ ...verified, id: `two-${index}` }))
    let isCut = false
    const answer = (query: URLSearchParams) => {
      if (query.has('cursor')) return { revenueToken: 'USDC', records: page2, next: null }
      const sums = { ...list.totals, payments: 20, unaccepted: 7, notOnChain: 1, isCut }
      return { ...list, records: page1, next: 'more', totals: sums }
    }
    const { page } = await dashboard.visit('/payments', { prepare: answering(answer) })
    const said = page.locator('.pages [role=status]')
    await said.waitFor()
    expect(await said.innerText()).toBe('1–25 of 28')
    await page.getByRole('button', { name: 'Next' }).click()
    await expect.poll(() => said.innerText()).toBe('26–28 of 28')
    isCut = true
    await page.reload()
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
    const { page } = await dashboard.visit('/payments', { prepare: answering(() => list) })
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
    const prepare = async (page: Page) => {
      const good = { ...verified, ...detail, notRefundable: '', refund: { ...refund, state } }
      await answering(answer, { good })(page)
      await page.route(
        (url) => url.pathname === '/api/refunds',
        (route) => route.fulfill({ json: { canSend: true, refunds: [{ ...refund, state }] } }),
      )
    }
    const { page } = await dashboard.visit('/payments', { prepare })
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
  it.each([
    [1440, 900],
    [390, 844],
  ])('offers the refund with its value and the receipt without scrolling (%i px)', async (width, height) => {
    const refundable = [{ token: 'SOL', amount: '0.0000665', reason: 'delivered' }]
    const good = { ...verified, ...detail, token: 'SOL', amount: '0.000133', refundable, notRefundable: '' }
    const prepare = async (page: Page) => {
      await answering(() => list, { good })(page)
      await page.route('**/sign-in', (route) => route.fulfill({ json: { signedIn: true, owner: true } }))
    }
    const { page } = await dashboard.visit('/payments?payment=good', { viewport: { width, height }, prepare })
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
    await page.getByRole('dialog', { name: 'Refund' }).getByText('0.0000665 SOL (≈ 0.01 USDC when paid)').waitFor()
  })

  it('says that a claim is not on chain yet, and that nothing was received', async () => {
    const claimed = {
      ...invented,
      ...detail,
      timeline: [{ at: verified.timestamp, event: 'claimed', note: 'No node has returned it yet.' }],
    }
    const { page } = await dashboard.visit('/payments?payment=invented', {
      prepare: answering(() => list, { invented: claimed }),
    })
    const panel = page.getByRole('dialog', { name: 'Payment' })
    await panel.getByText('Claimed, not on chain yet').waitFor()
    expect(await panel.getByText('Paid on chain').count()).toBe(0)
    const fact = (name: string) => panel.locator('.fact').filter({ hasText: name }).locator('dd').innerText()
    expect([await fact('Received'), await fact('Value when paid')]).toEqual(['– USDC', 'not valued: not on chain'])
    expect(await panel.locator('.badge').innerText()).toBe('Not on chain')
  })

  it('leads from the kind of its problem to the problems, and has the value of its row', async () => {
    const short = { ...records[1], ...detail }
    const { page } = await dashboard.visit('/payments?payment=short', { prepare: answering(() => list, { short }) })
    const panel = page.getByRole('dialog', { name: 'Payment' })
    await panel.locator('.fact').filter({ hasText: 'Value when paid' }).getByText('0.008 USDC').waitFor()
    await panel.getByRole('link', { name: 'Underpaid' }).click()
    await page.getByRole('heading', { name: 'Problems' }).waitFor()
    expect(new URL(page.url()).searchParams.get('kind')).toBe('underpaid')
  })

  it('names the surplus of an accepted payment', async () => {
    const above = { ...verified, ...detail, required: '0.001' }
    const { page } = await dashboard.visit('/payments?payment=good', {
      prepare: answering(() => list, { good: above }),
    })
    const panel = page.getByRole('dialog', { name: 'Payment' })
    await panel.getByRole('link', { name: 'Surplus' }).waitFor()
    expect(await panel.locator('.badge').allInnerTexts()).toEqual(['Verified', 'Surplus'])
  })

  it.each([
    [{ unit: 'second', amount: '600' }, '0', ['10 minutes']],
    [{ unit: 'request', amount: '10' }, '3', ['10 requests', '3 requests']],
    [{ unit: 'byte', amount: '5000000' }, '0', ['5 MB', 'nothing']],
    [{ unit: 'file', amount: '5000000' }, '2500000', ['this file (5 MB)', '2.5 MB']],
  ])('names an allowance of %o as the buyer reads it', async (allowance, remaining, words) => {
    const good = { ...verified, ...detail, allowance, remaining }
    const { page } = await dashboard.visit('/payments?payment=good', { prepare: answering(() => list, { good }) })
    const facts = page.getByRole('dialog', { name: 'Payment' }).locator('.fact')
    await facts.filter({ hasText: 'Bought' }).waitFor()
    expect(
      await facts
        .filter({ hasText: /Bought|Left/ })
        .locator('dd')
        .allInnerTexts(),
    ).toEqual(words)
  })
})
