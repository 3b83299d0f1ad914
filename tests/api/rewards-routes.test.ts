/** What is owed and goes out, read at the service's own addresses, and refunds ordered there. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { analytics, detail as detailAnswer, problemList } from '../../src/api/analytics/answers.ts'
import { readRoutesConfig } from '../../src/api/options.ts'
import * as answers from '../../src/api/rewards/answers.ts'
import type { RefundAnswer } from '../../src/api/rewards/view.ts'
import { createRoutes } from '../../src/api/router.ts'
import { decodeSignature, encodeBase58 } from '../../src/core/encoding/base58.ts'
import { readCell } from '../../src/core/encoding/csv.ts'
import type { OutgoingTransaction, OutgoingTransactions } from '../../src/core/payouts/ports/outgoing.ts'
import type { Rewards } from '../../src/core/payouts/ports/rewards.ts'
import { formatRefund, formatRefundLockKey, type RefundWish } from '../../src/core/payouts/refunds.ts'
import { createShopFixture, type ShopFixture } from '../harness/shop-fixture.ts'
import { signedBy } from '../ledger/payables-fixture.ts'
import { type House, openHouse } from './api-fixture.ts'
import { accrualAt, fillRewards, type PaidOut, payers, signatureOf, wallets } from './paid-out.ts'

let shop: ShopFixture
let house: House
let filled: PaidOut
let owner: string
/** What the one answers who sends refunds. */
let refunding: (tx: Uint8Array, wish: RefundWish) => Promise<RefundAnswer> = async () => ({ kind: 'unknown' })
let isPaused = false

beforeAll(async () => {
  shop = await createShopFixture()
  owner = shop.world.recipient.address
  const { treasury, buyback, incentives, partner } = wallets
  const { rewards: config } = readRoutesConfig(
    {
      network: 'localnet',
      rewards: {
        collector: owner,
        developers: 4,
        cashback: { 0: 1, 100: 5 },
        treasury: { wallet: treasury, weight: 2 },
        buyback: { wallet: buyback, weight: 1 },
        incentives: { wallet: incentives, weight: 1 },
        partners: [{ name: 'acme', wallet: partner, share: 85, endpoints: ['/data'] }],
        threshold: '0.5',
      },
    },
    {},
  )
  house = await openHouse(
    shop,
    { watch: true },
    {
      moneyOut: {
        config,
        wallet: async () => ({ address: owner, native: '12.5', sol: '0.1' }),
        isPaused: async () => isPaused,
        refund: (tx, wish) => refunding(tx, wish),
      },
    },
  )
  const { rewards, outgoing } = ledgerOf()
  filled = await fillRewards(rewards, outgoing, house.service.clock.now())
})
afterAll(async () => {
  await house?.close()
  await shop?.close()
})

function ledgerOf(): { readonly rewards: Rewards; readonly outgoing: OutgoingTransactions } {
  const { rewards, outgoing } = house.service.ledger
  if (!rewards || !outgoing) throw new Error('the ledger keeps too little')
  return { rewards, outgoing }
}
const json = async (response: Promise<Response>) => {
  const { status, headers, ...rest } = await response.then(async (one) => ({
    status: one.status,
    headers: one.headers,
    body: await one.json(),
  }))
  return { status, headers, ...rest }
}
const read = async (path: string) => (await json(house.get(path))).body

