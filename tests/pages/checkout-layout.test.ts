/** The layout of the checkout page in a real browser: everything needed is in sight, and nothing moves. */
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import type { CheckoutFacts } from '../../src/core/checkout/messages.ts'
import type { Tab } from '../harness/browser.ts'
import { readShifts, watchShifts } from '../harness/layout-shift.ts'
import type { View } from '../harness/left-pages.ts'
import { cells, itInFull, size } from '../harness/length.ts'
import { type CheckoutFixture, factsOf, requestId, signature as tx } from './checkout-fixture.ts'
import { heading, hurry, told } from './checkout-readers.ts'
import { type OpenedCheckout, openForEach } from './checkout-setup.ts'
import { installWallet } from './fake-wallet.ts'

let fixture: CheckoutFixture
let openTab: OpenedCheckout['openTab']
let openSharedTab: OpenedCheckout['openSharedTab']
let tab: Tab
let page: Page
openForEach((opened) => {
  ;({ fixture, openTab, openSharedTab } = opened)
})

const tokens = [
  { token: 'USDC', amount: '1234.5', mint: '7rkNxJUjfXcKMwZkD3hVd7aRpqzN8eGt5Y4oLbWc1xTH' },
  { token: 'SOL', amount: '8.230066556', dollars: '1234.51' },
  { token: 'NATIVE', amount: '12345.12', dollars: '1234.51' },
] as const

/** `slowness`: how many times as slow as this machine the browser is. */
async function open(facts: Partial<CheckoutFacts>, view: View, slowness = 1): Promise<void> {
  fixture.facts = factsOf(facts)
  fixture.standing = fixture.facts.standing
  tab = await openSharedTab({ reducedMotion: 'reduce', ...view })
  page = tab.page
  await watchShifts(page, slowness)
  await installWallet(page, {})
  await page.route('**/forecast', async (route) => {
    const isOpening = /^open/.test(route.request().headers()['payment-checkout'] ?? '')
    // Browsers do not count what moves in the half second after a click.
    if (isOpening) await new Promise((resolve) => setTimeout(resolve, 600))
    await (isOpening ? route.fulfill({ contentType: 'application/json', body: '{"sun":1}' }) : route.continue())
  })
  await page.goto(fixture.url)
}

const shortfall = { state: 'short', tx, token: 'USDC', received: '0.004', required: '0.01' } as const
const shift = () => page.evaluate(readShifts)
const bottomOf = (selector: string) =>
  page.locator(selector).evaluate((element) => Math.round(element.getBoundingClientRect().bottom))
const wide = { viewport: { width: 1440, height: 900 } }

describe('on a wide screen', () => {
  it('shows everything needed to pay above the fold, beside the item, with codes of one size', async () => {
    await open({ tokens }, wide)
    await page.getByRole('button', { name: /Testwallet/ }).waitFor()
    for (const part of ['#price', '#tokens', '#wallets', '#qr', '#hand > summary'])
      expect(await bottomOf(part)).toBeLessThanOrEqual(900)
    const [item, payment] = await Promise.all(['header', '#pay'].map((part) => page.locator(part).boundingBox()))
    expect((item?.x ?? 0) + (item?.width ?? 0)).toBeLessThanOrEqual(payment?.x ?? 0)
    const box = () => page.locator('#qr').boundingBox()
    const before = await box()
    await page.locator('label', { hasText: 'SOL' }).click()
    await expect.poll(() => page.locator('#price').textContent()).toMatch(/8\.230066556 SOL/)
    expect(await box()).toEqual(before)
    expect(before?.width).toBe(346)
  })

  it.each(cells(['when it opens', 'later'], 2, 1))(
    'reports beside the payment a transfer that was too small: %s',
    async (when) => {
      await open({ tokens, ...(when !== 'later' && { standing: shortfall }) }, wide)
      await page.locator('#wallets button').waitFor()
      const before = await page.locator('#pay').boundingBox()
      fixture.standing = shortfall
      await hurry(page)
      await told(page, 'The amount is too low')
      expect(await page.locator('#pay').boundingBox()).toEqual(before)
      const notice = await page.locator('.notice').boundingBox()
      expect((notice?.x ?? 0) + (notice?.width ?? 0)).toBeLessThanOrEqual(before?.x ?? 0)
      expect(await bottomOf('.notice')).toBeLessThanOrEqual(900)
    },
  )

  it('shows the receipt of an earlier purchase beside the payment, which stays where it is', async () => {
    await open({ tokens, bought: requestId, isAgain: true }, wide)
    await page.getByRole('region', { name: 'Receipt' }).waitFor()
    expect(await bottomOf('#qr')).toBeLessThanOrEqual(900)
    expect(await shift()).toBeLessThan(0.05)
  })
})

