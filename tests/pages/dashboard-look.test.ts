/** The dashboard's look and its sign-in, in a real browser. */
import { signBytes } from '@solana/kit'
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { readShifts } from '../harness/layout-shift.ts'
import { cells, nextThemes } from '../harness/length.ts'
import { newSigner } from '../harness/localnet-fixture.ts'
import { contractAnswers } from './contract.ts'
import { wallet } from './contract-outgoing.ts'
import { abroad, type DashboardFixture, goTo, openDashboard, screens, watchShifts } from './dashboard-fixture.ts'
import type { DashboardService } from './shop-fixture.ts'
import { lendKeys, walletScript } from './wallet.ts'

let dashboard: DashboardFixture
beforeAll(async () => {
  dashboard = await openDashboard()
})
afterAll(() => dashboard?.close())
afterEach(async () => {
  expect(await dashboard.leave()).toEqual([])
})

const sizes = [
  ['a phone', 360],
  ['a tablet', 768],
] as const
const longName = 'GET /a/very/long/endpoint/name/that/nobody/would/choose/if/they/had/to/type/it'
const longNames = (page: Page) => contractAnswers(page, longName)
/** What opens above a screen. */
const drawers = [
  '/payments?payment=r1',
  '/rewards?payout=payout-1',
  `/rewards?payee=partner~${wallet}`,
  '/settlement?conversion=conversion-1',
  '/webhooks?delivery=msg-failed',
]

