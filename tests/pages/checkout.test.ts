/** People pay in a real browser, on a real chain: with a wallet, with a phone, over reloads, tabs and restarts. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { KeyPairSigner } from '@solana/kit'
import type { Page, Request } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { cookieName } from '../../src/core/checkout/cookie.ts'
import type { CheckoutFacts } from '../../src/core/checkout/messages.ts'
import type { Content, Handler } from '../harness/adapters.ts'
import type { Browser, Tab } from '../harness/browser.ts'
import { openBrowser } from '../harness/browser.ts'
import { isView, undoAtLeave } from '../harness/left-pages.ts'
import { itInFull } from '../harness/length.ts'
import { unhurried } from '../harness/localnet-fixture.ts'
import { payFromPhone } from '../harness/purchase.ts'
import type { Shop } from '../harness/shop.ts'
import { eventually } from '../harness/shop.ts'
import type { ShopFixture } from '../harness/shop-fixture.ts'
import { createShopFixture, serveNode } from '../harness/shop-fixture.ts'
import { createVisitor } from '../harness/visitor.ts'
import type { RealWallet } from './real-wallet.ts'
import { installRealWallet } from './real-wallet.ts'

const contents: Readonly<Record<string, Content>> = {
  '/page': {
    headers: { 'Content-Type': 'text/html' },
    body: '<!doctype html><title>bought</title><h1>A paid page</h1><script>document.title = "its script ran"</script>',
  },
  '/json': { headers: { 'Content-Type': 'application/json' }, body: '{"answer":42}' },
  '/file': {
    headers: { 'Content-Type': 'application/zip', 'Content-Disposition': 'attachment; filename="a.zip"' },
    body: 'PK-not-really',
  },
}
const handler: Handler = (target) => contents[target] ?? { status: 404 }

let fixture: ShopFixture
let browser: Browser
let shop: Shop
beforeAll(async () => {
  fixture = await createShopFixture(unhurried)
  browser = await openBrowser()
  shop = await fixture.open({ watch: true, description: 'The weekly report' }, serveNode, handler)
})
afterAll(async () => {
  await browser?.close()
  await fixture?.close()
})

interface Customer extends Tab {
  readonly wallet: RealWallet
  readonly signer: KeyPairSigner
}

async function customer(options: Parameters<Browser['page']>[0] = {}): Promise<Customer> {
  const person = await fixture.world.person()
  const tab = await (isView(options) ? browser.sharedPage(options) : browser.page(options))
  const wallet = await installRealWallet(tab.page, person)
  return { ...tab, wallet, signer: person }
}

const payButton = (page: Page) => page.getByRole('button', { name: /Realwallet/ })
const heading = (page: Page, name: RegExp) => page.getByRole('heading', { name })

/** Opens the purchase from its receipt. A page that is loaded after the payment is the purchase already. */
async function openPurchase(page: Page): Promise<void> {
  const [link, bought] = [page.getByRole('link', { name: 'Open your purchase' }), heading(page, /A paid page/)]
  await link.or(bought).waitFor()
  if (await link.isVisible()) await link.click()
  await bought.waitFor()
}

async function factsOf(page: Page): Promise<CheckoutFacts> {
  return JSON.parse((await page.locator('#facts').textContent()) ?? '') as CheckoutFacts
}

/** Of which the page knows nothing. */
const payByPhone = (facts: Pick<CheckoutFacts, 'requestId' | 'recipient'>, units?: bigint) =>
  payFromPhone(fixture.world, fixture.payer, facts, units)

/** What a wallet has, in base units of USDC, or of another mint. */
async function balanceOf(owner: string, mint?: string): Promise<bigint> {
  const { world } = fixture
  const account = await world.tokenAccount(owner, { ...world.usdc, ...(mint !== undefined && { address: mint }) })
  const params = [account, { commitment: 'confirmed' }]
  const { value } = await world.rpc<{ value: { amount: string } }>('getTokenAccountBalance', params)
  return BigInt(value.amount)
}

it('a page is bought with a wallet, and its own script runs', async () => {
  const { page, signer, complaints, close } = await customer()
  const before = await balanceOf(signer.address)
  await page.goto(`${shop.url}/page`)
  expect(await page.getByText('The weekly report').count()).toBeGreaterThan(0)
  await payButton(page).click()
  await openPurchase(page)
  expect(await page.title()).toBe('its script ran')
  expect(before - (await balanceOf(signer.address))).toBe(10_000n)
  expect(complaints).toEqual([])
  await close()
})