itInFull('on a phone a page that opens with a notice has it above the ways to pay', async () => {
  await open({ tokens, isAgain: true }, { viewport: { width: 390, height: 844 } })
  await page.locator('#wallets button').waitFor()
  const [notice, pay] = await Promise.all(['.notice', '#pay'].map((part) => page.locator(part).boundingBox()))
  expect((notice?.y ?? 0) + (notice?.height ?? 0)).toBeLessThanOrEqual(pay?.y ?? 0)
  expect(await shift()).toBeLessThan(0.05)
})

it('on a phone the notice of an earlier purchase is above the payment, and its receipt below', async () => {
  await open({ tokens, bought: requestId, isAgain: true }, { viewport: { width: 390, height: 844 } })
  const receipt = page.getByRole('region', { name: 'Receipt' })
  await receipt.waitFor()
  const pay = await page.locator('#pay').boundingBox()
  expect(await bottomOf('.notice')).toBeLessThanOrEqual(Math.round(pay?.y ?? 0))
  expect((await receipt.boundingBox())?.y).toBeGreaterThan(await bottomOf('#pay'))
  expect(await bottomOf('#wallets button')).toBeLessThanOrEqual(844)
})

itInFull('breaks no amount of a choice, and is no wider than a small phone', async () => {
  const long = [
    { token: 'USDC', amount: '123456789.123456', mint: tokens[0].mint },
    { token: 'SOL', amount: '1234567.123456789', dollars: '123456789.12' },
    { token: 'NATIVE', amount: '0.000000001', dollars: '0.01' },
  ] as const
  await open({ tokens: long }, { viewport: { width: 360, height: 740 } })
  const read = () => {
    const heights = [...document.querySelectorAll<HTMLElement>('#tokens small')].map((amount) => amount.offsetHeight)
    const { scrollWidth, clientWidth } = document.documentElement
    return { lines: new Set(heights).size, more: scrollWidth - clientWidth }
  }
  expect(await page.evaluate(read)).toEqual({ lines: 1, more: 0 })
})

describe('nothing moves', () => {
  const widths = [1440, 768, 390].flatMap((width) => [
    [width, 'waiting', {}],
    [width, 'checking the cookie', { isKept: false }],
    [width, 'bought before', { isAgain: true, bought: requestId }],
    [width, 'one token', { tokens: tokens.slice(1, 2) }],
  ]) as readonly (readonly [number, string, Partial<CheckoutFacts>])[]
  it.each(cells(widths, 12, 9))('at %i pixels, %s, also if a wallet is late', async (width, _name, facts) => {
    await open({ tokens, ...facts }, { viewport: { width, height: 900 } })
    await page.getByRole('button', { name: /Testwallet/ }).waitFor()
    await expect.poll(() => page.locator('#qr').isVisible()).toBe(true)
    const before = fixture.count('status')
    await expect.poll(() => fixture.count('status')).toBeGreaterThan(before)
    expect(await shift()).toBeLessThan(0.05)
  })

  const ways: readonly (readonly [width: number, isSeen: boolean])[] = [
    [1440, true],
    [1440, false],
    [390, true],
    [768, false],
  ]
  it.each(cells(ways, 4, 2))(
    'at %i pixels, from the payment to the receipt and the purchase, also if it is seen late: %s',
    async (width, isSeen) => {
      await open({ tokens, isReadable: true }, { viewport: { width, height: 900 } })
      if (isSeen) {
        fixture.standing = { state: 'confirming', tx }
        await hurry(page)
        await told(page, 'Payment detected')
      }
      fixture.standing = { state: 'paid', tx }
      const receipt = page.getByRole('region', { name: 'Receipt' })
      await receipt.waitFor()
      await page.getByRole('link', { name: 'Open your purchase' }).click()
      expect([await heading(page), await receipt.isVisible()]).toEqual(['Opening your purchase', false])
      await page.locator('#resource pre').waitFor()
      await receipt.waitFor()
      expect([await heading(page), await shift()]).toEqual(['Paid', expect.toSatisfy((one) => one < 0.05)])
    },
  )

  it.each(cells([1440, 768, 390], 3, 2))('at %i pixels, if the page opens with the purchase', async (width) => {
    await open(
      { tokens, isReadable: true, standing: { state: 'paid', tx } },
      { viewport: { width, height: 900 } },
      size(2, 4),
    )
    await page.locator('#resource pre').waitFor()
    await page.getByRole('region', { name: 'Receipt' }).waitFor()
    expect(await shift()).toBeLessThan(0.05)
  })

  const news: readonly (readonly [number, string, Partial<CheckoutFixture>])[] = [1440, 768, 390].flatMap(
    (width) =>
      [
        [width, 'a payment that is too small', { standing: shortfall }],
        [width, 'a payment that cannot be accepted', { standing: { state: 'wrong', tx, why: 'It paid another.' } }],
        [width, 'a service that is away', { trouble: 503 }],
      ] as const,
  )
  it.each(cells(news, 9, 6))('at %i pixels, if %s is reported beside the buttons', async (width, _name, change) => {
    await open({ tokens }, { viewport: { width, height: 844 } })
    const button = page.getByRole('button', { name: /Testwallet/ })
    const before = await button.boundingBox()
    Object.assign(fixture, change)
    await hurry(page)
    await page.locator('#notice h2').waitFor()
    // Pages scroll by whole pixels.
    const after = await button.boundingBox()
    expect(Math.abs((after?.y ?? 0) - (before?.y ?? 0))).toBeLessThan(1)
    const [notice, pay] = await Promise.all(['#notice', '#pay'].map((part) => page.locator(part).boundingBox()))
    expect(notice?.y).toBeGreaterThanOrEqual(0)
    // Above the ways to pay, or beside them.
    const isAbove = (notice?.y ?? 0) + (notice?.height ?? 0) <= (pay?.y ?? 0)
    expect(isAbove || (notice?.x ?? 0) + (notice?.width ?? 0) <= (pay?.x ?? 0)).toBe(true)
    expect(await bottomOf('#notice')).toBeLessThanOrEqual(844)
    expect(await shift()).toBeLessThan(0.01)
  })

  it('on a slow phone, which paints the document before its script runs', async () => {
    await open({ tokens }, { viewport: { width: 390, height: 900 } }, size(4, 12))
    await page.getByRole('button', { name: /Testwallet/ }).waitFor()
    expect(await shift()).toBeLessThan(0.05)
  })
})