describe('the look', () => {
  it('is dark or light as chosen, also after a reload', async () => {
    const { page } = await dashboard.visit('/payments')
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor)
    const light = await ground()
    await page.locator('summary', { hasText: 'Settings' }).click()
    await page.getByText('Dark', { exact: true }).click()
    const dark = await ground()
    expect(dark).not.toBe(light)
    await page.reload()
    await page.getByRole('heading', { name: 'Payments' }).waitFor()
    expect(await ground()).toBe(dark)
    await page.locator('summary', { hasText: 'Settings' }).click()
    await page.getByText('UTC', { exact: true }).click()
    expect(await page.evaluate(() => localStorage.getItem('paystile.zone'))).toBe('utc')
  })

  it('shows the current screen, the chosen period and the bars in the colours of the system', async () => {
    const { page } = await dashboard.browse('', { forcedColors: 'active', prepare: contractAnswers })
    await page.locator('.bar').first().waitFor()
    const read = (selector: string, name: string) =>
      page
        .locator(selector)
        .first()
        .evaluate((element, one) => getComputedStyle(element).getPropertyValue(one), name)
    expect(await read('.ways a[aria-current]', 'outline-style')).toBe('solid')
    expect(await read('.ways a:not([aria-current])', 'outline-style')).toBe('none')
    expect(await read('.choice .is-chosen', 'outline-style')).toBe('solid')
    expect(await read('.bar', 'forced-color-adjust')).toBe('none')
  })

  it.each(cells([390, 768, 1440], 3))('of home moves nothing while it loads in test mode (%i px)', async (width) => {
    const { page } = await dashboard.visit('', { viewport: { width, height: 900 }, prepare: watchShifts })
    await page.getByText('Test network (localnet): no real money.').waitFor()
    await page.locator('.tile').first().waitFor()
    await page.locator('.plot').waitFor()
    await page.getByRole('region', { name: 'Live payments' }).locator('tbody tr').first().waitFor()
    expect(await page.evaluate(readShifts)).toBeLessThan(0.01)
  })

  it.each(cells([390, 412, 768, 1440], 4, 3))('of home moves nothing when alerts arrive (%i px)', async (width) => {
    const prepare = async (page: Page) => {
      await watchShifts(page)
      await contractAnswers(page)
    }
    const { page } = await dashboard.visit('', { viewport: { width, height: 823 }, prepare })
    await page.locator('.plot').waitFor()
    await page.getByRole('alert').getByText('and 6 more').waitFor()
    const isWhole = await page.getByRole('alert').evaluate((strip) => {
      const { top, bottom } = strip.getBoundingClientRect()
      // Nine alerts leave most of the window to the screen.
      return top > 0 && bottom <= innerHeight && bottom - top < innerHeight / 5
    })
    expect([isWhole, await page.evaluate(readShifts)]).toEqual([true, expect.toSatisfy((shift) => shift < 0.01)])
  })

  it.each(cells([768, 390, 1440], 3))('of the other screens moves nothing while they load (%i px)', async (width) => {
    const prepare = async (page: Page) => {
      await watchShifts(page)
      await contractAnswers(page, 'GET /an/endpoint/with/a/long/name')
    }
    const size = { viewport: { width, height: 900 } }
    for (const screen of cells(['/payments', '/settlement', '/refusals', '/payer?name=somebody'], 4)) {
      const { page } = await dashboard.visit(screen, { ...size, prepare })
      await page.locator('tbody tr').first().waitFor()
      const shift = await page.evaluate(readShifts)
      expect([screen, shift]).toEqual([screen, expect.toSatisfy((one) => one < 0.02)])
    }
  })

  it.each(cells([360, 390, 412, 768, 900, 1100, 1440], 7, 1))(
    'of home keeps no more room than its figures need (%i px)',
    async (width) => {
      const size = { viewport: { width, height: 900 } }
      // The contract's figures have a period before them and refunds. Those of the fixture are new.
      for (const prepare of [contractAnswers, undefined]) {
        let release = () => {}
        const answer = new Promise<void>((resolve) => {
          release = resolve
        })
        const hold = async (page: Page) => {
          await prepare?.(page)
          await page.route('**/analytics/overview?*', async (route) => {
            await answer
            await route.fallback()
          })
        }
        const { page } = await dashboard.visit('', { ...size, prepare: hold })
        const measure = (...parts: readonly string[]) =>
          Promise.all(
            parts.map((part) =>
              page
                .locator(part)
                .first()
                .evaluate((box) => box.clientHeight),
            ),
          )
        const chart = '[aria-labelledby="over-time"]'
        const [reserved, chartReserved] = await measure('.figures > .skeleton', `${chart}:has(> .skeleton)`)
        release()
        await page.locator('.plot').waitFor()
        const [drawn = 0, chartDrawn = 0] = await measure('.figures .tiles', chart)
        expect(drawn).toBe(reserved)
        // The legend of the previous period may take a line.
        expect(Math.abs(chartDrawn - (chartReserved ?? 0))).toBeLessThan(24)
        const needed = await page.locator('.figures .tiles').evaluate((tiles) => {
          tiles.style.minHeight = '0'
          return tiles.clientHeight
        })
        expect(drawn - needed).toBeLessThan(8)
        // No part of a line is taller than the line, whatever the font.
        const rests = await page
          .locator('.figures .tile > *')
          .evaluateAll((all) =>
            all.map((one) => one.getBoundingClientRect().height % Number.parseFloat(getComputedStyle(one).lineHeight)),
          )
        expect(rests).toEqual(rests.map(() => 0))
      }
    },
  )

  it.each(cells(sizes, 2))('fits %s: nothing is wider than the window', async (_name, width) => {
    for (const screen of cells([...screens, ...drawers], 3)) {
      const { page } = await dashboard.browse(screen, { viewport: { width, height: 740 }, prepare: longNames })
      await page
        .locator(screen === '/sign-in' ? '.sign-in' : 'tbody tr')
        .first()
        .waitFor()
      const wide = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      )
      const cut = await page.evaluate(() =>
        [...document.querySelectorAll('.table-box')]
          .filter((box) => box.scrollWidth > box.clientWidth)
          .map((box) => box.textContent),
      )
      expect([screen, wide, cut]).toEqual([screen, 0, []])
    }
  })

  // A4 without margins, and with the usual margins of browsers.
  it.each(cells([794, 718], 2, 1))('shows all columns of a list on paper, and cuts nothing (%i px)', async (width) => {
    const paper = { viewport: { width, height: 1016 }, media: 'print', prepare: longNames } as const
    const lists = ['', '/endpoints', '/payers', '/settlement', '/webhooks', '/problems', '/payments?token=SOL']
    for (const screen of cells(lists, 3)) {
      const { page } = await dashboard.browse(screen, paper)
      await page.locator('tbody tr').first().waitFor()
      const controls = page.locator('button:not(.sort), .button, summary, input:not([type=radio])')
      expect([screen, await controls.filter({ visible: true }).allInnerTexts()]).toEqual([screen, []])
      const wide = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      )
      const cut = await page
        .locator('.table-box, th, td')
        .evaluateAll((all) => all.filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.textContent))
      expect([screen, wide, cut]).toEqual([screen, 0, []])
    }
    const { page } = await dashboard.browse('/payments?token=SOL', paper)
    for (const name of ['Payer', 'Delivery']) await page.getByRole('columnheader', { name, exact: true }).waitFor()
    await page.getByRole('cell', { name: 'Delivered' }).first().waitFor()
  })

  it('prints only the panel that is open, on every screen', async () => {
    for (const screen of cells(drawers, 3)) {
      const { page } = await dashboard.browse(screen, { media: 'print', prepare: contractAnswers })
      await page.locator('dialog .fact, dialog .lines').first().waitFor()
      const others = page.locator(':is(h1, h2, th, .tile)').filter({ visible: true })
      expect([screen, await others.count()]).toEqual([screen, 1])
    }
  })

  it.each([
    [1440, 0],
    [768, 3],
    [390, 6],
  ])('has no fault that axe-core knows, on any screen (%i px)', async (width, first) => {
    for (const screen of cells([...screens, ...drawers, '/problems?kind=underpaid'], 9, first)) {
      const viewer = await dashboard.browse(screen, { viewport: { width, height: 900 }, prepare: contractAnswers })
      const { page } = viewer
      await page
        .locator(screen === '/sign-in' ? '.sign-in' : 'tbody tr')
        .first()
        .waitFor()
      for (const colorScheme of nextThemes()) {
        await page.emulateMedia({ colorScheme })
        const violations = await viewer.violations()
        expect([screen, colorScheme, violations]).toEqual([screen, colorScheme, []])
      }
    }
  })

  it('has no fault that axe-core knows on a screen without data', async () => {
    const viewer = await dashboard.browse('/payments?status=Expired')
    await viewer.page.getByRole('heading', { name: 'No matching payments' }).waitFor()
    expect(await viewer.violations()).toEqual([])
  })
})

