import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Challenge } from '../../src/core/protocol/challenge.ts'
import { startLocalnet } from '../../src/localnet/index.ts'
import { readConfig } from '../../src/paywall/config/config.ts'
import type { ProviderOptions } from '../../src/paywall/config/options.ts'
import { createFace } from '../harness/fake-node.ts'
import { freePort } from '../harness/free-port.mjs'
import { createLocalnetFixture, type LocalnetFixture, proofOf } from '../harness/localnet-fixture.ts'
import { eventually } from '../harness/shop.ts'
import { createShopFixture, expectRefused, expectServed, type ShopFixture, serveNode } from '../harness/shop-fixture.ts'

let shop: ShopFixture
let world: LocalnetFixture

beforeAll(async () => {
  shop = await createShopFixture()
  world = shop.world
})
afterAll(() => shop.close())

describe('another chain', () => {
  it('T73: beside the right one is not a second witness', async () => {
    const elsewhere = await startLocalnet({ slotMs: 20 })
    shop.defer(() => elsewhere.close())
    const second = await shop.fakeNode()
    const two = await shop.open({ rpc: [world.localnet.rpcUrl, second.url] })
    const proof = await two.buy(shop.payer)
    second.turnTo(elsewhere.rpcUrl)
    second.behave(() => ({ status: 500, body: '' }))
    await expectRefused(two.claim(proof), 'chain_unavailable')
    second.behave(undefined)
    await expectRefused(two.claim(proof), 'chain_unavailable')
    second.turnTo(world.localnet.rpcUrl)
    await expectServed(two.claim(proof))
  })

  it('T73: behind the only address is found out, and free money of that chain opens nothing', async () => {
    const elsewhere = await createLocalnetFixture()
    shop.defer(() => elsewhere.close())
    const only = await shop.fakeNode()
    const one = await shop.open({ rpc: only.url })
    const challenge = await one.challenge()
    await elsewhere.localnet.fund(world.recipient.address, { SOL: 1_000_000_000n, USDC: 0n })
    const thief = await elsewhere.person()
    const stolen = proofOf(await elsewhere.pay(challenge, thief), challenge, thief)
    await expectRefused(one.claim(stolen), 'tx_not_found')
    only.behave(() => ({ status: 503, body: '' }))
    await expectRefused(one.claim(stolen), 'chain_unavailable')
    only.turnTo(elsewhere.localnet.rpcUrl)
    only.behave(undefined)
    await expectRefused(one.claim(stolen), 'chain_unavailable')
    only.turnTo(world.localnet.rpcUrl)
    await expectServed(one.claim(proofOf(await world.pay(challenge, shop.payer), challenge, shop.payer)))
  })

  it('T73: is never believed where the network has a known genesis hash', async () => {
    const secret = `1:${'s'.repeat(32)}`
    const ledger = join(shop.directory, 'devnet.sqlite')
    const { rpcUrl: rpc } = world.localnet
    const common = { price: 0.01, token: 'USDC', recipient: world.recipient.address, waitSeconds: 0 } as const
    const devnet = await serveNode({ ...common, network: 'devnet', secret, ledger, rpc, log: shop.log }, () => ({
      body: 'the secret',
    }))
    shop.defer(() => devnet.close())
    await expect(devnet.ready()).rejects.toThrow('belongs to another chain')
    const challenge = (await (await fetch(`${devnet.url}/data`)).json()) as Challenge
    const proof = proofOf(await world.pay(challenge, shop.payer), challenge, shop.payer)
    await expectRefused(fetch(`${devnet.url}/data`, { headers: { 'Payment-Proof': proof } }), 'chain_unavailable')
    expect(shop.logged.join('')).toContain('chain.wrong_cluster')
  })

  it.each<[string, Partial<ProviderOptions>, RegExp]>([
    ['T74: test money on mainnet', { mints: { USDC: '7rkNvHQ2toHAyKrAQWdnRivFEVjBN4ZpBMrNREsuA4Yr' } }, /mints\.USDC/],
    ['T78: a node that is a file', { rpc: 'file:///etc/passwd' }, /rpc: must be/],
    ['T78: a node that is no address', { rpc: ['https://node.example', 'node.example'] }, /rpc.*: must be/],
    ['no node at all', { rpc: [] }, /rpc: mainnet needs/],
  ])('%s is refused at the start', (_name, options, problem) => {
    const base = { price: 1, token: 'USDC', recipient: world.recipient.address, rpc: 'https://node.example' } as const
    expect(() => readConfig({ ...base, secret: `1:${'s'.repeat(32)}`, ...options }, {})).toThrow(problem)
  })
})

describe('the start', () => {
  it('T68: without a node, proofs and requests are told to come again; with it, all is well', async () => {
    const proof = await (await shop.open()).buy(shop.payer)
    const port = await freePort()
    const served = await serveNode(
      {
        price: 0.01,
        token: 'USDC',
        recipient: world.recipient.address,
        network: 'localnet',
        rpc: `http://127.0.0.1:${port}`,
        ledger: 'memory:',
        log: shop.log,
      },
      () => ({ body: 'the secret' }),
    )
    shop.defer(() => served.close())
    await expect(served.ready()).rejects.toThrow('does not respond')
    const claim = () => fetch(`${served.url}/data`, { headers: { 'Payment-Proof': proof } })
    await expectRefused(claim(), 'chain_unavailable')
    await expectRefused(fetch(`${served.url}/data`), 'chain_unavailable')
    const node = await createFace(world.localnet.rpcUrl, port)
    shop.defer(() => node.close())
    await eventually(
      async () => (await fetch(`${served.url}/data`)).status,
      (status) => status === 402,
    )
    await expectServed(claim())
  })

  it('that fails is one attempt and one line of log, however many ask, and is not repeated at once', async () => {
    const node = await shop.fakeNode()
    let answerAll: () => void = () => {}
    const asked = new Promise<void>((resolve) => {
      answerAll = resolve
    })
    node.behave(async () => {
      await asked
      return { status: 500, body: '' }
    })
    const lines: string[] = []
    const note = (event: string) => void lines.push(event)
    const served = await serveNode(
      {
        price: 0.01,
        token: 'USDC',
        recipient: world.recipient.address,
        network: 'localnet',
        rpc: node.url,
        ledger: 'memory:',
        log: { info: note, warn: note, error: note },
      },
      () => ({ body: 'the secret' }),
    )
    shop.defer(() => served.close())
    const flood = () =>
      Promise.all(
        Array.from({ length: 100 }, async () => expectRefused(fetch(`${served.url}/data`), 'chain_unavailable')),
      )
    const waiting = flood()
    await eventually(
      () => node.asked.length,
      (count) => count > 0,
    )
    const failed = performance.now()
    answerAll()
    await waiting
    await flood()
    const mostAttempts = 1 + Math.floor((performance.now() - failed) / 1_000)
    expect(node.asked.length).toBeLessThanOrEqual(mostAttempts)
    expect(lines).toEqual(['paywall.start_failed'])
    node.behave(undefined)
    await eventually(
      async () => (await fetch(`${served.url}/data`)).status,
      (status) => status === 402,
    )
  })
})
