/** Money that goes out, as the dashboard shows it and as one orders it there: rewards, settlement and refunds. */
import { generateKeyPairSync } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { z } from 'zod'
import { detail } from '../../src/api/analytics/answers.ts'
import * as answers from '../../src/api/rewards/answers.ts'
import { encodeBase58 } from '../../src/core/encoding/base58.ts'
import type { Mint } from '../../src/core/money/tokens.ts'
import type { Challenge } from '../../src/core/protocol/challenge.ts'
import type { Viewer } from '../harness/browser-pages.ts'
import { cells, isLong } from '../harness/length.ts'
import type { ShopFixture } from '../harness/shop-fixture.ts'
import { contractAnswers } from './contract.ts'
import { outgoingAnswers, refundAnswer, rewardsAnswer } from './contract-outgoing.ts'
import { type DashboardFixture, openDashboard } from './dashboard-fixture.ts'

/** 64 bytes: the seed, and the public key behind it. */
function newKey(): Uint8Array {
  const { d = '', x = '' } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' })
  return new Uint8Array([...Buffer.from(d, 'base64url'), ...Buffer.from(x, 'base64url')])
}
const addressOf = (key: Uint8Array): string => encodeBase58(key.subarray(32))

/** Slots that pass before each look. A payment is final after 32, and its transaction can land within 150. */
const step = 8

const [payoutKey, refundKey] = [newKey(), newKey()]
const partner = addressOf(newKey())
const treasury = addressOf(newKey())

async function moneyOut({ world }: ShopFixture) {
  const { localnet, recipient } = world
  await localnet.fund(addressOf(payoutKey), { SOL: 10n ** 9n, NATIVE: 10n ** 13n })
  await localnet.fund(addressOf(refundKey), { SOL: 10n ** 9n, USDC: 10n ** 9n })
  await localnet.fund(partner, { NATIVE: 0n })
  return {
    refundKey,
    rewards: {
      collector: recipient.address,
      cashback: { 0: 1 },
      treasury: { wallet: treasury, weight: 2 },
      buyback: { wallet: addressOf(newKey()), weight: 1 },
      incentives: { wallet: addressOf(newKey()), weight: 1 },
      partners: [{ name: 'acme', wallet: partner, share: 85, endpoints: ['/api/report'] }],
      key: payoutKey,
      threshold: '0.5',
      everySeconds: 1,
    },
  }
}

let dashboard: DashboardFixture
beforeAll(async () => {
  dashboard = await openDashboard({ routes: moneyOut, watch: true, prices: { '/api/report': '100' } })
})
afterAll(() => dashboard?.close())
afterEach(async () => {
  expect(await dashboard.leave()).toEqual([])
})

/** As a service with some history would answer; `more` in the place of some of it. */
async function visitHistory(path: string, more: Readonly<Record<string, unknown>> = {}): Promise<Page> {
  return (await viewHistory(path, more)).page
}

async function viewHistory(path: string, more: Readonly<Record<string, unknown>> = {}): Promise<Viewer> {
  const prepare = async (page: Page) => {
    await contractAnswers(page)
    for (const [address, json] of Object.entries(more)) {
      await page.route(
        (url) => url.pathname === address,
        (route) => route.fulfill({ json }),
      )
    }
  }
  const viewer = await dashboard.visit(path, { prepare })
  // What a test answers with trouble, or not at all.
  viewer.forgive(/status of 409|ERR_FAILED/)
  return viewer
}
/** The same without a change, in the document of the tests that change nothing. */
async function browseHistory(path: string): Promise<Page> {
  return (await dashboard.browse(path, { prepare: contractAnswers })).page
}
const now = () => new Date().toISOString()

