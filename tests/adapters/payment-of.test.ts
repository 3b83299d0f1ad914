/** A handler can ask which payment is behind its request. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { Hono } from 'hono'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { create402Middleware as honoMiddleware } from '../../src/adapters/hono.ts'
import { create402Middleware as nodeMiddleware } from '../../src/adapters/node.ts'
import { paymentOf } from '../../src/adapters/payment-of.ts'
import type { Challenge } from '../../src/core/protocol/challenge.ts'
import { proofOf } from '../harness/localnet-fixture.ts'
import type { ShopFixture } from '../harness/shop-fixture.ts'
import { createShopFixture } from '../harness/shop-fixture.ts'

let shop: ShopFixture
beforeAll(async () => {
  shop = await createShopFixture()
})
afterAll(() => shop.close())

const optionsOf = () => ({
  price: 0.01,
  token: 'USDC' as const,
  recipient: shop.world.recipient.address,
  network: 'localnet' as const,
  rpc: shop.world.localnet.rpcUrl,
  ledger: 'memory:',
  log: shop.log,
})

async function factsVia(listener: Parameters<typeof createServer>[1], ready: Promise<unknown>): Promise<unknown> {
  await ready
  const server = createServer(listener)
  shop.defer(() => server.close())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/data`
  const challenge = (await (await fetch(url)).json()) as Challenge
  const tx = await shop.world.pay(challenge, shop.payer)
  const response = await fetch(url, { headers: { 'Payment-Proof': proofOf(tx, challenge, shop.payer) } })
  server.closeAllConnections()
  const facts = (await response.json()) as { tx: string }
  expect(facts.tx).toBe(tx)
  return facts
}

const expected = { token: 'USDC', amount: '0.01', unit: 'request', isOnce: true }

it('behind node:http', async () => {
  const paid = nodeMiddleware(optionsOf())
  shop.defer(() => paid.close())
  const listener = (request: Parameters<typeof paid>[0], response: Parameters<typeof paid>[1]) =>
    paid(request, response, () => response.end(JSON.stringify(paymentOf(request))))
  expect(await factsVia(listener, paid.ready())).toMatchObject(expected)
})

it('behind Hono', async () => {
  const paid = honoMiddleware(optionsOf())
  shop.defer(() => paid.close())
  const app = new Hono().get('/data', paid, (context) => context.json(paymentOf(context.req.raw)))
  expect(await factsVia(getRequestListener(app.fetch), paid.ready())).toMatchObject(expected)
})

it('is undefined without a payment', () => {
  expect(paymentOf(new Request('http://localhost/data'))).toBeUndefined()
})
