/** The checkout page in a real browser: what it says of itself and of what it hears, for every state. */
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { languages } from '../../src/core/checkout/languages/language.ts'
import type { CheckoutFacts, CheckoutState } from '../../src/core/checkout/messages.ts'
import type { Tab } from '../harness/browser.ts'
import { cells, itInFull, nextThemes } from '../harness/length.ts'
import { eventually } from '../harness/shop.ts'
import { type CheckoutFixture, factsOf, recipient, requestId, signature as tx, viewOf } from './checkout-fixture.ts'
import { heading, hurry, offered, told } from './checkout-readers.ts'
import { type OpenedCheckout, openForEach } from './checkout-setup.ts'

let fixture: CheckoutFixture
let openTab: OpenedCheckout['openTab']
let tab: Tab
let page: Page
openForEach(async (opened) => {
  ;({ fixture, openTab } = opened)
  tab = await opened.openSharedTab()
  page = tab.page
})

const three = [
  { token: 'USDC', amount: '0.01' },
  { token: 'SOL', amount: '0.000066556', dollars: '0.01' },
  { token: 'NATIVE', amount: '123456.123456789' },
] as const

async function open(more: Partial<CheckoutFacts> = {}): Promise<void> {
  fixture.facts = factsOf(more)
  fixture.standing = fixture.facts.standing
  await page.goto(fixture.url)
}

const price = async () => (await page.locator('#price').textContent())?.trim()

const short = { state: 'short', tx, token: 'USDC', received: '0.004', required: '0.01' } as const

describe('every state', () => {
  const states: readonly (readonly [name: string, facts: Partial<CheckoutFacts>])[] = [
    ['waiting', {}],
    ['several tokens', { tokens: three }],
    ['mainnet', { network: 'mainnet', chain: 'solana:mainnet' }],
    ['bought before', { isAgain: true }],
    ['confirming', { standing: { state: 'confirming', tx } }],
    ['paid', { standing: { state: 'paid', tx } }],
    ['used', { standing: { state: 'used', tx } }],
    ['stranded', { standing: { state: 'stranded', tx } }],
    ['short', { standing: short }],
    ['late', { standing: { state: 'late', tx } }],
    ['wrong', { standing: { state: 'wrong', tx, why: 'The transaction failed on chain.' } }],
    ['expired', { standing: { state: 'expired' } }],
    ['the last minute', { expiresAt: factsOf().now + 50_000 }],
    ['long texts', { host: `${'host'.repeat(20)}.example`, what: '/x'.repeat(200), tokens: [three[2]] }],
  ]
  it.each(cells(states, 7, 1))('%s: accessible, and no wider than a phone', async (_name, more) => {
    await open(more)
    if (await offered(page)) await page.getByText('Pay by hand').click()
    for (const colorScheme of nextThemes()) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      expect(await tab.violations()).toEqual([])
    }
    await page.setViewportSize({ width: 320, height: 640 })
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(320)
  })

  it('each state is told when it is heard, with its own words', async () => {
    const heard: readonly (readonly [state: CheckoutState, title: string, isOffered: boolean])[] = [
      [{ state: 'confirming', tx }, 'Payment detected', false],
      [short, 'The amount is too low', true],
      [{ state: 'late', tx }, 'Paid too late', false],
      [{ state: 'wrong', tx, why: 'It failed.' }, 'This payment cannot be accepted', true],
      [{ state: 'expired' }, 'This price has expired', false],
      [{ state: 'stranded', tx }, 'Paid, but it cannot be opened here', false],
      [{ state: 'used', tx }, 'Opened in another tab', false],
    ]
    await open()
    expect(await heading(page)).toBe('')
    for (const [standing, title, isOffered] of heard) {
      // Such a state is the last that a page hears.
      if (standing.state === 'used') await open()
      fixture.standing = standing
      await hurry(page)
      await told(page, title)
      expect([title, await offered(page)]).toEqual([title, isOffered])
      if ('tx' in standing) expect(await page.locator('#notice code').textContent()).toBe(tx)
    }
  })
})