it('the sample responses have the shape of the service', () => {
  const schemas: Readonly<Record<string, z.ZodType>> = {
    '/api/rewards': answers.rewards,
    '/api/rewards/payouts': answers.payouts,
    '/api/rewards/payees': answers.payees,
    '/api/refunds': answers.refunds,
    '/api/settlement': answers.settlement,
  }
  for (const [path, give] of Object.entries(outgoingAnswers('name', now()))) {
    const schema =
      schemas[path] ?? (path.startsWith('/api/rewards/payouts/') ? answers.payoutDetail : answers.payeeDetail)
    expect([path, schema.safeParse(give(new URLSearchParams())).error]).toEqual([path, undefined])
  }
})

it.each(cells(['/rewards', '/settlement', '/problems'], 3))('%s loads its data with one request', async (screen) => {
  const { page, asked } = await dashboard.visit(screen)
  await page.locator('main .card').first().waitFor()
  await page.waitForLoadState('load')
  await expect.poll(() => page.locator('main .skeleton').count()).toBe(0)
  const shared = ['/api/status', '/analytics/stream']
  const own = asked.filter((path) => /^\/(?:api|analytics)\//.test(path) && !shared.includes(path))
  expect(new Set(own).size).toBe(1)
})

describe('rewards', () => {
  it('show due and paid amounts, problems and rules at the top', async () => {
    const page = await browseHistory('/rewards')
    const tile = (name: string) => page.locator('.tile').filter({ hasText: name }).locator('.tile-value').textContent()
    await page.getByRole('heading', { name: 'By role' }).waitFor()
    expect([await tile('Accrued'), await tile('Due'), await tile('Paid')]).toEqual([
      '1,020.00 NATIVE',
      '60.00 NATIVE',
      '450.00 NATIVE',
    ])
    await page.getByText('3 payments pending').waitFor()
    await page.getByText('Payouts, conversions and refunds are paused on all servers.').waitFor()
    // 60 are due, 30 are planned and not sent, and 12.5 are there.
    await page.getByRole('alert').getByText('Send at least 77.50 NATIVE to this wallet').waitFor()
    await page.getByRole('alert').getByText('The SOL balance is low.').waitFor()
    const rules = await page.getByRole('region', { name: 'The rules' }).textContent()
    expect(rules).toContain('gets 90% of /api/weather and /api/*')
    expect(rules).toContain('Verified developers get 4%')
    expect(rules).toContain('Payers get back 1% and 5% from 100 USDC on that they spent within 7 days.')
    expect(rules).toMatch(/treasury .*, buyback .* and incentives .* by 2 : 1 : 1\./)
  })

  it('show no warning if the wallet holds enough and payouts are not paused', async () => {
    const calm = rewardsAnswer('acme', now())
    const wallet = { ...calm.wallet, native: '90', sol: '1' }
    const page = await visitHistory('/rewards', { '/api/rewards': { ...calm, paused: false, wallet } })
    await page.getByRole('heading', { name: 'By role' }).waitFor()
    expect(await page.locator('.note').count()).toBe(0)
  })

  it('show a payout line by line, and from there a payee and back, with the keyboard alone', async () => {
    const page = await browseHistory('/rewards')
    await page.locator('[data-row="payout-1"]').focus()
    await page.keyboard.press('Enter')
    const drawer = page.getByRole('dialog', { name: 'Payout' })
    await drawer.getByText('Owed').first().waitFor()
    const line = await drawer.locator('.lines li').first().innerText()
    expect(line.replace(/\s+/g, ' ')).toMatch(
      /Partner GfEsNw…iYbT .*Owed 170\.00 NATIVE Reduced, because the rate of NATIVE has risen since it was earned −19\.50 NATIVE Reduced by the rent of a new token account −3\.00 NATIVE Sent 147\.50 NATIVE/i,
    )
    expect(await drawer.locator('.line-sum').innerText()).toContain('147.50')
    await drawer.getByText('paystile:payout-1').waitFor()
    expect(await drawer.locator('.command').first().textContent()).toContain('"method":"getTransaction"')
    await drawer.getByRole('link', { name: 'GfEsNw…iYbT' }).press('Enter')
    const payee = page.getByRole('dialog', { name: 'Payee' })
    await payee.getByText('The issuer of the token has frozen the token account.').waitFor()
    await payee.locator('.lines a').press('Enter')
    await drawer.waitFor()
    expect(new URL(page.url()).search).toBe('?payout=payout-1')
    await page.keyboard.press('Escape')
    await drawer.waitFor({ state: 'detached' })
  })

  it('list payees by role, with the waiting amount and the reason', async () => {
    const page = await browseHistory('/rewards')
    const payees = page.getByRole('region', { name: 'Payees' })
    await payees.getByText('Checked again').waitFor()
    await payees.getByText('Less than 0.50 NATIVE is not sent yet.').waitFor()
    await payees.getByRole('link', { name: 'Cashback 2' }).click()
    await expect.poll(() => payees.locator('tbody tr').count()).toBe(1)
    expect(new URL(page.url()).searchParams.get('role')).toBe('cashback')
  })

  it('are one sentence where they are off', async () => {
    const off = { ...rewardsAnswer('', now()), isOn: false, rules: null, threshold: null, wallet: null }
    const none = off.roles.map((line) => ({ ...line, payees: 0 }))
    const page = await visitHistory('/rewards', { '/api/rewards': { ...off, roles: none } })
    await page.getByRole('heading', { name: 'Rewards are off' }).waitFor()
    await page.getByText('docs/rewards.md').waitFor()
    expect(await page.locator('tbody').count()).toBe(0)
  })

  it('go by the time of the service, and not by that of the browser', async () => {
    const ahead = new Date(Date.now() + 6 * 86_400_000)
    const prepare = (asking: Page) =>
      asking.route(
        (url) => outgoingAnswers('', '')[url.pathname] !== undefined,
        (route) => {
          const give = outgoingAnswers('acme', ahead.toISOString())[new URL(route.request().url()).pathname]
          return route.fulfill({ json: give?.(new URLSearchParams()), headers: { date: ahead.toUTCString() } })
        },
      )
    const { page } = await dashboard.visit('/rewards', { prepare })
    const when = page.getByRole('region', { name: 'Payouts' }).locator('tbody .when').first()
    await when.filter({ hasText: /^now$/ }).waitFor()
  })

  it('are paid on a real chain, and every number of the payout can be found there', async () => {
    const { shop, buy, url } = dashboard.service
    await buy('/api/report')
    const viewer = await dashboard.visit('/rewards')
    const { page } = viewer
    const payouts = page.getByRole('region', { name: 'Payouts' })
    const isPaid = async () => {
      shop.world.localnet.advanceSlots(step)
      return (await payouts.locator('tbody .badge.good').count()) > 0
    }
    await expect.poll(isPaid, { interval: 50 }).toBe(true)
    await payouts.locator('tbody tr').filter({ hasText: 'Paid' }).first().locator('.row-link').click()
    const drawer = page.getByRole('dialog', { name: 'Payout' })
    const sentTo = async (role: string) => {
      const line = drawer.locator('.lines li').filter({ hasText: role })
      await line.waitFor()
      return (await line.locator('.is-sum .amount').innerText()).replace(/[^\d.]/g, '')
    }
    const inBaseUnits = (text: string) => BigInt(Math.round(Number(text) * 1e9))
    expect(inBaseUnits(await sentTo('Partner'))).toBe(await balanceOf(partner, shop.world.native))
    expect(inBaseUnits(await sentTo('Treasury'))).toBe(await balanceOf(treasury, shop.world.native))
    expect(await viewer.violations()).toEqual([])
    await page.keyboard.press('Escape')
    await page.getByText('Export', { exact: true }).click()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'CSV for any spreadsheet' }).click(),
    ])
    expect(readFileSync(await download.path(), 'utf8')).toContain(`,partner,${partner},NATIVE,850,0,0,850`)
    expect((await fetch(`${url}/api/rewards`)).status).toBe(200)
  })
})