describe('GET /api/rewards', () => {
  it('shows owed and paid amounts by role, the rules, the paying wallet and the latest payouts', async () => {
    const body = answers.rewards.parse(await read('/api/rewards'))
    expect(body).toMatchObject({ token: 'NATIVE', isOn: true, paused: false, threshold: '0.5' })
    expect(body.roles.map(({ role, payees }) => [role, payees])).toEqual([
      ['split', 0],
      ['partner', 1],
      ['developer', 1],
      ['cashback', 2],
      ['treasury', 1],
      ['buyback', 1],
      ['incentives', 1],
    ])
    // Of 340, a half was settled with 150 by the lower rate, and the other half is under way.
    expect(body.roles[1]).toMatchObject({ accrued: '340', due: '0', underWay: '170', paid: '150' })
    expect(body.roles[2]).toMatchObject({ accrued: '16', due: '16', underWay: '0', paid: '0' })
    expect(body.wallet).toEqual({ address: owner, native: '12.5', sol: '0.1' })
    expect(body.rules?.partners).toEqual([{ name: 'acme', wallet: wallets.partner, share: '85', endpoints: ['/data'] }])
    expect(body.rules?.cashback).toEqual([
      { from: '0', share: '1' },
      { from: '100', share: '5' },
    ])
    expect(body.payouts.map(({ state }) => state).toSorted()).toEqual(['dropped', 'landed', 'signed'])
    isPaused = true
    expect(await read('/api/rewards')).toMatchObject({ paused: true })
    isPaused = false
  })

  it.each([
    '/api/rewards',
    '/api/rewards/payees',
    '/api/rewards/payouts',
    '/api/rewards/export',
    '/api/refunds',
    '/api/settlement',
    '/api/sponsor',
  ])('T133: %s is for owners', async (path) => {
    expect((await house.visit(path)).status).toBe(401)
    expect((await house.visit(path, shop.payer.address)).status).toBe(403)
    expect((await house.visit(path, owner)).status).toBe(200)
  })

  it('refuses unknown parameters', async () => {
    for (const path of [
      '/api/rewards?role=partner',
      '/api/rewards/payees?role=friend',
      '/api/rewards/payouts?cursor=x',
    ])
      expect(await json(house.get(path))).toMatchObject({ status: 400, body: { code: 'query_invalid' } })
  })
})

describe('payees', () => {
  it('come page by page, by role, with why they wait', async () => {
    const first = answers.payees.parse(await read('/api/rewards/payees?limit=5'))
    expect(first.payees).toHaveLength(5)
    const second = answers.payees.parse(await read(`/api/rewards/payees?limit=5&cursor=${first.next}`))
    expect(second.next).toBeNull()
    const all = [...first.payees, ...second.payees]
    expect(new Set(all.map(({ id }) => id)).size).toBe(7)
    const { payees } = answers.payees.parse(await read('/api/rewards/payees?role=cashback'))
    expect(payees.map(({ payee, due }) => [payee, due]).toSorted()).toEqual([
      [payers[0], '1'],
      [payers[1], '2'],
    ])
    const [parked] = payees.filter(({ waits }) => waits !== '')
    expect(parked).toMatchObject({ payee: payers[1], waits: expect.stringContaining('no token account') })
    expect(Date.parse(parked?.waitsUntil ?? '')).toBeGreaterThan(house.service.clock.now())
  })

  it('are told one by one, with their payouts to the base unit', async () => {
    const body = answers.payeeDetail.parse(await read(`/api/rewards/payees/treasury~${wallets.treasury}`))
    expect(body).toMatchObject({ role: 'treasury', accrued: '20', due: '10', paid: '7' })
    expect(body.payouts).toMatchObject([
      { id: filled.landed.id, state: 'landed', slot: 4242, owed: '10', sent: '7', opening: '3', rate: '0' },
    ])
  })

  it.each(['payees/partner~nobody', 'payees/%E0%A4%A', 'payouts/none', 'payouts/%E0%A4%A'])(
    'there is nothing at %s',
    async (path) => {
      expect(await json(house.get(`/api/rewards/${path}`))).toMatchObject({ status: 404, body: { code: 'not_found' } })
    },
  )
})