describe('a browser that has not shown yet that it kept the cookie', () => {
  const offersNothing = async () => {
    expect([await page.locator('#qr').isVisible(), await page.locator('#wallets').isVisible()]).toEqual([false, false])
    expect(await page.getByText('Pay by hand').isVisible()).toBe(false)
  }

  it('is offered code and buttons once the service has seen it', async () => {
    let release = (): void => {}
    fixture.gate = new Promise((resolve) => {
      release = resolve
    })
    await open({ isKept: false })
    await expect.poll(() => fixture.count('status')).toBe(1)
    await offersNothing()
    release()
    await expect.poll(() => page.locator('#qr').isVisible()).toBe(true)
    expect(await page.locator('#wallets').isVisible()).toBe(true)
  })

  it('is offered nothing where it did not, is told why, and is told of a payment that came all the same', async () => {
    fixture.refusal = { code: 'claim_required', detail: 'This browser has not kept the cookie.' }
    await open({ isKept: false })
    await told(page, 'This page cannot take payments')
    await offersNothing()
    expect(await page.locator('#notice').textContent()).toContain('This browser has not kept the cookie.')
    expect(await tab.violations()).toEqual([])
    fixture.refusal = undefined
    fixture.standing = { state: 'stranded', tx }
    await hurry(page)
    await told(page, 'Paid, but it cannot be opened here')
    await offersNothing()
  })

  it('is offered everything without a script, which could not ask', async () => {
    fixture.facts = factsOf({ isKept: false })
    const bare = await openTab({ javaScriptEnabled: false })
    await bare.page.goto(fixture.url)
    expect(await bare.page.locator('#qr').isVisible()).toBe(true)
    expect(await bare.page.locator('#pay').innerText()).toContain('Allow cookies for this address before you pay')
  })
})

