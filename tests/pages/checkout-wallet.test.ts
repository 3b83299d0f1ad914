/** Paying with a wallet of the browser: each way it can go, and that nobody pays twice. */
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import type { Tab } from '../harness/browser.ts'
import { cells, isLong, itInFull, nextThemes } from '../harness/length.ts'
import { type CheckoutFixture, factsOf, requestId, signature as tx } from './checkout-fixture.ts'
import { approve, asked, heading, hurry, offered, told } from './checkout-readers.ts'
import { type OpenedCheckout, openForEach } from './checkout-setup.ts'
import { type FakeWallet, installWallet } from './fake-wallet.ts'

let fixture: CheckoutFixture
let openTab: OpenedCheckout['openTab']
let tab: Tab
let page: Page
openForEach(async (opened) => {
  ;({ fixture, openTab } = opened)
  tab = await opened.openSharedTab()
  page = tab.page
})

const payer = '2vQ2sUjfXcKMwZkD3hVd7aRpqzN8eGt5Y4oLbWc1xTHu'
const button = (name = 'Testwallet') => page.getByRole('button', { name: `Pay with ${name}` })
const notice = () => page.locator('#notice').textContent()

async function open(wallet: FakeWallet = {}): Promise<void> {
  await installWallet(page, wallet)
  await page.goto(fixture.url)
}

async function click(wallet: FakeWallet = {}): Promise<void> {
  await open(wallet)
  await button(wallet.name).click()
}

/** Holds the service's answers back until it is let go. */
function hold(): () => void {
  let release = (): void => {}
  fixture.gate = new Promise((resolve) => {
    release = resolve
  })
  return () => release()
}

describe('a payment', () => {
  it('goes from the click through the wallet to the resource', async () => {
    await click()
    await told(page, 'Confirming your payment')
    expect(await page.locator('#notice code').textContent()).toBe(tx)
    expect(await offered(page)).toBe(false)
    const orders = fixture.orders.filter(({ kind }) => kind === 'prepare' || kind === 'submit')
    expect(orders).toEqual([
      { kind: 'prepare', requestId, token: 'USDC', account: payer },
      { kind: 'submit', requestId, transaction: expect.stringMatching(/^AQkJCQ[A-Za-z0-9_-]+$/) },
    ])
    fixture.resource = { type: 'text/html', body: '<title>the forecast</title>' }
    fixture.standing = { state: 'paid', tx }
    await page.getByRole('link', { name: 'Open your purchase' }).click()
    await expect.poll(() => page.title()).toBe('the forecast')
  })

  it('is one payment, however often the button is pressed', async () => {
    const release = hold()
    await open()
    await button().dblclick()
    await button().click({ force: true })
    await button().press('Enter')
    release()
    await told(page, 'Confirming your payment')
    expect(await asked(page)).toEqual({ connect: 1, sign: 1 })
    expect([fixture.count('prepare'), fixture.count('submit')]).toEqual([1, 1])
  })

  it('works with the keyboard alone, and nothing is lost from sight', async () => {
    await open({ signs: 'no' })
    await page.keyboard.press('Tab')
    expect(await button().evaluate((element) => element === document.activeElement)).toBe(true)
    await page.keyboard.press('Enter')
    await told(page, 'You declined')
    expect(await button().evaluate((element) => element === document.activeElement)).toBe(true)
    fixture.standing = { state: 'confirming', tx }
    await hurry(page)
    await told(page, 'Payment detected')
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('notice')
  })

  it('is sent by the wallet where it can do nothing else, and looked for by its name', async () => {
    await click({ isSender: true })
    await told(page, 'Confirming your payment')
    expect(fixture.count('submit')).toBe(0)
    await expect
      .poll(() => fixture.orders.filter((order) => order.kind === 'status').at(-1))
      .toMatchObject({ tx: expect.stringMatching(/^[1-9A-HJ-NP-Za-km-z]{80,90}$/) })
  })

  it('comes from the account that was chosen, and can be cancelled before', async () => {
    await click({ accounts: 3 })
    await page.getByRole('button', { name: 'Cancel' }).click()
    await told(page, 'Not connected')
    await button().click()
    await told(page, 'Choose an account')
    expect(await tab.violations()).toEqual([])
    await page.getByRole('button', { name: 'Savings 2 (4vQ2...xTHu)' }).click()
    await told(page, 'Confirming your payment')
    expect(fixture.orders.find((order) => order.kind === 'prepare')).toMatchObject({ account: payer.replace('2', '4') })
  })

  itInFull('goes on after a reload in the middle', async () => {
    await click()
    await told(page, 'Confirming your payment')
    fixture.facts = factsOf({ standing: { state: 'confirming', tx } })
    fixture.standing = fixture.facts.standing
    await page.reload()
    await told(page, 'Payment detected')
    expect(await offered(page)).toBe(false)
  })
})

