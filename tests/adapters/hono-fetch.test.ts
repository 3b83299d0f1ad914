/** Hono on a runtime without Node's sockets: the response is watched by its stream, and the client by its signal. */
import { Hono } from 'hono'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { create402Middleware } from '../../src/adapters/hono.ts'
import type { Challenge } from '../../src/core/protocol/challenge.ts'
import type { PaywallEvent } from '../../src/paywall/config/events.ts'
import { proofOf } from '../harness/localnet-fixture.ts'
import { createShopFixture, expectRefused, expectServed, type ShopFixture } from '../harness/shop-fixture.ts'

let shop: ShopFixture
let app: Hono
let served = 0
const events: PaywallEvent[] = []
const outcomes = () => events.flatMap((event) => (event.kind === 'ended' ? [event.outcome] : []))

beforeAll(async () => {
  shop = await createShopFixture()
  const paid = create402Middleware({
    price: 0.01,
    token: 'USDC',
    recipient: shop.world.recipient.address,
    network: 'localnet',
    rpc: shop.world.localnet.rpcUrl,
    ledger: 'memory:',
    waitSeconds: 0,
    log: shop.log,
    onEvent: (event) => events.push(event),
  })
  await paid.ready()
  shop.defer(() => paid.close())
  app = new Hono()
  app.onError((_error, context) => context.text('broken', 500))
  app.get('/data', paid, (context) => {
    served += 1
    return context.text('the secret')
  })
  let short = 0
  app.get('/short', paid, (context) => {
    short += 1
    return context.body(short === 1 ? 'the se' : 'the secret', 200, { 'Content-Length': '10' })
  })
  app.get('/throws', paid, () => {
    throw new Error('the handler broke')
  })
})
afterAll(() => shop.close())

const ask = (path: string, init: RequestInit = {}) => app.fetch(new Request(`https://api.example.com${path}`, init))

async function buy(path: string): Promise<Record<string, string>> {
  events.length = 0
  const response = await ask(path)
  expect(response.status).toBe(402)
  const challenge = (await response.json()) as Challenge
  expect(challenge.resource).toBe(`https://api.example.com${path}`)
  return { 'Payment-Proof': proofOf(await shop.world.pay(challenge, shop.payer), challenge, shop.payer) }
}

it('sells once, when the whole of the response was taken', async () => {
  const headers = await buy('/data')
  const response = await ask('/data', { headers })
  expect(outcomes()).toEqual([])
  await expectRefused(ask('/data', { headers }), 'payment_in_progress')
  await expectServed(response)
  expect(response.headers.has('payment-receipt')).toBe(true)
  expect(outcomes()).toEqual(['delivered'])
  await expectRefused(ask('/data', { headers }), 'payment_replay')
})

it('keeps the payment when the handler breaks', async () => {
  const headers = await buy('/throws')
  const response = await ask('/throws', { headers })
  expect([response.status, response.headers.get('payment-status')]).toEqual([500, 'retry'])
  await response.text()
  expect(outcomes()).toEqual(['not_started'])
  const again = await ask('/throws', { headers })
  expect([again.status, await again.text()]).toEqual([500, 'broken'])
})

it('keeps the payment when the response ends before all it had announced', async () => {
  const headers = await buy('/short')
  expect(await (await ask('/short', { headers })).text()).toBe('the se')
  expect(outcomes()).toEqual(['partial'])
  await expectServed(ask('/short', { headers }))
})

it('returns the payment if the client did not wait for the response', async () => {
  const headers = await buy('/data')
  await (await ask('/data', { headers })).body?.cancel()
  const stop = new AbortController()
  const left = await ask('/data', { headers, signal: stop.signal })
  stop.abort()
  await expect(left.text()).rejects.toThrow()
  served = 0
  await ask('/data', { headers, signal: stop.signal })
  expect(served).toBe(0)
  expect(outcomes()).toEqual(['no_body', 'no_body', 'not_started'])
  await expectServed(ask('/data', { headers }))
})