describe('payouts', () => {
  it('come the latest first, page by page', async () => {
    const first = answers.payouts.parse(await read('/api/rewards/payouts?limit=2'))
    const second = answers.payouts.parse(await read(`/api/rewards/payouts?limit=2&cursor=${first.next}`))
    const ids = [...first.payouts, ...second.payouts].map(({ id }) => id)
    expect(ids.toSorted()).toEqual([filled.landed, filled.signed, filled.dropped].map(({ id }) => id).toSorted())
    expect([first.payouts.length, second.next]).toEqual([2, null])
  })

  it('are listed line by line: owed, deducted and sent amounts', async () => {
    const body = answers.payoutDetail.parse(await read(`/api/rewards/payouts/${filled.landed.id}`))
    expect(body).toMatchObject({ state: 'landed', tx: signatureOf(1), slot: 4242, payees: 3, amount: '158' })
    const lines = body.lines.toSorted((one, other) => one.role.localeCompare(other.role))
    expect(lines).toEqual([
      { role: 'cashback', payee: payers[0], owed: '1', rate: '0', opening: '0', sent: '1' },
      { role: 'partner', payee: wallets.partner, owed: '170', rate: '20', opening: '0', sent: '150' },
      { role: 'treasury', payee: wallets.treasury, owed: '10', rate: '0', opening: '3', sent: '7' },
    ])
  })

  it('T137: are exported line by line, in cells that a spreadsheet only reads', async () => {
    const response = await house.get('/api/rewards/export')
    expect(response.headers.get('content-type')).toContain('text/csv')
    expect(response.headers.get('content-disposition')).toMatch(/^attachment; filename="payouts-\d{4}-\d\d-\d\d\.csv"$/)
    const [head, ...rows] = Buffer.from(await response.arrayBuffer())
      .toString()
      .trimEnd()
      .split('\r\n')
    expect(head).toBe('\ufefftimestamp,payout,state,tx,role,payee,token,owed,rate,opening,sent')
    expect(rows).toHaveLength(5)
    expect(rows.filter((row) => row.includes(`"'${payers[0]}"`))).toHaveLength(1)
    const treasury = rows.map((row) => row.split(',').map(readCell)).find((cells) => cells[4] === 'treasury')
    expect(treasury?.slice(1)).toEqual([
      filled.landed.id,
      'landed',
      signatureOf(1),
      'treasury',
      wallets.treasury,
      'NATIVE',
      '10',
      '0',
      '3',
      '7',
    ])
    const list = (await read('/api/rewards/export?format=json')) as Record<string, string>[]
    expect(list.map(({ state, sent }) => `${state} ${sent}`).toSorted()).toEqual([
      'dropped 16',
      'landed 1',
      'landed 150',
      'landed 7',
      'signed 170',
    ])
    expect((await house.get('/api/rewards/export?format=xlsx')).status).toBe(400)
  })
})

const plainRoutes = {
  mints: {},
  owners: undefined,
  trustProxy: 1,
  publicUrl: undefined,
  hasOpenMetrics: false,
}