describe('the bought resource', () => {
  it('is one click away after a payment from a phone, and its own scripts run', async () => {
    await open()
    fixture.standing = { state: 'confirming' }
    await hurry(page)
    await told(page, 'Payment detected')
    fixture.resource = { type: 'text/html', body: '<title>x</title><script>document.title = "the forecast"</script>' }
    fixture.standing = { state: 'paid', tx }
    await page.getByRole('link', { name: 'Open your purchase' }).click()
    await expect.poll(() => page.title()).toBe('the forecast')
  })

  it('that can be opened again opens another tab, so that the receipt stays', async () => {
    await open({ canReopen: true })
    fixture.resource = { type: 'text/html', body: '<title>the forecast</title>' }
    fixture.standing = { state: 'paid', tx }
    const popup = page.waitForEvent('popup')
    await page.getByRole('link', { name: 'Open your purchase' }).click()
    const opened = await popup
    await expect.poll(() => opened.title()).toBe('the forecast')
    expect(await page.getByRole('region', { name: 'Receipt' }).isVisible()).toBe(true)
    expect(await page.getByRole('link', { name: 'Open your purchase' }).isVisible()).toBe(true)
  })

  it('is downloaded while the receipt stays, and no payment is offered', async () => {
    await open()
    const headers = { 'content-disposition': 'attachment; filename="report.csv"' }
    fixture.resource = { type: 'text/csv', headers, body: 'a,b' }
    fixture.standing = { state: 'paid', tx }
    const download = page.waitForEvent('download')
    await page.getByRole('link', { name: 'Open your purchase' }).click()
    expect((await download).suggestedFilename()).toBe('report.csv')
    expect(await page.getByRole('region', { name: 'Receipt' }).isVisible()).toBe(true)
    expect(await offered(page)).toBe(false)
  })

  it('has a receipt to read, to download and to print, also after it was opened', async () => {
    await open({ network: 'devnet', bought: requestId, isAgain: true })
    const receipt = page.getByRole('region', { name: 'Receipt' })
    await receipt.waitFor()
    const text = await receipt.innerText()
    for (const part of [
      'api.weather.example',
      tx,
      '0.01 USDC',
      'https://api.weather.example/forecast?place=Oslo',
      'May 12, 2026',
    ])
      expect(text).toContain(part)
    expect(await receipt.getByRole('link', { name: /explorer/ }).getAttribute('href')).toBe(
      `https://explorer.solana.com/tx/${tx}?cluster=devnet`,
    )
    const download = page.waitForEvent('download')
    await receipt.getByRole('link', { name: 'Download the signed receipt' }).click()
    const file = await (await download).createReadStream()
    expect(JSON.parse(Buffer.concat(await file.toArray()).toString())).toEqual({ status: 'success', signature: 's' })
    expect(await offered(page)).toBe(true)
    expect(await tab.violations()).toEqual([])
    await page.emulateMedia({ media: 'print' })
    expect(await offered(page)).toBe(false)
    for (const part of ['#notice', '#price']) expect(await page.locator(part).isVisible()).toBe(false)
    await page.setViewportSize({ width: 320, height: 640 })
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(320)
  })

  it('T187: is shown in readable form if it is JSON, with its text as it was sent, and the transaction once', async () => {
    const body = '{"id":12345678901234567890,"note":"<img src=x onerror=\\"hacked=1\\">"}'
    fixture.resource = undefined
    await open({ isReadable: true })
    fixture.standing = { state: 'paid', tx }
    fixture.resource = { type: 'application/json', body }
    const countNamed = async () => (await page.locator('main').innerText()).split(tx).length - 1
    await page.getByRole('region', { name: 'Receipt' }).waitFor()
    expect(await countNamed()).toBe(1)
    await page.getByRole('link', { name: 'Open your purchase' }).click()
    const shown = page.getByRole('region', { name: 'Your purchase' })
    await shown.waitFor()
    expect(await shown.locator('pre').textContent()).toBe(
      '{\n  "id": 12345678901234567890,\n  "note": "<img src=x onerror=\\"hacked=1\\">"\n}',
    )
    expect(fixture.count('open')).toBe(1)
    expect(await countNamed()).toBe(1)
    expect(await tab.violations()).toEqual([])
    const popup = page.waitForEvent('popup')
    await shown.getByRole('link', { name: 'Raw' }).click()
    const raw = await popup
    await expect.poll(() => raw.locator('body').textContent()).toContain(body)
    expect(await raw.evaluate(() => [document.contentType, document.images.length])).toEqual(['application/json', 0])
    expect(await page.getByRole('link', { name: 'Open your purchase' }).count()).toBe(0)
    expect(await page.evaluate(() => 'hacked' in window)).toBe(false)
  })

  itInFull('is opened by the browser if it is not JSON', async () => {
    await open({ isReadable: true })
    fixture.standing = { state: 'paid', tx }
    const link = page.getByRole('link', { name: 'Open your purchase' })
    await link.waitFor()
    fixture.resource = { type: 'text/html', body: '<title>the forecast</title>' }
    await link.click()
    await expect.poll(() => page.title()).toBe('the forecast')
    expect(fixture.count('open')).toBe(1)
  })

  it('is shown at once to a person who comes back for it', async () => {
    const body = '[1]'
    await page.route('**/forecast', async (route) => {
      const isOpening = /^open/.test(route.request().headers()['payment-checkout'] ?? '')
      await (isOpening ? route.fulfill({ contentType: 'application/json', body }) : route.continue())
    })
    await open({ isReadable: true, standing: { state: 'paid', tx } })
    await expect.poll(() => page.locator('#resource pre').textContent()).toBe('[\n  1\n]')
    await page.getByRole('region', { name: 'Receipt' }).waitFor()
  })

  it('is elsewhere when a program asked: people are told to go back', async () => {
    await open({ after: 'return', returnUrl: 'https://shop.example/thanks' })
    fixture.standing = { state: 'paid', tx }
    await hurry(page)
    await expect.poll(() => page.locator('#notice').textContent()).toMatch(/You can close this page now.*Transaction/)
    const links = page.getByRole('link')
    expect(await links.count()).toBe(1)
    expect(await links.getAttribute('href')).toBe('https://shop.example/thanks')
  })
})