itInFull('a page is bought for a token of the provider’s own, whose amount and code it shows', async () => {
  const { world } = fixture
  const { page, signer, complaints, close } = await customer()
  await world.localnet.fund(signer.address, { EURC: 1_000_000n })
  await world.localnet.fund(world.recipient.address, { EURC: 0n })
  const { address: mint = '' } = world.localnet.mints['EURC'] ?? {}
  const tokens = { EURC: { mint, decimals: 6 } }
  const own = await fixture.open({ watch: true, price: '0.125', token: 'EURC', tokens }, serveNode, handler)
  await page.goto(`${own.url}/page`)
  expect(await page.locator('main').innerText()).toMatch(/0\.125\s*EURC/)
  await payButton(page).click()
  await openPurchase(page)
  expect(await balanceOf(signer.address, mint)).toBe(875_000n)
  expect(complaints).toEqual([])
  await close()
})

it('a page with a split price is bought in either token, and says why it cannot be paid by hand', async () => {
  const partner = await fixture.world.person()
  const splits = [{ recipient: partner.address, share: 10 }]
  const options = { watch: true, acceptedMints: ['SOL', 'USDC'] as const, splits }
  const split = await fixture.open(options, serveNode, handler)
  const { page, complaints, close } = await customer()
  const before = await balanceOf(partner.address)
  await page.goto(`${split.url}/page`)
  await page.getByText('A transfer by hand cannot pay it.').waitFor()
  expect(await page.locator('#qr, #hand, #link').count()).toBe(0)
  const price = () => page.locator('#price').innerText()
  await page.locator('label', { hasText: 'SOL' }).click()
  await expect.poll(price).toMatch(/SOL/)
  await page.locator('label', { hasText: 'USDC' }).click()
  await expect.poll(price).toMatch(/0\.01\s*USDC/)
  await payButton(page).click()
  await openPurchase(page)
  expect((await balanceOf(partner.address)) - before).toBe(1_000n)
  expect(complaints).toEqual([])
  await close()
})

it('a document is bought after the person declined once, and nothing was paid for that', async () => {
  const { page, signer, wallet, complaints, close } = await customer()
  const before = await balanceOf(signer.address)
  await page.goto(`${shop.url}/json`)
  wallet.decline()
  await payButton(page).click()
  await heading(page, /declined/).waitFor()
  expect(await balanceOf(signer.address)).toBe(before)
  await payButton(page).click()
  await page.getByRole('link', { name: 'Open your purchase' }).click()
  await expect.poll(() => page.locator('#resource pre').allTextContents()).toEqual(['{\n  "answer": 42\n}'])
  expect(before - (await balanceOf(signer.address))).toBe(10_000n)
  expect(complaints).toEqual([])
  await close()
})

itInFull('a download downloads', async () => {
  const { page, complaints, close } = await customer()
  await page.goto(`${shop.url}/file`)
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    payButton(page).click(),
    page.getByRole('link', { name: 'Open your purchase' }).click(),
  ])
  expect(download.suggestedFilename()).toBe('a.zip')
  expect(await download.failure()).toBeNull()
  expect(complaints).toEqual([])
  await close()
})

it('a visitor on a local chain pays with test money', async () => {
  const { page, wallet, complaints, close } = await customer()
  await page.goto(`${shop.url}/page`)
  await page.getByRole('button', { name: 'Pay with test money' }).click()
  await openPurchase(page)
  expect(wallet.asked()).toBe(0)
  expect(complaints).toEqual([])
  await close()
})

it('a payment from the phone is noticed by the page, which needs nothing more', async () => {
  const { page, complaints, close } = await customer()
  await page.goto(`${shop.url}/page`)
  await payByPhone(await factsOf(page))
  await openPurchase(page)
  expect(complaints).toEqual([])
  await close()
})

itInFull('a visitor that closes the tab after the payment and returns is served', async () => {
  const { page, complaints, close } = await customer()
  await page.goto(`${shop.url}/page`)
  const facts = await factsOf(page)
  await page.goto('about:blank')
  await payByPhone(facts)
  await page.goto(`${shop.url}/page`)
  await openPurchase(page)
  expect(complaints).toEqual([])
  await close()
})

it('a wallet without money is told the missing amount, and asked for no signature', async () => {
  const { page, signer, wallet, close } = await customer()
  const { world } = fixture
  const all = await balanceOf(signer.address)
  await world.send([await world.transfer(signer, world.recipient.address, 'USDC', all)], signer)
  await page.goto(`${shop.url}/page`)
  await payButton(page).click()
  await heading(page, /Insufficient balance/).waitFor()
  expect(wallet.asked()).toBe(0)
  await close()
})