describe('a tablet', () => {
  const lists = [
    ['/payments', ['Amount', 'Value, USDC', 'Status', 'Endpoint', 'Payer', 'When']],
    ['/endpoints', ['Endpoint', 'Asked (402)', 'Payments', 'Conversion', 'Delivered', 'Revenue, USDC']],
    ['/payers', ['Payer', 'Payments', 'Paid', 'Revenue, USDC', 'First', 'Last']],
    ['/settlement', ['Sold', 'Received', 'Against the quote', 'State', 'Transaction', 'When']],
    ['/webhooks', ['Event', 'State', 'Attempts', 'Problem', 'When']],
    ['/problems', ['Problem', 'Received', 'Endpoint', 'When']],
  ] as const
  const names = [
    ['/api/weather', contractAnswers],
    [longName, longNames],
  ] as const
  it.each(cells(names, 2, 1))('shows lists as tables, and cuts nothing (%s)', async (_name, prepare) => {
    for (const [screen, columns] of cells(lists, 3)) {
      const { page } = await dashboard.browse(screen, { viewport: { width: 768, height: 1024 }, prepare })
      const table = page.locator('.table-box').first()
      await table.locator('tbody tr').first().waitFor()
      const shown = await table.locator('th').filter({ visible: true }).allInnerTexts()
      expect([screen, shown.map((text) => text.replace(/\s*[↑↓↕]$/, ''))]).toEqual([screen, columns])
      const cut = await page
        .locator('.table-box, th, td')
        .evaluateAll((all) => all.filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.textContent))
      expect([screen, cut]).toEqual([screen, []])
    }
  })
})

