/** One payment in a browser is one delivery: by races, copies of the cookie, and paywalls that stop or stand twice. */
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { create402Middleware } from '../../src/adapters/node.ts'
import type { CheckoutFacts } from '../../src/core/checkout/messages.ts'
import { memo } from '../harness/localnet-fixture.ts'
import { eventually } from '../harness/shop.ts'
import type { ShopFixture } from '../harness/shop-fixture.ts'
import { createShopFixture } from '../harness/shop-fixture.ts'
import { createVisitor, plainName } from '../harness/visitor.ts'

let shop: ShopFixture
beforeAll(async () => {
  shop = await createShopFixture()
})
afterAll(() => shop.close())

async function pay(facts: CheckoutFacts, units = 10_000n): Promise<string> {
  const { world, payer } = shop
  return world.send([memo(facts.requestId), await world.transfer(payer, facts.recipient, 'USDC', units)], payer)
}

function options(ledger: string) {
  const { world, log } = shop
  const recipient = world.recipient.address
  const rpc = world.localnet.rpcUrl
  return { price: 0.01, token: 'USDC', recipient, network: 'localnet', rpc, ledger, log, waitSeconds: 0 } as const
}

async function listen(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  shop.defer(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

it('many tabs, copies of the cookie and a proof beside it on two servers are served once', async () => {
  const shared = { ledger: join(shop.directory, 'once.sqlite'), secret: `1:${'cd'.repeat(32)}`, watch: true }
  const [one, two] = [await shop.open(shared), await shop.open(shared)]
  const visitor = createVisitor(one.url)
  const facts = (await visitor.go()).facts()
  const tx = await pay(facts)
  await visitor.until(facts.requestId, 'paid')
  const [[name = '', value = ''] = []] = [...visitor.cookies]
  const Cookie = `${name}=${value}`
  const claim = value.split('.')[1]
  const proof = `tx=${tx}; requestId=${facts.requestId}; payer=${shop.payer.address}; claim=${claim}`
  const visits = Array.from({ length: 30 }, (_, index) =>
    createVisitor(index % 2 === 0 ? one.url : two.url).go('/data', {
      Cookie,
      ...(index % 3 === 0 && { 'Payment-Proof': proof }),
      ...(index % 5 === 0 && { Range: 'bytes=0-1', 'If-None-Match': '"x"' }),
    }),
  )
  const pages = await Promise.all(visits)
  expect(pages.filter(({ text }) => text.includes('the secret'))).toHaveLength(1)
})

it('the ticket of one address opens no other, nor one with another query', async () => {
  const { url } = await shop.open({ watch: true })
  const visitor = createVisitor(url)
  const facts = (await visitor.go('/data?size=1')).facts()
  await pay(facts)
  await eventually(
    () => visitor.status(facts.requestId, '/data?size=1'),
    ({ state }) => state === 'paid',
  )
  const value = visitor.cookies.get(plainName('/data?size=1')) ?? ''
  for (const target of ['/data?size=9', '/data', '/other'])
    expect((await createVisitor(url).go(target, { Cookie: `${plainName(target)}=${value}` })).status).toBe(402)
  expect((await visitor.go('/data?size=1')).text).toBe('the secret')
})

it('a cookie that a neighbour has put before the own one does not hide a payment', async () => {
  const { url } = await shop.open({ watch: true })
  const visitor = createVisitor(url)
  const facts = (await visitor.go()).facts()
  await pay(facts)
  await visitor.until(facts.requestId, 'paid')
  const stranger = createVisitor(url)
  await stranger.go()
  const name = plainName('/data')
  const Cookie = `${name}=${stranger.cookies.get(name)}; ${name}=junk; ${name}=${visitor.cookies.get(name)}`
  expect((await createVisitor(url).go('/data', { Cookie })).status).toBe(200)
})

it('a server that is stopping begins nothing new for a ticket either', async () => {
  const paid = create402Middleware(options(join(shop.directory, 'stopping.sqlite')))
  await paid.ready()
  let begin: (finish: () => void) => void = () => {}
  const begun = new Promise<() => void>((resolve) => {
    begin = resolve
  })
  const url = await listen((request, response) =>
    paid(request, response, () => {
      if (request.url === '/slow') begin(() => response.end('slow'))
      else response.end('the secret')
    }),
  )
  const visitor = createVisitor(url)
  const slow = createVisitor(url)
  const [facts, other] = [(await visitor.go()).facts(), (await slow.go('/slow')).facts()]
  await pay(facts)
  await pay(other)
  await visitor.until(facts.requestId, 'paid')
  await eventually(
    () => slow.status(other.requestId, '/slow'),
    ({ state }) => state === 'paid',
  )
  const running = slow.go('/slow')
  const finish = await begun
  const closing = paid.close()
  expect((await visitor.go()).status).toBe(503)
  finish()
  expect((await running).text).toBe('slow')
  await closing
})

it('two paywalls before one resource do not use a ticket up', async () => {
  const shared = options(join(shop.directory, 'twice.sqlite'))
  const outer = create402Middleware({ ...shared, scope: 'outer' })
  const inner = create402Middleware({ ...shared, scope: 'inner' })
  await Promise.all([outer.ready(), inner.ready()])
  shop.defer(() => Promise.all([outer.close(), inner.close()]))
  const url = await listen((request, response) =>
    outer(request, response, () => inner(request, response, () => response.end('the secret'))),
  )
  const visitor = createVisitor(url)
  const facts = (await visitor.go()).facts()
  await pay(facts)
  await visitor.until(facts.requestId, 'paid')
  const before = visitor.cookies.get(plainName('/data'))
  expect((await visitor.go()).status).toBe(502)
  expect(visitor.cookies.get(plainName('/data'))).toBe(before)
})
