/** Found in the second audit: deliveries that were not counted, requests inside requests, and nodes that stop a shop. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { connect } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import type { KeyPairSigner } from '@solana/kit'
import { Hono } from 'hono'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { create402Middleware as protectHono } from '../../src/adapters/hono.ts'
import type { Challenge } from '../../src/core/protocol/challenge.ts'
import { adapters } from '../harness/adapters.ts'
import { cells } from '../harness/length.ts'
import { type LocalnetFixture, proofOf } from '../harness/localnet-fixture.ts'
import { eventually, type Shop } from '../harness/shop.ts'
import {
  createShopFixture,
  expectRefused,
  expectServed,
  type ShopFixture,
  serveNode,
  txOf,
} from '../harness/shop-fixture.ts'

let fixture: ShopFixture
let world: LocalnetFixture
let payer: KeyPairSigner
beforeAll(async () => {
  fixture = await createShopFixture()
  ;({ world, payer } = fixture)
})
afterAll(() => fixture.close())

const base = () => ({
  price: 0.01,
  token: 'USDC' as const,
  recipient: world.recipient.address,
  network: 'localnet' as const,
  rpc: world.localnet.rpcUrl,
  ledger: 'memory:',
  log: fixture.log,
})

function endsOf(shop: Shop, proof: string): readonly string[] {
  const tx = txOf(proof)
  return shop.events.flatMap((event) => (event.kind === 'ended' && event.tx === tx ? event.outcome : []))
}

describe.each(cells(adapters, 3, 2))('%s', (_name, serve) => {
  it('T170: an OPTIONS with a body is a delivery like any other', async () => {
    const shop = await fixture.open({}, serve)
    const challenge = (await (await fetch(`${shop.url}/data`, { method: 'OPTIONS' })).json()) as Challenge
    const proof = proofOf(await world.pay(challenge, payer), challenge, payer)
    await expectServed(shop.claim(proof, '/data', { method: 'OPTIONS' }))
    await expectRefused(shop.claim(proof, '/data', { method: 'OPTIONS' }), 'payment_replay')
  })

  it('T170: leaving before the first byte does not make the handler work for nothing, again and again', async () => {
    let [runs, go] = [0, (): void => {}]
    const gate = new Promise<void>((resolve) => {
      go = resolve
    })
    const shop = await fixture.open({}, serve, async () => {
      runs += 1
      await gate
      return { body: 'the secret' }
    })
    const proof = await shop.buy(payer)
    const { hostname, port, host } = new URL(shop.url)
    for (let time = 1; time <= 20; time += 1) {
      const socket = connect(Number(port), hostname, () =>
        socket.write(`GET /data HTTP/1.1\r\nHost: ${host}\r\nPayment-Proof: ${proof}\r\n\r\n`),
      )
      socket.on('error', () => {})
      await eventually(
        () => runs,
        (count) => count === time,
      )
      socket.resetAndDestroy()
      await eventually(
        () => endsOf(shop, proof).length,
        (count) => count === time,
      )
    }
    await expectRefused(shop.claim(proof), 'payment_replay')
    expect([runs, new Set(endsOf(shop, proof))]).toEqual([20, new Set(['no_body'])])
    go()
  })
})

it('T85: a nested request of an application is judged by its own target', async () => {
  const paid = protectHono(base())
  fixture.defer(paid.close)
  await paid.ready()
  const app = new Hono()
  app.get('/item/:id', paid, (context) => context.text(`item ${context.req.param('id')}`))
  app.get('/batch', async (context) => {
    const ids = (context.req.query('ids') ?? '').split(',')
    const inner = ids.map((id) => new Request(`http://inner/item/${id}`, { headers: context.req.raw.headers }))
    const answers = []
    for (const request of inner) answers.push(await app.fetch(request, context.env))
    return context.json(await Promise.all(answers.map((answer) => answer.text())))
  })
  const server = createServer(getRequestListener(app.fetch))
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  fixture.defer(() => {
    server.closeAllConnections()
    server.close()
  })
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const challenge = (await (await fetch(`${origin}/item/1`)).json()) as Challenge
  const headers = { 'payment-proof': proofOf(await world.pay(challenge, payer), challenge, payer) }
  const answers = (await (await fetch(`${origin}/batch?ids=1,2,3`, { headers })).json()) as string[]
  expect(answers[0]).toBe('item 1')
  for (const answer of answers.slice(1)) expect(JSON.parse(answer).code).toMatch(/^(binding_mismatch|payment_\w+)$/)
})

it('an address that is too long to repeat has no receipt, and is served all the same', async () => {
  const shop = await fixture.open()
  const path = `/data?q=${'x'.repeat(12_500)}`
  const response = await shop.claim(await shop.buy(payer, path), path)
  expect([response.status, response.headers.get('payment-receipt')]).toEqual([200, null])
})

it('T74: a node that does not know the mint stops sales, but not paid requests', async () => {
  const forgetful = await fixture.fakeNode()
  forgetful.behave(async ({ method }, ask) => {
    const told = await ask()
    if (method !== 'getMultipleAccounts') return told
    const answer = JSON.parse(told.body)
    const value = answer.result.value.map(() => null)
    return { body: JSON.stringify({ ...answer, result: { ...answer.result, value } }) }
  })
  const [secret, ledger] = [`1:${'a'.repeat(32)}`, `${fixture.directory}/t74.sqlite`]
  const other = await fixture.open({ secret, ledger })
  const paid = await other.buy(payer)
  await other.close()
  const served = await serveNode({ ...base(), secret, ledger, rpc: forgetful.url }, () => ({
    body: 'the secret',
  }))
  fixture.defer(served.close)
  await expect(served.ready()).rejects.toThrow('does not exist on this chain')
  expect((await fetch(`${served.url}/data`)).status).toBe(503)
  const response = await fetch(`${served.url}/data`, { headers: { 'payment-proof': paid } })
  expect([response.status, await response.text()]).toEqual([200, 'the secret'])
})