describe('refunds', () => {
  /** Money that nobody can match, as the watcher has seen it. */
  const astray = async () => {
    const { world, payer } = shop
    const instruction = await world.transfer(payer, world.recipient.address, 'USDC', 3_000_000n)
    const tx = await world.send([instruction], payer)
    world.localnet.advanceSlots(40)
    const find = async () => {
      const { records } = problemList.parse((await json(house.visit('/analytics/problems', owner))).body)
      return records.find((record) => record.tx === tx)
    }
    await expect.poll(find, { timeout: 20_000, interval: 20 }).toBeDefined()
    return { tx, find }
  }
  const order = (body: unknown, headers: Readonly<Record<string, string>> = {}) =>
    json(
      fetch(`${house.url}/api/refunds`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      }),
    )
  const planned = async (tx: string): Promise<OutgoingTransaction> => {
    const about = formatRefund({ payment: tx, token: 'USDC', units: 3_000_000n, reason: 'unmatched' })
    const planning = await ledgerOf().outgoing.plan({
      id: `refund-${tx.slice(0, 8)}`,
      kind: 'refund',
      lockKey: formatRefundLockKey(tx),
      about,
      lines: [],
    })
    if (planning.kind !== 'planned') throw new Error(planning.kind)
    return planning.transaction
  }

  it('can be ordered by the id of a problem, which then shows how they stand', async () => {
    const { tx, find } = await astray()
    const before = await find()
    expect(before).toMatchObject({ kind: 'unmatched', refundable: { token: 'USDC', amount: '3', reason: 'unmatched' } })
    expect(before?.refund).toBeUndefined()
    const readDetail = async () => detailAnswer.parse((await json(house.get(`/analytics/${before?.id}`))).body)
    const offered = [{ token: 'USDC', amount: '3', reason: 'unmatched' }]
    expect(await readDetail()).toMatchObject({ canRefund: true, refundable: offered, notRefundable: '' })
    const wishes: RefundWish[] = []
    refunding = async (_, wish) => {
      wishes.push(wish)
      return { kind: 'refused', why: 'no' }
    }
    for (const delivered of [undefined, false, true]) await order({ id: before?.id, delivered })
    expect(wishes.map(({ evenDelivered }) => evenDelivered)).toEqual([false, false, true])
    expect((await order({ id: before?.id, delivered: 'yes' })).status).toBe(400)
    refunding = async (payment) => ({ kind: 'planned', transaction: await planned(encodeBase58(payment)) })
    const ordered = await order({ id: before?.id })
    expect(ordered.status).toBe(202)
    expect(answers.refund.parse(ordered.body)).toMatchObject({ state: 'planned', payment: tx, amount: '3' })
    const after = await find()
    expect(await readDetail()).toMatchObject({ refundable: [], refund: { state: 'planned', reason: 'unmatched' } })
    expect(after?.refundable).toBeUndefined()
    expect(after?.refund).toMatchObject({ state: 'planned', amount: '3', token: 'USDC', reason: 'unmatched', tx: null })
    const { canSend, refunds } = answers.refunds.parse(await read('/api/refunds'))
    expect([canSend, refunds.map(({ payment }) => payment)]).toEqual([true, [tx]])
  })

  it('are steps in the timeline of their payment, with the transaction for a signed-in owner', async () => {
    const { tx, find } = await astray()
    const id = (await find())?.id ?? expect.fail()
    const courseOf = async (wallet?: string) => {
      const response = wallet === undefined ? house.get(`/analytics/${id}`) : house.visit(`/analytics/${id}`, wallet)
      const { body } = await json(response)
      const { timeline, refundedAt } = detailAnswer.parse(body)
      return { refundedAt, timeline: timeline.filter(({ event }) => /refund/.test(event)) }
    }
    expect(await courseOf(owner)).toEqual({ refundedAt: '', timeline: [] })
    const { outgoing } = ledgerOf()
    const { id: transaction, at } = await planned(tx)
    const ordered = { at: new Date(at).toISOString(), event: 'refunding', amount: '3', token: 'USDC' }
    expect(await courseOf(owner)).toEqual({ refundedAt: '', timeline: [ordered] })
    const bytes = { signature: signatureOf(88), lastValidBlockHeight: 9, slot: 5, sealed: '' }
    const signed = signedBy(await outgoing.sign(transaction, 1, bytes))
    expect((await courseOf(owner)).refundedAt).toBe('')
    const landed = (await outgoing.land(transaction, signed.version, 6)) ?? expect.fail()
    const refundedAt = new Date(landed.changedAt).toISOString()
    const done = { at: refundedAt, event: 'refunded', amount: '3', token: 'USDC' }
    expect(await courseOf(owner)).toEqual({ refundedAt, timeline: [ordered, { ...done, tx: signatureOf(88) }] })
    expect(await courseOf()).toEqual({ refundedAt, timeline: [ordered, done] })
    expect(await find()).toMatchObject({ refundedAt, refund: { state: 'landed', tx: signatureOf(88) } })
  })

  it('are refused with a sentence: no key, another site, not refundable, unknown', async () => {
    const { find } = await astray()
    const { id } = (await find()) ?? {}
    const keyless = createRoutes({ ...plainRoutes, service: house.service })
    const headers = { host: 'localhost', 'content-type': 'application/json' }
    const ask = (init: RequestInit) => {
      const request = new Request(`${house.url}/api/refunds`, { ...init, headers })
      return json(keyless.handle(request, { isLoopback: true, peer: '127.0.0.1' }))
    }
    const asked = { method: 'POST', body: JSON.stringify({ id }) }
    expect(await ask(asked)).toMatchObject({ status: 501, body: { code: 'refunds_missing' } })
    expect(answers.refunds.parse((await ask({})).body).canSend).toBe(false)
    await keyless.close()
    refunding = async () => ({ kind: 'refused', why: 'the paid resource was delivered' })
    expect(await order({ id })).toMatchObject({
      status: 409,
      body: { code: 'refund_refused', detail: 'The payment cannot be refunded: the paid resource was delivered.' },
    })
    // At the machine itself nobody signs in; then a page of another site is nobody at all.
    expect(await order({ id }, { 'sec-fetch-site': 'cross-site' })).toMatchObject({ status: 401 })
    expect(
      await json(
        house.visit('/api/refunds', owner, {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'sec-fetch-site': 'same-site' },
          body: JSON.stringify({ id }),
        }),
      ),
    ).toMatchObject({ status: 403, body: { code: 'cross_site' } })
    refunding = async () => ({ kind: 'unknown' })
    expect(await order({ tx: signatureOf(77) })).toMatchObject({ status: 404 })
    expect(await order({ tx: signatureOf(77), id })).toMatchObject({ status: 400, body: { code: 'body_invalid' } })
  })
})