it('too little from the phone is told, and does not open the door', async () => {
  const { page, close } = await customer()
  await page.goto(`${shop.url}/page`)
  await payByPhone(await factsOf(page), 4_000n)
  await heading(page, /The amount is too low/).waitFor()
  await close()
})

it('a double click, and a second tab, pay once', async () => {
  const { page, signer, close } = await customer()
  const before = await balanceOf(signer.address)
  await page.goto(`${shop.url}/page`)
  const second = await page.context().newPage()
  await second.goto(`${shop.url}/page`)
  expect((await factsOf(second)).requestId).toBe((await factsOf(page)).requestId)
  await Promise.all([payButton(page).dblclick(), payButton(second).click()])
  await Promise.race([page, second].map((one) => heading(one, /Paid$/).waitFor()))
  fixture.world.localnet.advanceSlots(200)
  await eventually(
    async () => before - (await balanceOf(signer.address)),
    (spent) => spent === 10_000n,
  )
  await close()
})

/** A second tab of the same person. */
async function secondTab(page: Page): Promise<Page> {
  const second = await page.context().newPage()
  await second.goto(`${shop.url}/page`)
  await payButton(second).waitFor()
  return second
}

itInFull(
  'T179: the tab that paid is served, though the other hears of it first, and that one offers nothing',
  async () => {
    const { page, close } = await customer()
    await page.goto(`${shop.url}/page`)
    await payButton(page).waitFor()
    const second = await secondTab(page)
    let release = (): void => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    await page.route('**/page', async (route) => {
      if (/^status/.test(route.request().headers()['payment-checkout'] ?? '')) await held
      await route.continue()
    })
    await payButton(page).click()
    await heading(second, /Opened in another tab/).waitFor()
    expect(await second.locator('#pay').isVisible()).toBe(false)
    expect(await second.locator('.button:visible').count()).toBe(0)
    release()
    await openPurchase(page)
    await close()
  },
)

it('T179: of two tabs that wait for a phone, one opens the resource and the other offers no payment', async () => {
  const { page, close } = await customer()
  await page.goto(`${shop.url}/page`)
  const second = await secondTab(page)
  await payByPhone(await factsOf(page))
  const titles = () =>
    Promise.all([page, second].map(async (tab) => (await tab.locator('h1, h2').allTextContents()).join()))
  await expect.poll(titles).toContainEqual(expect.stringMatching(/Paid,Receipt/))
  await expect.poll(titles).toContainEqual(expect.stringMatching(/Opened in another tab/))
  const other = /Paid,Receipt/.test((await titles())[0] ?? '') ? second : page
  expect(await other.locator('#pay').isVisible()).toBe(false)
  expect(await other.locator('.button:visible').count()).toBe(0)
  await close()
})

it('a reload in the middle goes on where it was', async () => {
  const { page, signer, wallet, close } = await customer()
  const before = await balanceOf(signer.address)
  await page.goto(`${shop.url}/page`)
  const orderOf = (request: Request) => request.headers()['payment-checkout']?.split(';', 1)[0]
  // The page does not notice that it is paid, so only the person loads it again.
  await page.route('**/page', (route) => (orderOf(route.request()) === 'status' ? route.abort() : route.continue()))
  await payButton(page).click()
  await eventually(
    () => balanceOf(signer.address),
    (left) => left < before,
  )
  await page.reload()
  await openPurchase(page)
  expect(before - (await balanceOf(signer.address))).toBe(10_000n)
  expect(wallet.asked()).toBe(1)
  await close()
})

it('an expired quote is replaced, and the old one cannot be paid', async () => {
  const { page, wallet, close } = await customer()
  const short = await fixture.open({ watch: true, challengeTtlSeconds: 120 }, serveNode, handler)
  await page.goto(`${short.url}/page`)
  const { requestId } = await factsOf(page)
  fixture.world.localnet.advance(121)
  await heading(page, /expired/).waitFor()
  await page.getByRole('link', { name: /new price/ }).click()
  await eventually(
    async () => (await factsOf(page)).requestId,
    (fresh) => fresh !== requestId,
  )
  await payButton(page).click()
  await openPurchase(page)
  expect(wallet.asked()).toBe(1)
  await close()
})

