/** `POST /verify-payment` on a real chain: right answers, nothing used up, nothing told to those it does not concern. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import * as publicAnswers from '../../src/api/public/answers.ts'
import { decodeSignature, encodeBase58 } from '../../src/core/encoding/base58.ts'
import { formatRefund, formatRefundLockKey } from '../../src/core/payouts/refunds.ts'
import { bend, type FakeNode } from '../harness/fake-node.ts'
import { memo } from '../harness/localnet-fixture.ts'
import { eventually } from '../harness/shop.ts'
import { createShopFixture, type ShopFixture } from '../harness/shop-fixture.ts'
import { asWallet, type House, openHouse } from './api-fixture.ts'

let shop: ShopFixture
let fakeNode: FakeNode
let house: House
let number = 0

/** Another client every time: a budget is one client's. */
function someone() {
  number += 1
  return { 'x-forwarded-for': `203.0.${number >> 8}.${number % 256}` }
}

beforeAll(async () => {
  shop = await createShopFixture()
  fakeNode = await shop.fakeNode()
  house = await openHouse(shop, { rpc: fakeNode.url })
})
afterAll(async () => {
  await house.close()
  await shop.close()
})

async function verdictOf(response: Promise<Response> | Response) {
  const answer = await response
  expect([answer.status, answer.headers.get('cache-control'), answer.headers.get('x-content-type-options')]).toEqual([
    200,
    'no-store',
    'nosniff',
  ])
  return publicAnswers.verification.parse(await answer.json())
}

const randomTx = () => encodeBase58(crypto.getRandomValues(new Uint8Array(64)))