async function balanceOf(owner: string, mint: Mint): Promise<bigint> {
  const { world } = dashboard.service.shop
  const account = await world.tokenAccount(owner, mint)
  const answer = await world.rpc<{ value: { amount: string } }>('getTokenAccountBalance', [
    account,
    { commitment: 'processed' },
  ])
  return BigInt(answer.value.amount)
}

describe('settlement', () => {
  it('shows the distance to the next conversion, and quoted beside received amounts', async () => {
    const page = await browseHistory('/settlement')
    await page.getByText('50% of the way to the next conversion · 0.05 SOL are retained').waitFor()
    await page.getByText('Progress is not available now').waitFor()
    await page.getByRole('alert').getByText('No process converts for this wallet.').waitFor()
    const row = page.getByRole('row').filter({ hasText: 'Converted' })
    expect((await row.innerText()).replace(/\s+/g, ' ')).toMatch(
      /2\.000005 SOL 300\.00 USDC 299\.40 USDC 0\.2% less Converted 5VERv8…kQUW/,
    )
    await row.getByRole('link').click()
    const drawer = page.getByRole('dialog', { name: 'Conversion' })
    expect((await drawer.innerText()).replace(/\s+/g, ' ')).toMatch(
      /299\.40 USDC .*To be sold 2\.00 SOL Sold 2\.000005 SOL with fees Quoted 300\.00 USDC Minimum 298\.50 USDC Received 299\.40 USDC \(0\.2% less\)/,
    )
    await page.keyboard.press('Escape')
    await drawer.waitFor({ state: 'detached' })
  })

  it('shows the balance of the sponsor, and its fees against the limits', async () => {
    const page = await browseHistory('/settlement')
    const card = page.getByRole('region', { name: 'Network fees for x402 and MPP clients' })
    await card.getByRole('alert').getByText('Send SOL to its address.').waitFor()
    expect((await card.innerText()).replace(/\s+/g, ' ')).toMatch(
      /Balance 0\.018 SOL, floor 0\.02 SOL .*Paid in 24 hours 0\.0210021 of 0\.1\d? SOL .*Lost in 24 hours 0\.0045 of 0\.005 SOL/,
    )
  })

  it('is one sentence where nothing is converted', async () => {
    const { page } = await dashboard.visit('/settlement')
    await page.getByRole('heading', { name: 'Conversion is off' }).waitFor()
  })
})

