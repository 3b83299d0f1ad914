/** 1K: a node that speaks for another chain than before. */
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { fetchWith402 } from '../../src/client/index.ts'
import { openFileJournal } from '../../src/client/journal/file.ts'
import { openShop, type Shop } from '../harness/shop.ts'
import { serveNode } from '../harness/shop-fixture.ts'
import { createWorld, type World } from '../harness/world.ts'
import { buy, createDesk, type Desk, expectError } from './client-fixture.ts'

let desk: Desk
let shop: Shop
let elsewhere: World

beforeAll(async () => {
  desk = await createDesk()
  shop = await desk.open({ waitSeconds: 5 })
  elsewhere = await createWorld()
  desk.defer(() => elsewhere.close())
  await elsewhere.localnet.fund(desk.payer.address, { SOL: 1_000_000_000n, USDC: 1_000_000n })
})
beforeEach(async () => {
  await desk.received()
})
afterAll(() => desk.close())

it('T159: says nothing about a payment on the first one, which is neither given up nor repeated', async () => {
  const journal = openFileJournal(join(desk.directory, 'chains.sqlite'))
  const options = desk.options({ journal, timeoutMs: 800 })
  const lost = desk.world.localnet.faults.add({ methods: ['sendTransaction'], lose: true })
  await expectError(fetchWith402(`${shop.url}/data`, options), 'payment_unknown')
  // There, the height at which it would have expired is long past.
  elsewhere.localnet.advanceSlots(1_000)
  const { rpcUrl } = elsewhere.localnet
  await expectError(fetchWith402(`${shop.url}/data`, { ...options, rpc: rpcUrl }), 'wrong_chain', /nothing was paid/)
  lost()
  const { text, events } = await buy(`${shop.url}/data`, { ...options, timeoutMs: 5_000 })
  expect([text, events[0]?.kind]).toEqual(['the secret', 'resumed'])
  expect(await desk.received()).toBe(1)
})

it('is paid through when a challenge names its chain, though another ran at that address before', async () => {
  const node = await desk.fakeNode()
  const options = desk.options({ rpc: node.url })
  expect((await buy(`${shop.url}/data`, options)).text).toBe('the secret')
  const other = await openShop(elsewhere, serveNode, () => ({ body: 'elsewhere' }), { waitSeconds: 5, log: desk.log })
  desk.defer(() => other.close())
  await expectError(fetchWith402(`${other.url}/data`, options), 'wrong_chain')
  node.turnTo(elsewhere.localnet.rpcUrl)
  expect((await buy(`${other.url}/data`, options)).text).toBe('elsewhere')
  expect(await desk.received()).toBe(1)
})
