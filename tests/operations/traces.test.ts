/** What a collector of traces gets to see of a sale, and that nobody pays for it where there is none. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createTrace } from '../../src/host/trace.ts'
import { createGatewayFixture, type Gate, type GatewayFixture } from '../gateway/gateway-fixture.ts'
import type { Shop } from '../harness/shop.ts'
import { createShopFixture, type ShopFixture } from '../harness/shop-fixture.ts'
import { type Collector, installCollector } from '../harness/tracer.ts'

let fixture: ShopFixture
let shop: Shop
let collector: Collector | undefined

beforeAll(async () => {
  fixture = await createShopFixture()
  shop = await fixture.open()
})
afterEach(() => {
  collector?.remove()
  collector = undefined
})
afterAll(() => fixture.close())

const collect = () => {
  collector = installCollector()
  return collector.spans
}

it('a payment is one span with its reading and its registration inside', async () => {
  const proof = await shop.buy(fixture.payer)
  const spans = collect()
  expect((await shop.claim(proof)).status).toBe(200)
  const [admit, read, take] = spans
  expect(spans.map(({ name }) => name)).toEqual(['paystile.admit', 'paystile.chain.read', 'paystile.ledger.take'])
  expect(admit).toMatchObject({ parent: undefined, ended: true, attributes: { 'paystile.outcome': 'admitted' } })
  expect(read).toMatchObject({ parent: admit?.id, ended: true, attributes: { 'paystile.outcome': 'found' } })
  expect(take).toMatchObject({
    parent: admit?.id,
    ended: true,
    attributes: { 'paystile.outcome': 'granted', 'paystile.registers': true },
  })
})

it('a refusal is told by its code, and names neither payer nor proof', async () => {
  const proof = await shop.buy(fixture.payer)
  await shop.claim(proof)
  const spans = collect()
  expect((await shop.claim(proof)).status).toBe(409)
  expect(spans).toMatchObject([{ name: 'paystile.admit', attributes: { 'paystile.outcome': 'payment_replay' } }])
  expect(JSON.stringify(spans)).not.toContain(fixture.payer.address)
})

it('an unpaid request makes no span', async () => {
  const spans = collect()
  expect((await fetch(`${shop.url}/data`)).status).toBe(402)
  expect(spans).toEqual([])
})

it('a failed span has the name of its error, and the error is thrown', async () => {
  const spans = collect()
  const failure = new TypeError('https://rpc.example.com/?api-key=abc')
  const trace = createTrace()
  await expect(trace.span('paystile.forward', {}, () => Promise.reject(failure))).rejects.toBe(failure)
  expect(spans).toMatchObject([{ ended: true, status: { code: 2, message: 'TypeError' } }])
  expect(JSON.stringify(spans)).not.toContain('api-key')
})

it('the next service gets the trace context, or none without a collector', async () => {
  const trace = createTrace()
  const forward = () => trace.span('paystile.forward', {}, async () => trace.headers())
  expect(await forward()).toEqual({})
  const spans = collect()
  const headers = await forward()
  expect(headers).toEqual({ traceparent: `00-${spans[0]?.traceId}-${spans[0]?.id}-01` })
})

it('a collector that was set up after the service started hears of it all the same', async () => {
  const late = await fixture.open()
  const proof = await late.buy(fixture.payer)
  const spans = collect()
  await late.claim(proof)
  expect(spans).toHaveLength(3)
})

describe('a gateway', () => {
  let gatewayFixture: GatewayFixture
  let gate: Gate
  beforeAll(async () => {
    gatewayFixture = await createGatewayFixture()
    gate = await gatewayFixture.open({
      routes: [
        { path: '/data', price: 0.01 },
        { path: '/free', free: true },
      ],
    })
    gatewayFixture.upstream.answer((_request, response) => void response.writeHead(203).end('the secret'))
  })
  afterAll(() => gatewayFixture.close())
  const told = () => gatewayFixture.upstream.seen.at(-1)?.headers['traceparent']
  const strange = { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, tracestate: 'x=1' }

  it('sends its own trace context to the upstream, for any context of the client', async () => {
    const spans = collect()
    expect((await fetch(`${gate.url}/free`, { headers: strange })).status).toBe(203)
    await expect.poll(() => spans[0]?.ended).toBe(true)
    expect(spans).toMatchObject([
      { name: 'paystile.forward', attributes: { 'http.response.status_code': 203, 'paystile.whole': true } },
    ])
    expect(told()).toBe(`00-${spans[0]?.traceId}-${spans[0]?.id}-01`)
    expect(gatewayFixture.upstream.seen.at(-1)?.headers).not.toHaveProperty('tracestate')
  })

  it('follows a sale from the proof to the upstream, and makes nothing of an unpaid request', async () => {
    const proof = await gate.buy('/data')
    const spans = collect()
    expect((await fetch(`${gate.url}/data`)).status).toBe(402)
    expect(spans).toEqual([])
    expect((await gate.claim(proof, '/data')).status).toBe(203)
    expect(spans.map(({ name }) => name)).toContain('paystile.forward')
  })

  it('passes on the context of the client without a collector', async () => {
    await fetch(`${gate.url}/free`, { headers: strange })
    expect(told()).toBe(strange.traceparent)
  })
})