describe('a refunded payment', () => {
  const media = [
    ['in the colours of the system', { forcedColors: 'active' }],
    ['on paper', { media: 'print' }],
  ] as const
  it.each(cells(media, 2))('differs from a delivered one by an icon and a word (%s)', async (_name, medium) => {
    const { page } = await dashboard.browse('/payments', { ...medium, prepare: contractAnswers })
    const badges = page.locator('tbody .badge')
    await expect.poll(() => badges.allInnerTexts()).toEqual(['Verified', 'part refunded', 'Refunded'])
    const [part, whole] = [badges.nth(1), badges.last()]
    for (const badge of [part, whole]) expect(await badge.locator('.icon').isVisible()).toBe(true)
    await page.emulateMedia({ forcedColors: 'none', media: 'screen' })
    const read = (badge: typeof part) => badge.evaluate((one) => getComputedStyle(one).color)
    expect(await read(whole)).not.toBe(await read(part))
  })
})

describe('the frame', () => {
  it('lets a phone reach every screen by one or two taps, with choices that a finger can hit', async () => {
    const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }
    const { page } = await dashboard.visit('', phone)
    await page.locator('.plot').waitFor()
    const heights = await page.locator('.choice label').evaluateAll((all) => all.map((one) => one.clientHeight))
    expect(Math.min(...heights)).toBeGreaterThanOrEqual(40)
    const bar = page.getByRole('navigation', { name: 'Screens' })
    await bar.waitFor()
    const links = bar.getByRole('link')
    const isWhole = async (name: string) => {
      const box = await links.filter({ hasText: name }).boundingBox()
      return box !== null && box.x >= 0 && box.x + box.width <= 390 && box.y + box.height <= 844
    }
    for (const name of ['Home', 'Payments', 'Endpoints', 'Problems'])
      expect([name, await isWhole(name)]).toEqual([name, true])
    await bar.locator('summary').tap()
    for (const name of ['Payers', 'Rewards', 'Settlement', 'Webhooks', 'Service'])
      expect([name, await isWhole(name)]).toEqual([name, true])
    await links.filter({ hasText: 'Rewards' }).tap()
    await page.getByRole('heading', { name: 'Rewards' }).first().waitFor()
    // The menu names the screen that it opened, and is still shown as a menu.
    await expect.poll(() => bar.locator('summary').innerText()).toMatch(/^Rewards\s*, menu/)
    await bar.locator('summary .way-open .icon').waitFor()
  })

  it('starts with the link to the content for the keyboard', async () => {
    const { page } = await dashboard.visit('/payments')
    await page.locator('tbody tr').first().waitFor()
    await page.keyboard.press('Tab')
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Skip to the content')
  })

  it('shows the number of problems beside their screen, and names what needs attention', async () => {
    const { page } = await dashboard.browse('/payments', { prepare: contractAnswers })
    const bar = page.getByRole('navigation', { name: 'Screens' })
    await expect.poll(() => bar.getByRole('link', { name: 'Problems' }).innerText()).toMatch(/Problems\s*6/)
    const alert = page.getByRole('alert')
    // The strip leaves the window to the screen, so it counts the alerts beyond the worst.
    await alert.getByText('The ledger does not respond.').waitFor()
    expect(await alert.getByText('The payout wallet is low.').count()).toBe(0)
    await alert.locator('li').filter({ hasText: 'and 6 more' }).getByRole('link', { name: 'Show all' }).click()
    await page.getByRole('heading', { name: 'Problems' }).waitFor()
    expect(await alert.locator('li').count()).toBe(9)
    const isBad = await alert.locator('li').evaluateAll((all) => all.map((one) => one.classList.contains('alert-bad')))
    expect(isBad).toEqual([true, true, true, true, ...Array.from({ length: 5 }, () => false)])
    await alert
      .locator('li')
      .filter({ hasText: 'The payout wallet is low.' })
      .getByRole('link', { name: 'Show' })
      .click()
    await page.getByRole('heading', { name: 'Rewards' }).first().waitFor()
  })

  const platforms: readonly [string, object, readonly string[]][] = [
    ['Linux x86_64', {}, ['Ctrl K']],
    ['MacIntel', {}, ['⌘K']],
    ['iPhone', { hasTouch: true, isMobile: true, viewport: { width: 390, height: 844 } }, []],
  ]
  it.each(cells(platforms, 3, 1))('shows only the keys of %s', async (platform, device, keys) => {
    const script = `Object.defineProperty(navigator, 'platform', { value: '${platform}' })`
    const { page } = await dashboard.visit('/payments', { ...device, script })
    await page.locator('tbody tr').first().waitFor()
    await page.locator('summary', { hasText: 'Settings' }).click()
    const shown = await page.getByRole('button', { name: 'Go to…' }).innerText()
    expect(shown.split('\n')).toEqual(['Go to…', ...keys])
    await page.keyboard.press('?')
    const help = page.getByRole('dialog', { name: 'Keys' }).locator('dl > div').filter({ hasText: 'Go to a screen' })
    await help.waitFor()
    const palette = platform === 'Linux x86_64' ? 'Ctrl K' : '⌘K'
    expect(await help.locator('kbd').allInnerTexts()).toEqual([palette])
  })

  it('says that a filter got no answer, and applies it when the service is back', async () => {
    const viewer = await dashboard.visit('/payments')
    viewer.forgive(/ERR_FAILED/)
    const { page } = viewer
    await expect.poll(() => page.locator('tbody tr').count()).toBeGreaterThan(2)
    await page.route('**/analytics?*token=SOL*', (route) => route.abort())
    await page.getByLabel('Token').selectOption('SOL')
    await page.getByRole('alert').getByText('your choice is not applied').waitFor()
    const warning = page.locator('.is-stale > .stale')
    expect(await warning.evaluate((one) => getComputedStyle(one).opacity)).toBe('1')
    await page.getByRole('alert').getByText('The server does not respond.').waitFor()
    await page.unroute('**/analytics?*token=SOL*')
    await page.getByRole('button', { name: 'Try again now' }).click()
    await expect.poll(() => page.locator('tbody tr').count()).toBe(1)
    expect(await page.getByRole('alert').count()).toBe(0)
    await goTo(page, '')
    await page.route('**/analytics/overview?*', (route) => route.abort())
    await page.getByText('30 d', { exact: true }).click()
    await page.getByText('your choice is not applied').waitFor()
    await page.locator('.grid .is-stale').first().waitFor()
    expect([await page.locator('.stale').count(), await viewer.violations()]).toEqual([1, []])
  })

  it('moves no row under the pointer', async () => {
    const { page } = await dashboard.visit('')
    const feed = page.getByRole('region', { name: 'Live payments' })
    await page.getByRole('status').filter({ hasText: 'Live' }).waitFor()
    const first = feed.locator('tbody tr').first()
    await first.waitFor()
    await first.hover()
    const under = await first.locator('[data-row]').getAttribute('data-row')
    await dashboard.service.buy('/api/moon')
    await feed.getByText('Live, 1 new').waitFor()
    expect(await first.locator('[data-row]').getAttribute('data-row')).toBe(under)
    await page.mouse.move(0, 0)
    await expect.poll(() => first.locator('[data-row]').getAttribute('data-row')).not.toBe(under)
  })
})