describe('on a touch screen', () => {
  const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }
  /** The page at a public address, as far as the browser can tell. */
  async function openPublic(facts: Partial<CheckoutFacts>, path = '/forecast?place=Oslo'): Promise<void> {
    tab = await openTab(phone)
    page = tab.page
    fixture.facts = factsOf(facts)
    await page.route('https://shop.example/**', async (route) => {
      const { headers } = route.request() as unknown as { headers(): Record<string, string> }
      const answer = await fetch(fixture.url, { headers: headers.call(route.request()) })
      const body = Buffer.from(await answer.arrayBuffer())
      await route.fulfill({ status: answer.status, headers: Object.fromEntries(answer.headers), body })
    })
    await page.goto(`https://shop.example${path}`)
  }

  it('leads to the wallets of the phone, and folds the code away', async () => {
    await openPublic({ tokens })
    const links = await page.locator('#apps a, .get').evaluateAll((all) => all.map((link) => link.getAttribute('href')))
    const here = encodeURIComponent('https://shop.example/forecast?place=Oslo')
    const ref = encodeURIComponent('https://shop.example')
    expect(links).toEqual([
      `https://phantom.app/ul/browse/${here}?ref=${ref}`,
      `https://solflare.com/ul/v1/browse/${here}?ref=${ref}`,
      'https://solana.com/wallets',
    ])
    expect(await page.locator('#qr').isVisible()).toBe(false)
    expect(await bottomOf('#link')).toBeLessThan(await bottomOf('.get'))
    for (const part of ['#apps', '#link']) expect(await bottomOf(part)).toBeLessThanOrEqual(844)
    expect(await tab.violations()).toEqual([])
    await page.getByText('Scan with another phone').click()
    expect(await page.locator('#qr').boundingBox()).toMatchObject({ width: 346, height: 346 })
  })

  it('offers no app on a local chain, or inside a wallet that can pay', async () => {
    await openPublic({ network: 'localnet', chain: 'solana:localnet' })
    expect(await page.locator('#apps a').count()).toBe(0)
    tab = await openTab(phone)
    page = tab.page
    await installWallet(page, {})
    fixture.facts = factsOf({ tokens })
    await page.goto(fixture.url)
    await page.getByRole('button', { name: /Testwallet/ }).waitFor()
    expect(await page.locator('#apps').isVisible()).toBe(false)
  })
})

it('shows the chosen token and the code in the colours of the system', async () => {
  await open({ tokens }, { ...wide, forcedColors: 'active', colorScheme: 'dark' })
  const outline = (token: string) =>
    page.locator('label', { hasText: token }).evaluate((label) => getComputedStyle(label).outlineStyle)
  expect([await outline('USDC'), await outline('SOL')]).toEqual(['solid', 'none'])
  const colours = await page.locator('#qr').evaluate((code) => {
    const { backgroundColor, stroke } = getComputedStyle(code)
    return [backgroundColor, stroke]
  })
  expect(colours).toEqual(['rgb(255, 255, 255)', 'rgb(0, 0, 0)'])
  expect(await tab.violations()).toEqual([])
})
