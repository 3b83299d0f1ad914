/** 1K: a node that speaks for another chain than before. */
import { request as httpRequest } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { fetchWith402 } from '../../src/client/index.ts'
import { openFileJournal } from '../../src/client/journal/file.ts'
import { announceLocalnet, withdrawLocalnet } from '../../src/host/home.ts'
import { createLocalnetFixture, type LocalnetFixture } from '../harness/localnet-fixture.ts'
import { openShop, type Shop } from '../harness/shop.ts'
import { serveNode } from '../harness/shop-fixture.ts'
import { buy, type ClientFixture, createClientFixture, expectError } from './client-fixture.ts'

let fixture: ClientFixture
let shop: Shop
let elsewhere: LocalnetFixture

beforeAll(async () => {
  fixture = await createClientFixture()
  shop = await fixture.open({ waitSeconds: 5 })
  elsewhere = await createLocalnetFixture()
  fixture.defer(() => elsewhere.close())
  await elsewhere.localnet.fund(fixture.payer.address, { SOL: 1_000_000_000n, USDC: 1_000_000n })
})
beforeEach(async () => {
  await fixture.received()
})
afterAll(() => fixture.close())

it('T159: says nothing about a payment on the first one, which is neither given up nor repeated', async () => {
  const journal = openFileJournal(join(fixture.directory, 'chains.sqlite'))
  const options = fixture.options({ journal, timeoutMs: 800 })
  const lost = fixture.world.localnet.faults.add({ methods: ['sendTransaction'], lose: true })
  await expectError(fetchWith402(`${shop.url}/data`, options), 'payment_unknown')
  // There, the height at which it would have expired is long past.
  elsewhere.localnet.advanceSlots(1_000)
  const { rpcUrl } = elsewhere.localnet
  await expectError(fetchWith402(`${shop.url}/data`, { ...options, rpc: rpcUrl }), 'wrong_chain', /Nothing was paid/)
  lost()
  const { text, events } = await buy(`${shop.url}/data`, { ...options, timeoutMs: 5_000 })
  expect([text, events[0]?.kind]).toEqual(['the secret', 'resumed'])
  expect(await fixture.received()).toBe(1)
})

it('a payment on a local chain that ended does not block the address: the next call pays on the new chain', async () => {
  const announce = ({ localnet }: LocalnetFixture): void =>
    announceLocalnet({ genesis: localnet.genesisHash, rpcUrl: localnet.rpcUrl })
  const other = await openShop(elsewhere, serveNode, () => ({ body: 'elsewhere' }), {
    waitSeconds: 5,
    log: fixture.log,
  })
  fixture.defer(() => other.close())
  let target = shop.url
  const url = await fixture.host(({ headers, url: path = '/' }, response) => {
    const onward = httpRequest(`${target}${path}`, { headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers)
      answer.pipe(response)
    })
    onward.end()
  })
  announce(fixture.world)
  const { rpc: _, ...options } = fixture.options({ timeoutMs: 800 })
  const lost = fixture.world.localnet.faults.add({ methods: ['sendTransaction'], lose: true })
  await expectError(fetchWith402(`${url}/data`, options), 'payment_unknown')
  lost()
  withdrawLocalnet(fixture.world.localnet.genesisHash)
  announce(elsewhere)
  target = other.url
  const { text, events } = await buy(`${url}/data`, { ...options, timeoutMs: 10_000 })
  expect([text, events[0]?.kind]).toEqual(['elsewhere', 'paying'])
  // It is still there for a chain that was kept.
  withdrawLocalnet(elsewhere.localnet.genesisHash)
  announce(fixture.world)
  target = shop.url
  const again = await buy(`${url}/data`, { ...options, timeoutMs: 10_000 })
  expect([again.text, again.events[0]?.kind]).toEqual(['the secret', 'resumed'])
  withdrawLocalnet(fixture.world.localnet.genesisHash)
  expect(await fixture.received()).toBe(1)
})

it('is paid through when a challenge names its chain, though another ran at that address before', async () => {
  const node = await fixture.fakeNode()
  const options = fixture.options({ rpc: node.url })
  expect((await buy(`${shop.url}/data`, options)).text).toBe('the secret')
  const other = await openShop(elsewhere, serveNode, () => ({ body: 'elsewhere' }), {
    waitSeconds: 5,
    log: fixture.log,
  })
  fixture.defer(() => other.close())
  await expectError(fetchWith402(`${other.url}/data`, options), 'wrong_chain')
  node.turnTo(elsewhere.localnet.rpcUrl)
  expect((await buy(`${other.url}/data`, options)).text).toBe('elsewhere')
  expect(await fixture.received()).toBe(1)
})