describe('POST /verify-payment', () => {
  it('T95: says that a payment is good as often as one asks, and uses nothing up', async () => {
    const { tx, requestId, proof } = await house.pay(shop.payer)
    for (let times = 0; times < 5; times += 1) {
      expect(await verdictOf(house.verify({ tx, requestId }, someone()))).toMatchObject({
        valid: true,
        status: 'confirmed',
        retryable: false,
        recipient: shop.world.recipient.address,
        payer: shop.payer.address,
        token: 'USDC',
        received: '0.01',
        checks: { exists: 'passed', recipient: 'passed', amount: 'passed', memo: 'passed', sealed: 'passed' },
      })
    }
    const response = await house.claim(proof)
    expect([response.status, await response.text()]).toEqual([200, 'the secret'])
  })

  it('takes the documented options, and is never content with less than was asked for', async () => {
    const { tx, requestId } = await house.pay(shop.payer)
    const recipient = shop.world.recipient.address
    const ask = (more: object) => verdictOf(house.verify({ tx, requestId, ...more }, someone()))
    expect(await ask({ recipient, amount: 0.01, mint: 'USDC', payer: shop.payer.address })).toMatchObject({
      valid: true,
    })
    expect(await ask({ amount: '0.000001', mint: 'USDC' })).toMatchObject({ valid: true })
    expect(await ask({ amount: '0.011', mint: 'USDC' })).toMatchObject({
      valid: false,
      code: 'underpaid',
      status: 'expired',
    })
    expect(await ask({ mint: 'SOL' })).toMatchObject({ valid: false, code: 'wrong_mint' })
    expect(await ask({ recipient: shop.payer.address })).toMatchObject({ valid: false, code: 'wrong_recipient' })
    expect(await ask({ payer: recipient })).toMatchObject({ valid: false, code: 'payer_mismatch' })
  })

  it('does not take an expected amount for the promised one: a payment of less is underpaid', async () => {
    const { requestId, recipient } = await house.challenge()
    const { world, payer } = shop
    const tx = await world.send([memo(requestId), await world.transfer(payer, recipient, 'USDC', 10n)], payer)
    const verdict = await verdictOf(house.verify({ tx, requestId, amount: 0.00001, mint: 'USDC' }, someone()))
    expect(verdict).toMatchObject({ valid: false, code: 'underpaid', status: 'expired' })
  })

  it('is pending while the transaction is not to be seen', async () => {
    const { requestId } = await house.challenge()
    const verdict = await verdictOf(house.verify({ tx: randomTx(), requestId }, someone()))
    expect(verdict).toMatchObject({ valid: false, status: 'pending', code: 'tx_not_found', retryable: true })
  })

  it.each([
    ['no verdict while a node lags', false, [503, 503]],
    ['the same verdict while a node lags, where the watcher has seen the payment', true, [200, 200]],
  ])('a verdict never becomes pending again: %s', async (_what, watch, statuses) => {
    const watching = await openHouse(shop, { rpc: fakeNode.url, watch })
    const { requestId, recipient } = await watching.challenge()
    const { world, payer } = shop
    const short = await world.send([memo(requestId), await world.transfer(payer, recipient, 'USDC', 10n)], payer)
    const good = await watching.pay(payer)
    const ask = async (payment: { readonly tx: string; readonly requestId: string }) => {
      const response = await watching.verify({ tx: payment.tx, requestId: payment.requestId }, someone())
      const { status, code } = (await response.json()) as { status: string | number; code?: string }
      return [response.status, status, code]
    }
    const payments = [{ tx: short, requestId }, good]
    const all = () => Promise.all(payments.map(ask))
    const final = [
      [200, 'expired', 'underpaid'],
      [200, 'confirmed', undefined],
    ]
    await eventually(all, (told) => JSON.stringify(told) === JSON.stringify(final))
    fakeNode.behave(bend('getTransaction', () => null))
    expect((await all()).map(([status]) => status)).toEqual(statuses)
    if (watch) expect(await all()).toEqual(final)
    fakeNode.behave(undefined)
    expect(await all()).toEqual(final)
    await watching.close()
  })

  it('T127: asks no node for a requestId that is not ours', async () => {
    const { tx, requestId } = await house.pay(shop.payer)
    fakeNode.asked.length = 0
    const forged = `${requestId.slice(0, -2)}${requestId.endsWith('AA') ? 'BB' : 'AA'}`
    for (const bad of [forged, 'made-up', 'A'.repeat(70)]) {
      const verdicts = Array.from({ length: 50 }, () => verdictOf(house.verify({ tx, requestId: bad })))
      for (const verdict of await Promise.all(verdicts))
        expect(verdict).toMatchObject({ valid: false, status: 'expired', code: 'unknown_request' })
    }
    expect(fakeNode.asked.filter((method) => method === 'getTransaction')).toEqual([])
  })

  it('T128: asks nodes within a budget of the client, and not of the requestId', async () => {
    const { requestId } = await house.challenge()
    const client = someone()
    const statuses: number[] = []
    for (let times = 0; times < 20; times += 1)
      statuses.push((await house.verify({ tx: randomTx(), requestId }, client)).status)
    expect(statuses.slice(0, 5)).toEqual([200, 200, 200, 200, 200])
    expect(statuses.at(-1)).toBe(429)
    const refused = await house.verify({ tx: randomTx(), requestId }, client)
    expect(refused.headers.get('retry-after')).toBe('10')
    expect(await refused.json()).toMatchObject({ code: 'rate_limited', retryable: true })
    // The payer of that requestId, elsewhere, is not locked out.
    expect((await house.verify({ tx: randomTx(), requestId }, someone())).status).toBe(200)
  })

  it('T127: good payments are public, so naming them is no way to make us ask the nodes without end', async () => {
    const { tx, requestId } = await house.pay(shop.payer)
    const client = someone()
    const statuses: number[] = []
    for (let times = 0; times < 12; times += 1) statuses.push((await house.verify({ tx, requestId }, client)).status)
    expect(statuses.filter((status) => status === 200).length).toBeLessThan(8)
    expect(statuses.at(-1)).toBe(429)
  })

  it('T128: an invalid proof here also counts at the paywall', async () => {
    const { requestId } = await house.challenge()
    const client = someone()
    for (let times = 0; times < 5; times += 1) await house.verify({ tx: randomTx(), requestId }, client)
    const headers = {
      ...client,
      'Payment-Proof': `tx=${randomTx()}; requestId=${requestId}; payer=${shop.payer.address}`,
    }
    expect((await fetch(`${house.url}/data`, { headers })).status).toBe(429)
  })

  it('T127: clients without a known address share one limit', async () => {
    const hidden = await openHouse(shop, { rpc: fakeNode.url }, {}, ({ isLoopback }) => ({ isLoopback }))
    const { requestId } = await hidden.challenge()
    const statuses: number[] = []
    for (let times = 0; times < 8; times += 1)
      statuses.push((await hidden.verify({ tx: randomTx(), requestId }, { 'x-forwarded-for': 'unknown' })).status)
    expect([statuses[0], statuses.at(-1)]).toEqual([200, 429])
    await hidden.close()
  })

  describe('whether a payment was used', () => {
    const used = async () => {
      const payment = await house.pay(shop.payer)
      expect((await house.claim(payment.proof)).status).toBe(200)
      return payment
    }

    it('is told to its payer and to an owner, when they have signed in', async () => {
      const { tx, requestId } = await used()
      for (const wallet of [shop.payer.address, shop.world.recipient.address]) {
        const verdict = await verdictOf(house.verify({ tx, requestId }, { ...someone(), ...asWallet(wallet) }))
        expect(verdict).toMatchObject({ valid: false, code: 'payment_replay', status: 'confirmed' })
        expect(verdict.checks.unused).toBe('failed')
      }
    })

    it('T210: is told of a payment that was refunded before a proof came, as its proof is refused', async () => {
      const { tx, requestId, proof } = await house.pay(shop.payer)
      const [lockKey, bytes] = [formatRefundLockKey(tx), decodeSignature(tx)]
      if (!bytes) throw new Error('the payment has no signature')
      const about = formatRefund({ payment: tx, token: 'USDC', units: 10_000n, reason: 'unclaimed' })
      const { outgoing } = house.service.ledger
      const refund = { id: 'r1', kind: 'refund', lockKey, about, lines: [], voids: bytes } as const
      expect((await outgoing.plan({ ...refund, refunds: { tx: bytes, units: 10_000n } })).kind).toBe('planned')
      const asOwner = { ...someone(), ...asWallet(shop.world.recipient.address) }
      const verdict = await verdictOf(house.verify({ tx, requestId }, asOwner))
      expect(verdict).toMatchObject({ valid: false, code: 'payment_replay', checks: { unused: 'failed' } })
      expect((await house.claim(proof)).status).toBe(409)
      expect((await outgoing.drop('r1', 1, 'a test'))?.state).toBe('dropped')
      expect(await verdictOf(house.verify({ tx, requestId }, asOwner))).toMatchObject({ valid: true })
      expect((await house.claim(proof)).status).toBe(200)
    })

    it('is not told to others: used and unused look the same', async () => {
      const [spent, fresh] = [await used(), await house.pay(shop.payer)]
      const stranger = (await shop.world.person()).address
      for (const headers of [{}, asWallet(stranger)]) {
        const [one, other] = await Promise.all(
          [spent, fresh].map(({ tx, requestId }) =>
            verdictOf(house.verify({ tx, requestId }, { ...someone(), ...headers })),
          ),
        )
        expect(one).toMatchObject({ valid: true, status: 'confirmed', checks: { unused: 'unchecked' } })
        const blind = (verdict: typeof one) => ({ ...verdict, requestId: '', slot: 0, paidAt: '', claimableUntil: '' })
        expect(blind(one)).toEqual(blind(other))
      }
    })

    it('is not told to a stranger by naming the payer', async () => {
      const { tx, requestId } = await used()
      const verdict = await verdictOf(house.verify({ tx, requestId, payer: shop.payer.address }, someone()))
      expect(verdict).toMatchObject({ valid: true, checks: { unused: 'unchecked' } })
    })
  })

  it('is not sure of anything while the nodes are silent', async () => {
    const { tx, requestId } = await house.pay(shop.payer)
    fakeNode.behave(() => 'reset')
    const response = await house.verify({ tx, requestId }, someone())
    fakeNode.behave(undefined)
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '2'])
    const text = await response.text()
    expect(JSON.parse(text)).toMatchObject({ code: 'chain_unavailable', retryable: true })
    expect(text).not.toContain('127.0.0.1')
  })

  it('tells all that is wrong with a body at once', async () => {
    const response = await house.verify({ txHash: 'x', requestId: 'has spaces', amount: 1 })
    expect([response.status, response.headers.get('content-type')]).toEqual([400, 'application/problem+json'])
    expect(await response.json()).toMatchObject({
      code: 'body_invalid',
      problems: [
        'tx is missing',
        'requestId must be the requestId of a challenge',
        expect.stringContaining('txHash is unknown'),
      ],
    })
  })

  it.each([
    ['not JSON', '{', {}, 400],
    ['text', '"x"', {}, 400],
    ['a form', 'tx=1', { 'content-type': 'application/x-www-form-urlencoded' }, 415],
    ['text/plain, as a page of another origin could send it', '{}', { 'content-type': 'text/plain' }, 415],
    ['5 KB', JSON.stringify({ tx: 'x'.repeat(5_000) }), {}, 413],
  ])('refuses %s', async (_, body, headers, status) => {
    expect((await house.verify(body, headers)).status).toBe(status)
  })

  it('T130: reads no more than it needs of a body without a length', async () => {
    const endless = new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(1_024).fill(32)) })
    const init = { method: 'POST', body: endless, duplex: 'half', headers: { 'content-type': 'application/json' } }
    const response = await fetch(`${house.url}/verify-payment`, init as RequestInit).catch(() => undefined)
    expect([413, undefined]).toContain(response?.status)
  })

  it('is there for POST alone', async () => {
    const response = await house.get('/verify-payment')
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST, OPTIONS'])
    const options = await fetch(`${house.url}/verify-payment`, { method: 'OPTIONS' })
    expect([options.status, options.headers.get('access-control-allow-origin')]).toEqual([204, null])
  })

  it('T140: logs neither bodies nor sessions', () => {
    expect(shop.logged.join('\n')).not.toMatch(/x-test-wallet|"tx":/)
  })
})