it.each(cells([false, true], 2, 1))(
  'T179: of several tabs, the one that paid opens it (loaded again: %s)',
  async (isLoadedAgain) => {
    const others = [await tab.page.context().newPage(), await tab.page.context().newPage()]
    await click()
    await told(page, 'Confirming your payment')
    fixture.facts = factsOf({ standing: { state: 'confirming', tx } })
    fixture.standing = fixture.facts.standing
    if (isLoadedAgain) await page.reload()
    for (const other of others) await other.goto(fixture.url)
    fixture.resource = { type: 'text/html', body: '<title>the forecast</title>' }
    fixture.standing = { state: 'paid', tx }
    await Promise.all([...others, page].map(hurry))
    await page.getByRole('link', { name: 'Open your purchase' }).click()
    await expect.poll(() => page.title()).toBe('the forecast')
    for (const other of others) await told(other, 'Opened in another tab')
  },
)

describe('each step has its words', () => {
  const steps: readonly (readonly [name: string, wallet: FakeWallet, title: string, words: RegExp])[] = [
    ['not connected', { connects: 'no' }, 'Not connected', /Nothing was paid/],
    [
      'wrong network',
      { chains: ['solana:mainnet'] },
      'Wrong network',
      /not connected to Solana devnet. Switch it to devnet/,
    ],
    ['declined', { signs: 'no' }, 'You declined', /Nothing was paid. Try again/],
    ['a wallet that fails', { signs: 'fails' }, 'Testwallet could not pay', /Nothing was paid/],
    ['one that may have sent', { signs: 'fails', isSender: true }, 'Testwallet reported a problem', /wait here/],
    [
      'connecting',
      { connects: 'never' },
      'Connecting to Testwallet',
      /Allow the connection in your wallet.*Start over/,
    ],
    ['asking', { signs: 'never' }, 'Approve it in Testwallet', /You pay 0\.01 USDC/],
  ]
  it('from connecting to the end of a payment that was not sent', async () => {
    for (const [, wallet] of steps) await installWallet(page, wallet)
    await page.goto(fixture.url)
    for (const [index, [name, , title, words]] of steps.entries()) {
      // The step before is still under way.
      if (name === 'asking') await page.reload()
      await button().nth(index).click()
      await told(page, title)
      expect([name, await notice()]).toEqual([name, expect.stringMatching(words)])
      expect([name, fixture.count('submit'), await offered(page)]).toEqual([name, 0, true])
      for (const colorScheme of name === 'declined' || isLong ? nextThemes() : []) {
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
        expect([name, await tab.violations()]).toEqual([name, []])
      }
    }
  })

  it('too little money: the balance, the price, and the source of test money', async () => {
    fixture.prepared = { kind: 'short', token: 'USDC', has: '0.002', needs: '0.01' }
    await click()
    await told(page, 'Insufficient balance')
    expect(await notice()).toMatch(/has 0\.002 USDC, but needs 0\.01 USDC/)
    expect(await page.locator('#notice code').textContent()).toBe(`npx paystile faucet ${payer}`)
    expect(await tab.violations()).toEqual([])
    fixture.prepared = { kind: 'transaction', transaction: 'AQID' }
    await button().click()
    await told(page, 'Confirming your payment')
  })

  it('refused by the service: why, and that nothing was paid', async () => {
    fixture.sent = { kind: 'refused', why: 'the blockhash is too old' }
    await click()
    await told(page, 'The payment was not sent')
    expect(await notice()).toContain('The blockhash is too old. Nothing was paid.')
  })
})