it.each(cells(Object.entries(languages), 5, 1))(
  'speaks %s: the page, its script and its numbers',
  async (name, { tag, texts }) => {
    fixture.language = { tag, locale: name, texts }
    await open({ texts: texts.checkout, locale: name, tokens: three })
    expect(await page.locator('html').getAttribute('lang')).toBe(tag)
    const time = texts.checkout.validFor.replace('{time}', '')
    await expect.poll(() => page.locator('#time').textContent()).toContain(time.trim())
    fixture.standing = short
    await hurry(page)
    await told(page, texts.checkout.shortTitle)
    const digits = name === 'de' || name === 'es' ? '0,004' : '0.004'
    expect(await page.locator('#notice').textContent()).toContain(`${digits} USDC`)
    expect(await page.locator('main').innerText()).not.toMatch(/\{\w+\}/)
    expect(await tab.violations()).toEqual([])
    await page.setViewportSize({ width: 320, height: 640 })
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(320)
  },
)

describe('time and trouble', () => {
  it('the price expires by the clock of the service, is asked about, and can be had anew', async () => {
    const far = Date.UTC(2001, 0)
    await open({ now: far, expiresAt: far + 1_500 })
    await told(page, 'The time to pay has ended')
    expect(await offered(page)).toBe(false)
    fixture.standing = { state: 'expired' }
    await told(page, 'This price has expired')
    expect(await page.locator('#notice').textContent()).toContain('Nothing was paid')
    // The page of the old price gets no answer of the new one.
    let release = () => {}
    fixture.gate = new Promise((resolve) => {
      release = resolve
    })
    fixture.facts = factsOf()
    fixture.standing = { state: 'waiting' }
    await page.getByRole('link', { name: 'Get a new price' }).click()
    await expect.poll(() => offered(page)).toBe(true)
    release()
    expect(await page.locator('#time').textContent()).toMatch(/^Price valid for (15 min|14 min \d+ sec)/)
  })

  it('goes on waiting for a payment that is being confirmed, and says so', async () => {
    const { now } = factsOf()
    await open({ expiresAt: now + 800, standing: { state: 'confirming', tx } })
    await expect.poll(() => page.locator('#notice').textContent()).toMatch(/price has expired, but the payment/)
  })

  it.each(cells(['silence', 503] as const, 2))(
    'the service is away (%s), told so, asked on, and comes back',
    async (trouble) => {
      await open()
      fixture.trouble = trouble
      await hurry(page)
      await told(page, 'The service cannot be reached')
      expect(await page.locator('#notice').textContent()).toContain('your payment is safe')
      fixture.trouble = undefined
      await expect.poll(() => heading(page)).toBe('')
      expect(await offered(page)).toBe(true)
    },
  )

  it('a single lost response shows no error', async () => {
    await open()
    await page.evaluate(() => {
      const changes: string[] = []
      Object.assign(window, { changes })
      new MutationObserver(() => changes.push(document.title)).observe(document.body, {
        childList: true,
        subtree: true,
      })
    })
    fixture.trouble = 503
    const failed = page.waitForResponse((response) => response.status() === 503)
    await hurry(page)
    await failed
    fixture.trouble = undefined
    const before = fixture.count('status')
    await expect.poll(() => fixture.count('status')).toBeGreaterThan(before + 1)
    const changes = await page.evaluate(() => (window as unknown as { changes: string[] }).changes)
    expect(changes.filter((title) => /cannot be reached/.test(title))).toEqual([])
  })

  it('a page that the service no longer knows shows the next step', async () => {
    await open()
    fixture.trouble = 404
    await hurry(page)
    await told(page, 'This page is out of date')
    expect(await page.getByRole('link', { name: 'Reload' }).count()).toBe(1)
  })
})

describe('a page that is older than the service', () => {
  it('reloads itself, and once only where servers of both versions answer', async () => {
    await open()
    const before = fixture.loads
    fixture.served = 'new'
    // The reload can end the call.
    await hurry(page).catch(() => {})
    await eventually(
      () => fixture.loads,
      (now) => now === before + 1,
    )
    // The document is still the old one.
    const asked = fixture.count('status')
    const countAsked = () =>
      hurry(page).then(
        () => fixture.count('status'),
        () => 0,
      )
    await eventually(countAsked, (now) => now > asked + 1)
    expect([fixture.loads, await offered(page)]).toEqual([before + 1, true])
    fixture.served = 'own'
  })
})