describe('a payment that was shared out', () => {
  it('appear in the list, and in the timeline with their amount or the reason for no share', async () => {
    const { rewards } = ledgerOf()
    const paid = [await house.pay(shop.payer), await house.pay(shop.payer), await house.pay(shop.payer)]
    for (const { proof } of paid) expect((await house.claim(proof)).status).toBe(200)
    const [first, second, third] = paid.map(({ tx }) => decodeSignature(tx) ?? expect.fail())
    const at = Math.floor(house.service.clock.now())
    const { last } = await rewards.accruable(0)
    const one = { ...accrualAt(4, at), tx: first ?? expect.fail() }
    const none = { ...accrualAt(5, at), tx: second ?? expect.fail(), why: 'no_partner' as const, shares: [] }
    expect(await rewards.accrue(last, [one, none])).toBe(true)
    const ask = async (tx: Uint8Array | undefined) => {
      const list = analytics.parse(await read(`/analytics?view=records&q=${encodeBase58(tx ?? expect.fail())}`))
      const [record] = list.records ?? []
      const { timeline } = detailAnswer.parse(await read(`/analytics/${record?.id}`))
      return [record?.shared, timeline.filter(({ event }) => /shared/.test(event))]
    }
    const time = new Date(at).toISOString()
    expect(await ask(first)).toEqual(['100', [{ at: time, event: 'shared', amount: '100', token: 'NATIVE' }]])
    const note = 'No partner is assigned to the endpoint.'
    expect(await ask(second)).toEqual(['0', [{ at: time, event: 'unshared', note }]])
    expect(await ask(third)).toEqual(['', []])
    const payment = paid[2]?.tx ?? expect.fail()
    const about = formatRefund({ payment, token: 'USDC', units: 10n, reason: 'surplus' })
    const plan = { id: 'surplus', kind: 'refund', lockKey: formatRefundLockKey(payment), about, lines: [] } as const
    expect((await ledgerOf().outgoing.plan(plan)).kind).toBe('planned')
    const [record] = analytics.parse(await read(`/analytics?view=records&q=${payment}`)).records ?? []
    const { timeline } = detailAnswer.parse(await read(`/analytics/${record?.id}`))
    expect(timeline.at(-1)).toMatchObject({ event: 'refunding', amount: '0.00001', note: 'The overpaid amount.' })
    const given = await ledgerOf().outgoing.drop('surplus', 1, 'a test')
    expect(given?.state).toBe('dropped')
  })
})