describe('no visitor pays twice', () => {
  it.each(['prepared', 'sent'] as const)('when the service knows of a payment already (%s)', async (place) => {
    fixture[place] = { kind: 'state', state: 'confirming', tx }
    const state = { state: 'confirming', tx } as const
    await open()
    fixture.standing = state
    await button().click()
    await told(page, 'Payment detected')
    expect(await offered(page)).toBe(false)
    expect(fixture.count('submit')).toBe(place === 'sent' ? 1 : 0)
  })

  it('a payment from the phone stops the one that the wallet is asked for, though it is approved', async () => {
    await click({ signs: 'later' })
    await told(page, 'Approve it in Testwallet')
    fixture.standing = { state: 'confirming', tx }
    await hurry(page)
    await told(page, 'Payment detected')
    expect(await notice()).toMatch(/Decline the request in your wallet/)
    await approve(page)
    await expect.poll(notice).not.toMatch(/Decline the request/)
    expect(fixture.count('submit')).toBe(0)
  })

  it('a transaction that is approved after the quote has expired is not sent', async () => {
    // Its time would pass for the next tests of the shared tab, too.
    page = (await openTab()).page
    await page.clock.install()
    await click({ signs: 'later' })
    await told(page, 'Approve it in Testwallet')
    const { now, expiresAt } = fixture.facts
    await page.clock.fastForward(expiresAt - now)
    await approve(page)
    await told(page, 'The time to pay has ended')
    expect(fixture.count('submit')).toBe(0)
  })

  it('an approved transaction is sent again while the service is away, as the same transaction', async () => {
    fixture.deafTo.add('submit')
    await click()
    await told(page, 'The service cannot be reached')
    expect(await notice()).toMatch(/You approved the payment.*can be charged only once/)
    fixture.deafTo.clear()
    await told(page, 'Confirming your payment')
    const sent = fixture.orders.filter((order) => order.kind === 'submit')
    expect(sent.length).toBeGreaterThan(1)
    expect(new Set(sent.map((order) => JSON.stringify(order))).size).toBe(1)
  })

  it('a refusal of a transaction that may have arrived before is awaited, and not taken for an unpaid quote', async () => {
    fixture.deafTo.add('submit')
    await click()
    // Chromium repeats a request by itself when a connection breaks: the page has to have noticed.
    await told(page, 'The service cannot be reached')
    fixture.sent = { kind: 'refused', why: 'the blockhash is too old' }
    fixture.deafTo.clear()
    await told(page, 'Confirming your payment')
    expect(await offered(page)).toBe(false)
  })

  it('a service that is away when a payment is to be prepared leads to nothing, and says so', async () => {
    fixture.deafTo.add('prepare')
    await click()
    await told(page, 'The payment was not sent')
    expect(await notice()).toContain('Nothing was paid')
    expect(await asked(page)).toMatchObject({ sign: 0 })
  })

  it('a service that does not know the sent transaction does not lead to a second offer', async () => {
    await click()
    await told(page, 'Confirming your payment')
    const before = fixture.count('status')
    await expect.poll(() => fixture.count('status')).toBeGreaterThan(before + 1)
    expect(await heading(page)).toBe('Confirming your payment')
    expect(await offered(page)).toBe(false)
  })
})

describe('the wallets that are offered', () => {
  it('all that can pay, with pictures that come with them, also when they come late', async () => {
    await installWallet(page, { name: 'First' })
    await installWallet(page, { name: 'Second', icon: 'https://elsewhere.example/icon.png' })
    await page.goto(fixture.url)
    expect(await page.locator('#wallets button').allTextContents()).toEqual(['Pay with First', 'Pay with Second'])
    expect(await page.locator('#wallets img').count()).toBe(1)
    await page.evaluate(() => {
      const late = { name: 'Late', icon: '', chains: ['solana:devnet'], accounts: [] }
      const features = { 'standard:connect': {}, 'solana:signTransaction': {} }
      const detail = (api: { register(wallet: unknown): void }) => api.register({ ...late, features })
      dispatchEvent(new CustomEvent('wallet-standard:register-wallet', { detail }))
    })
    expect(await page.locator('#wallets button').count()).toBe(3)
  })

  it('on a chain of this machine only those that know it, and test money', async () => {
    fixture.facts = factsOf({ network: 'localnet', chain: 'solana:localnet' })
    await installWallet(page, { name: 'Knows', chains: ['solana:localnet'] })
    await installWallet(page, { name: 'Does not', chains: ['solana:mainnet', 'solana:devnet'] })
    await page.goto(fixture.url)
    expect(await page.locator('#wallets button').allTextContents()).toEqual(['Pay with Knows', 'Pay with test money'])
  })

  it('none: the other ways are named', async () => {
    await page.goto(fixture.url)
    expect(await page.locator('#wallets').textContent()).toMatch(/No wallet was found.*phone, or by hand/)
  })
})