describe('other ways to pay', () => {
  it('another token brings its own price, QR code, link and amounts', async () => {
    await open({ tokens: three })
    const before = await page.locator('#qr path').getAttribute('d')
    await page.getByText('SOL', { exact: true }).click()
    await expect.poll(price).toBe('0.000066556 SOL ≈ $0.01')
    expect(await page.locator('#link').getAttribute('href')).toBe(viewOf(fixture.facts, 'SOL').uri)
    expect(await page.locator('#qr path').getAttribute('d')).not.toBe(before)
    expect(await page.title()).toBe('Pay 0.000066556 SOL to api.weather.example')
    await page.getByText('Pay by hand').click()
    expect(await page.locator('[data-token]:visible dt').allTextContents()).toEqual(['Amount in SOL'])
    expect(await page.locator('[data-token]:visible code').allTextContents()).toEqual(['0.000066556'])
    fixture.trouble = 'silence'
    await page.getByText('NATIVE', { exact: true }).click()
    await expect.poll(() => page.locator('input[value=SOL]').isChecked()).toBe(true)
    expect(await price()).toBe('0.000066556 SOL ≈ $0.01')
  })

  it('an answer that comes late does not undo a later choice', async () => {
    await open({ tokens: three })
    let release = (): void => {}
    fixture.gate = new Promise((resolve) => {
      release = resolve
    })
    await page.getByText('SOL', { exact: true }).click()
    await expect.poll(() => fixture.count('view')).toBe(1)
    fixture.gate = Promise.resolve()
    await page.getByText('NATIVE', { exact: true }).click()
    await expect.poll(price).toMatch(/^123,456\.123456789 NATIVE/)
    const late = page.waitForResponse((response) =>
      /^view.*SOL/.test(response.request().headers()['payment-checkout'] ?? ''),
    )
    release()
    await (await late).finished()
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(resolve)))
    expect(await price()).toMatch(/^123,456\.123456789 NATIVE/)
  })

  it('by hand: everything can be copied, by the keyboard too', async () => {
    await open()
    await page.getByText('Pay by hand').focus()
    await page.keyboard.press('Enter')
    for (const [name, value] of [
      ['Address', recipient],
      ['Amount in USDC', '0.01'],
      ['Token address of USDC', /^7rkN/],
      ['Memo', requestId],
    ] as const) {
      await page.keyboard.press('Tab')
      expect(await page.evaluate(() => document.activeElement?.getAttribute('aria-label'))).toBe(`Copy: ${name}`)
      await page.keyboard.press('Space')
      await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toMatch(value)
      await expect.poll(() => page.locator('#said').textContent()).toBe(`Copied: ${name}`)
    }
  })

  it('texts of strangers stay texts', async () => {
    const evil = '<img src=x onerror="window.hacked=1"></script><script>window.hacked=1</script>'
    await open({ host: evil, what: evil, buys: evil, isAgain: true })
    fixture.standing = { state: 'wrong', tx: evil, why: evil }
    await hurry(page)
    await expect.poll(() => page.locator('#notice code').textContent()).toBe(evil)
    expect(await page.locator('h1').textContent()).toBe(evil)
    expect(await page.evaluate(() => 'hacked' in window)).toBe(false)
  })
})

it('without a script everything needed is there, and a reload tells how it stands', async () => {
  const bare = await openTab({ javaScriptEnabled: false })
  await bare.page.goto(fixture.url)
  for (const text of [recipient, requestId, 'After paying, reload this page.'])
    expect(await bare.page.getByText(text, { exact: true }).isVisible()).toBe(true)
  fixture.facts = factsOf({ standing: { state: 'confirming', tx } })
  await bare.page.reload()
  expect(await heading(bare.page)).toBe('Payment detected')
})