it('the page outlives a restart of the service', async () => {
  const options = { ledger: join(fixture.directory, 'pages.sqlite'), secret: `1:${'cd'.repeat(32)}`, watch: true }
  const first = await fixture.open(options, serveNode, handler)
  // The address stays while the server behind it is replaced.
  let target = first.url
  const front: Server = createServer((request, response) => {
    fetch(`${target}${request.url}`, { headers: request.headers as Record<string, string>, redirect: 'manual' })
      .then(async (answer) => {
        const skipped = ['content-encoding', 'transfer-encoding', 'connection', 'keep-alive', 'content-length']
        const headers = [...answer.headers].filter(([name]) => !skipped.includes(name))
        response.writeHead(answer.status, headers.flat())
        response.end(Buffer.from(await answer.arrayBuffer()))
      })
      .catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(front.address() as AddressInfo).port}`
  const { page, close } = await customer()
  await page.goto(`${url}/page`)
  const facts = await factsOf(page)
  await first.stop()
  await heading(page, /cannot be reached/).waitFor()
  await payByPhone(facts)
  const second = await fixture.open(options, serveNode, handler)
  target = second.url
  await openPurchase(page)
  await close()
  front.closeAllConnections()
  front.close()
})

it('works with the keyboard alone, in the dark, on a narrow screen, and for a screen reader', async () => {
  const { page, complaints, violations, close } = await customer({
    colorScheme: 'dark',
    viewport: { width: 360, height: 740 },
  })
  await page.goto(`${shop.url}/page`)
  await payButton(page).waitFor()
  expect(await violations()).toEqual([])
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
  expect(overflow).toBeLessThanOrEqual(0)
  for (let step = 0; step < 30; step += 1) {
    await page.keyboard.press('Tab')
    if (await payButton(page).evaluate((button) => button === document.activeElement)) break
  }
  await page.keyboard.press('Enter')
  await openPurchase(page)
  expect(complaints).toEqual([])
  await close()
})

it('nothing is offered in a browser that does not keep the cookie', async () => {
  // A browser takes no cookie for https from an address without it, but for those of its own machine.
  const guarded = await fixture.open({ watch: true, publicUrl: 'https://shop.example' }, serveNode, handler)
  const { page, close } = await customer()
  const script = await page.addInitScript(() => {
    const look = (): void => {
      if (document.querySelector('#qr')?.checkVisibility({ visibilityProperty: true }))
        document.documentElement.dataset['offered'] = 'yes'
      requestAnimationFrame(look)
    }
    requestAnimationFrame(look)
  })
  undoAtLeave(page, script)
  await page.goto(`http://0.0.0.0:${new URL(guarded.url).port}/page`)
  await heading(page, /This page cannot take payments/).waitFor()
  expect(await page.locator('html').getAttribute('data-offered')).toBeNull()
  expect(await page.locator('#notice').textContent()).toContain('Allow cookies for this address')
  await close()
})

it('T178: a ticket that a neighbouring host has planted is not paid', async () => {
  const guarded = await fixture.open({ watch: true, publicUrl: 'https://shop.localhost' }, serveNode, handler)
  const { port } = new URL(guarded.url)
  const attacker = createVisitor(guarded.url)
  const planted = (await attacker.go('/page')).facts().requestId
  const [value = ''] = attacker.cookies.values()
  const names = [true, false].map((isSecure) => cookieName({ target: '/page', isSecure }))
  const neighbour = createServer((_request, response) => {
    const attributes = ['Domain=shop.localhost; Path=/page', 'Domain=shop.localhost; Path=/; Secure', 'Path=/; Secure']
    response.setHeader(
      'Set-Cookie',
      names.flatMap((name) => attributes.map((rest) => `${name}=${value}; ${rest}`)),
    )
    response.end('hello')
  })
  await new Promise<void>((resolve) => neighbour.listen(0, '127.0.0.1', resolve))
  const { page, close } = await customer()
  await page.goto(`http://evil.shop.localhost:${(neighbour.address() as AddressInfo).port}`)
  await page.goto(`http://shop.localhost:${port}/page`)
  expect((await page.context().cookies()).map(({ value: kept }) => kept)).toContain(value)
  expect((await factsOf(page)).requestId).not.toBe(planted)
  await payButton(page).click()
  await openPurchase(page)
  await close()
  neighbour.closeAllConnections()
  neighbour.close()
})

it('tells address, amount and memo without JavaScript', async () => {
  const { page, close } = await customer({ javaScriptEnabled: false })
  await page.goto(`${shop.url}/page`)
  const { requestId, recipient } = await factsOf(page)
  const text = (await page.locator('body').innerText()).replaceAll(/\s/g, '')
  for (const fact of [requestId, recipient, '0.01USDC']) expect(text).toContain(fact)
  await payByPhone({ requestId, recipient })
  await eventually(
    async () => {
      await page.reload()
      return page.title()
    },
    (title) => title === 'bought',
  )
  await close()
})