describe('refunds', () => {
  const ask = async (page: Page) => {
    await page.getByRole('button', { name: 'Refund…' }).first().click()
    return page.getByRole('dialog', { name: 'Refund' })
  }

  it('are ordered from the problems, after a question, and followed until they have landed', async () => {
    const { shop } = dashboard.service
    const { world, payer } = shop
    const tx = await world.send([await world.transfer(payer, world.recipient.address, 'USDC', 3_000_000n)], payer)
    world.localnet.advanceSlots(40)
    const { page } = await dashboard.visit('/problems?kind=unmatched')
    const problems = page.getByRole('region', { name: 'All problems' })
    const row = problems.getByRole('row').filter({ hasText: '3.00 USDC' })
    const isSeen = async () => {
      if ((await row.count()) > 0) return true
      await page.reload()
      await page.locator('.kinds').waitFor()
      return false
    }
    await expect.poll(isSeen, { interval: 50 }).toBe(true)
    const before = await balanceOf(payer.address, world.usdc)
    const dialog = await ask(page)
    await dialog.getByText('is refunded to the wallet that paid').waitFor()
    await dialog.getByText('It reads it from the payment on chain').waitFor()
    await dialog.getByText('A refund is sent once and cannot be undone.').waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await dialog.waitFor({ state: 'detached' })
    await ask(page)
    await dialog.getByRole('button', { name: 'Refund 3.00 USDC' }).click()
    await dialog.waitFor({ state: 'detached' })
    const isDone = async () => {
      world.localnet.advanceSlots(step)
      return row.getByText('Refunded').count()
    }
    await expect.poll(isDone, { interval: 50 }).toBe(1)
    expect((await balanceOf(payer.address, world.usdc)) - before).toBe(3_000_000n)
    expect(await row.getByRole('button', { name: 'Refund…' }).count()).toBe(0)
    const refunds = page.getByRole('region', { name: 'Refunds' })
    await refunds.getByTitle(tx).waitFor()
    expect(await refunds.locator('tbody tr').count()).toBe(1)
  })

  it('state the problem in one sentence, and can be ordered again', async () => {
    const viewer = await viewHistory('/problems')
    const { page } = viewer
    let answer: { status: number; json: unknown } | undefined
    await page.route('**/api/refunds', (route) => {
      if (route.request().method() !== 'POST') return route.fallback()
      return answer ? route.fulfill(answer) : route.abort()
    })
    const dialog = await ask(page)
    const send = dialog.getByRole('button', { name: 'Refund 0.25 USDC' })
    await send.click()
    await dialog.getByRole('alert').getByText('You can safely order the refund again').waitFor()
    answer = {
      status: 409,
      json: { code: 'refund_refused', detail: 'The payment cannot be refunded: it was delivered.' },
    }
    await send.click()
    await dialog.getByRole('alert').getByText('The payment cannot be refunded: it was delivered.').waitFor()
    expect(await viewer.violations()).toEqual([])
  })

  it('name the command where this server has no key', async () => {
    const keyless = { canSend: false, refunds: [] }
    const viewer = await viewHistory('/problems', { '/api/refunds': keyless })
    const dialog = await ask(viewer.page)
    if (isLong) expect(await viewer.violations()).toEqual([])
    await dialog.getByText('This server has no key for refunds.').waitFor()
    expect(await dialog.locator('.command code').textContent()).toBe('npx paystile refund /api/weather')
    expect(await dialog.getByRole('button', { name: /^Refund / }).count()).toBe(0)
  })

  it('of a delivered payment are ordered in its panel, at the cost of the owner, and revenue falls', async () => {
    const { shop, buy, list, url } = dashboard.service
    const { world, payer } = shop
    await buy('/api/report')
    world.localnet.advanceSlots(40)
    const [paid] = await list()
    const readRevenue = async () =>
      Number(((await (await fetch(`${url}/api/analytics`)).json()) as { totalRevenue: string }).totalRevenue)
    const isFinal = async () => {
      world.localnet.advanceSlots(step)
      const { refundable } = (await (await fetch(`${url}/analytics/${paid?.id}`)).json()) as { refundable: unknown[] }
      return refundable.length
    }
    await expect.poll(isFinal, { interval: 50 }).toBe(1)
    const [before, revenue] = [await balanceOf(payer.address, world.usdc), await readRevenue()]
    const viewer = await dashboard.visit(`/payments?payment=${paid?.id}`)
    const { page } = viewer
    const panel = page.getByRole('dialog', { name: 'Payment' })
    await panel.getByRole('button', { name: 'Refund the payment…' }).click()
    const dialog = page.getByRole('dialog', { name: 'Refund' })
    await dialog.getByText('You bear the cost').waitFor()
    if (isLong) expect(await viewer.violations()).toEqual([])
    await dialog.getByRole('button', { name: 'Refund 100.00 USDC' }).click()
    const isDone = async () => {
      world.localnet.advanceSlots(step)
      return panel.locator('.badge').filter({ hasText: 'Refunded' }).count()
    }
    await expect.poll(isDone, { interval: 50 }).toBe(1)
    expect((await balanceOf(payer.address, world.usdc)) - before).toBe(100_000_000n)
    expect(revenue - (await readRevenue())).toBeCloseTo(100)
    const listed = page.locator('tbody tr').filter({ hasText: '100.00' }).first().locator('.badge')
    await expect.poll(() => listed.innerText()).toBe('Refunded')
    // One badge of the panel says so, also after the payment has been loaded again.
    await expect.poll(() => panel.locator('.badge').allInnerTexts()).toEqual(['Refunded'])
    expect(await panel.getByRole('button', { name: /^Refund/ }).count()).toBe(0)
    await panel.getByText('Raw JSON').click()
    await panel.locator('pre').getByText('"reason": "delivered"').waitFor()
  })

  it('are in a panel that also lists the parts of other wallets', async () => {
    const page = await browseHistory('/payments?payment=r1')
    const dialog = page.getByRole('dialog', { name: 'Payment' })
    await dialog.getByText('Also paid: 0.03 USDC').waitFor()
    expect(await dialog.getByText(/^Also paid/).allInnerTexts()).toEqual([
      'Also paid: 0.03 USDC',
      'Also paid: 0.02 USDC',
    ])
  })

  it('are steps in the timeline of their payment, like rewards, with their amounts', async () => {
    const viewer = await viewHistory('/payments?payment=r1', {
      '/.well-known/paystile': { service: 's', network: 'devnet', testMode: true, recipients: [], endpoints: [] },
    })
    const { page } = viewer
    const told = await page.evaluate(() => fetch('/analytics/r1').then((response) => response.json()))
    detail.parse(told)
    const steps = page.getByRole('dialog', { name: 'Payment' }).locator('.moment')
    await steps.filter({ hasText: 'Refunded' }).getByRole('link', { name: 'Solana Explorer' }).waitFor()
    const texts = (await steps.allInnerTexts()).map((text) => text.replace(/\s+/g, ' '))
    expect(texts).toEqual([
      expect.stringMatching(/^Paid on chain/),
      expect.stringMatching(/^Delivered/),
      expect.stringMatching(/^Accrued .* 0\.42 NATIVE$/),
      expect.stringMatching(/^Refund ordered .* 0\.05 USDC$/),
      expect.stringMatching(/^Refunded .* 0\.05 USDC \/api\/weather/),
    ])
    expect(await viewer.violations()).toEqual([])
  })

  it('are offered of a payment that a browser without its cookie never claims, before its time is over', async () => {
    const { url, shop } = dashboard.service
    const { world, payer } = shop
    await world.pay((await (await fetch(`${url}/api/weather`)).json()) as Challenge, payer)
    world.localnet.advanceSlots(40)
    world.localnet.advance(601)
    const { page } = await dashboard.visit('/problems?kind=unclaimed')
    const row = page.getByRole('region', { name: 'All problems' }).getByRole('row').filter({ hasText: '/api/weather' })
    const isOffered = async () => {
      if ((await row.getByRole('button', { name: 'Refund…' }).count()) > 0) return true
      await page.reload()
      await page.locator('.kinds').waitFor()
      return false
    }
    await expect.poll(isOffered, { interval: 50 }).toBe(true)
    await page.getByText('Refund it if the payer asks').waitFor()
    await (await ask(page)).getByText('The payment grants no access after that.').waitFor()
  })

  it('that were given up say why, and are offered again', async () => {
    const page = await visitHistory('/problems')
    const refund = { ...refundAnswer('payment', now()), id: 'refund-2', state: 'planned', tx: null, slot: null }
    let state = refund
    await page.route(
      (url) => url.pathname === '/api/refunds',
      (route) => {
        const isOrder = route.request().method() === 'POST'
        const json = isOrder ? refund : { canSend: true, refunds: [state] }
        if (isOrder) state = { ...refund, state: 'dropped', why: "the payer's token account does not accept transfers" }
        return route.fulfill({ json, status: isOrder ? 202 : 200 })
      },
    )
    const dialog = await ask(page)
    await dialog.getByRole('button', { name: /^Refund / }).click()
    const row = page.locator('tbody tr').filter({ hasText: 'Underpaid' })
    await row.getByText("The payer's token account does not accept transfers.").waitFor()
    await row.getByRole('button', { name: 'Refund…' }).waitFor()
  })
})