describe('signing in', () => {
  it('is asked for, done with a wallet, refused to a stranger, and ended', async () => {
    const stranger = await newSigner()
    const people = { Stranger: stranger, Owner: dashboard.service.owner }
    const script = walletScript({
      Stranger: stranger.address,
      Owner: dashboard.service.owner.address,
      Shy: dashboard.service.owner.address,
    })
    const viewer = await dashboard.visit('/payments', { ...abroad, script })
    viewer.forgive(/status of 40[13]/)
    const { page } = viewer
    await lendKeys(page, people)
    await page.getByRole('heading', { name: 'Sign in to see your payments' }).waitFor()
    expect(await page.getByRole('navigation').count()).toBe(0)
    expect(await viewer.violations()).toEqual([])
    await page.getByRole('button', { name: 'Sign in with Shy' }).click()
    await page.getByRole('alert').getByText('The wallet did not sign.').waitFor()
    // The reason is beside the button.
    await page.locator('.wallets li').filter({ hasText: 'Shy' }).getByRole('alert').waitFor()
    await page.getByRole('button', { name: 'Sign in with Stranger' }).click()
    await page.getByRole('heading', { name: 'This wallet does not own the service' }).waitFor()
    await page.getByRole('button', { name: 'Sign in with Owner' }).click()
    await page.locator('tbody tr').first().waitFor()
    await page.locator('[data-row]').first().click()
    await page.getByRole('dialog').getByRole('button', { name: 'Copy Transaction' }).waitFor()
    await page.keyboard.press('Escape')
    await page.locator('summary', { hasText: 'Settings' }).click()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in to see your payments' }).waitFor()
    // What one has seen is not there for the next, not even until the service has refused them.
    await page.route('**/analytics?*', () => {})
    await page.getByRole('button', { name: 'Sign in with Stranger' }).click()
    await page.getByRole('heading', { name: 'Payments' }).waitFor()
    expect(await page.locator('tbody tr').count()).toBe(0)
  })

  it('shows no text to a wallet that would sign it in elsewhere', async () => {
    const script = walletScript({ Owner: dashboard.service.owner.address })
    const viewer = await dashboard.visit('/sign-in', { script })
    const { page } = viewer
    await page.route('**/sign-in/nonce', async (route) => {
      const { message } = (await (await route.fetch()).json()) as { message: string }
      return route.fulfill({
        json: { message: message.replaceAll(new URL(dashboard.service.url).host, 'bank.example') },
      })
    })
    await page.getByRole('button', { name: 'Sign in with Owner' }).click()
    await page.getByRole('alert').getByText('for another site').waitFor()
  })

  it('works without a wallet in the browser: the text is signed elsewhere', async () => {
    const viewer = await dashboard.visit('', abroad)
    viewer.forgive(/status of 40[01]/)
    const { page } = viewer
    await page.getByText('No wallet was found in this browser.').waitFor()
    await page.getByRole('button', { name: 'Get the message to sign' }).click()
    const command = await page.locator('.command code').textContent()
    const message = /'([^']*)'$/.exec(command ?? '')?.[1] ?? ''
    expect(message).toContain(dashboard.service.owner.address)
    await page.getByLabel('Signature').fill('no signature')
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page
      .locator('.by-hand')
      .getByRole('alert')
      .getByText('The address or the signature is not complete.')
      .waitFor()
    const other = Buffer.from(await signText(dashboard.service, 'another text')).toString('base64')
    await page.getByLabel('Signature').fill(other)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByRole('alert').getByText('The signature does not belong to this wallet').waitFor()
    const signature = Buffer.from(await signText(dashboard.service, message)).toString('base64')
    await page.getByLabel('Signature').fill(signature)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByRole('heading', { name: 'Home' }).waitFor()
  })
})

async function signText({ owner }: DashboardService, text: string): Promise<Uint8Array> {
  return signBytes(owner.keyPair.privateKey, new TextEncoder().encode(text))
}
