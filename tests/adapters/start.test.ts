/** What customers and operators are told of a paywall that starts, or cannot. */
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished, vi } from 'vitest'
import { create402Middleware } from '../../src/adapters/next.ts'
import type { Challenge } from '../../src/core/protocol/challenge.ts'
import type { ProviderOptions } from '../../src/paywall/config/options.ts'
import { eventually } from '../harness/shop.ts'
import { createShopFixture, expectRefused, type ShopFixture } from '../harness/shop-fixture.ts'

let shop: ShopFixture
let directory: string

beforeAll(async () => {
  shop = await createShopFixture()
  directory = mkdtempSync(join(shop.directory, 'start-'))
})
beforeEach(() => {
  shop.logged.length = 0
})
afterAll(() => shop.close())

function open(options: Partial<ProviderOptions>) {
  const { world, log } = shop
  const common = { price: 0.01, token: 'USDC', recipient: world.recipient.address, network: 'localnet' } as const
  const paid = create402Middleware({ ...common, log, ...options })
  shop.defer(() => paid.close())
  return { ready: paid.ready, metrics: paid.metrics, route: paid(() => new Response('the secret')) }
}

const request = (headers: Record<string, string> = {}) => new Request('http://localhost:3200/data', { headers })

it.each([
  ['no database', 'junk', /not a SQLite database/],
  ['in no directory', 'missing/ledger.sqlite', /is not a directory/],
])('a ledger that is %s is reported to customers, and to the log once', async (_what, name, why) => {
  writeFileSync(join(directory, 'junk'), 'junk '.repeat(2_000))
  const { route, ready, metrics } = open({ rpc: shop.world.localnet.rpcUrl, ledger: join(directory, name) })
  await expectRefused(route(request()), 'ledger_unavailable')
  await expectRefused(route(request({ 'Payment-Proof': 'tx=1' })), 'ledger_unavailable')
  await expect(ready()).rejects.toThrow(why)
  expect(await metrics()).toContain('paystile_ready 0')
  expect(shop.logged).toEqual([expect.stringMatching(/"paywall\.start_failed"/)])
})

it('a chain that does not answer is told apart from that', async () => {
  const { route } = open({ rpc: 'http://127.0.0.1:9' })
  await expectRefused(route(request()), 'chain_unavailable')
})

it('a ledger of a chain that is gone is told apart from one of another secret', async () => {
  const ledger = join(directory, 'old.sqlite')
  await open({ rpc: shop.world.localnet.rpcUrl, ledger }).ready()
  await expect(open({ ledger }).ready()).rejects.toThrow(/belongs to another chain/)
})

it('a service whose ledger opens late keeps its chain, pauses longer, and logs the failure once', async () => {
  const timers = vi.spyOn(globalThis, 'setTimeout')
  onTestFinished(() => timers.mockRestore())
  const place = join(directory, 'late')
  const { ready } = open({ ledger: join(place, 'ledger.sqlite'), service: 'late' })
  const readFailure = () =>
    ready().then(
      () => undefined,
      (error: unknown) => error,
    )
  const first = await readFailure()
  expect(first).toMatchObject({ message: expect.stringMatching(/is not a directory: create it first/) })
  await eventually(readFailure, (failure) => failure !== first)
  mkdirSync(place)
  await eventually(readFailure, (failure) => failure === undefined)
  expect(timers.mock.calls.map(([, ms]) => ms)).toEqual(expect.arrayContaining([1_000, 2_000]))
  // The services of earlier tests go on to read the chain.
  expect(shop.logged.filter((line) => !line.includes('"chain.'))).toEqual([
    expect.stringMatching(/"localnet.started"/),
    expect.stringMatching(/"paywall.start_failed".*create it first, or choose another file/),
    expect.stringMatching(/"paywall.started"/),
  ])
})

it('a chain in this process is announced with its address and the way to its money', async () => {
  await open({ service: 'announced' }).ready()
  expect(shop.logged).toEqual([
    expect.stringMatching(/"localnet.started".*"http:\/\/127\.0\.0\.1:\d+".*npx paystile faucet/),
  ])
})

it('the challenge names the host that the client sent, with any framework', async () => {
  const { route, ready } = open({ rpc: shop.world.localnet.rpcUrl, ledger: 'memory:' })
  await ready()
  const resourceFor = async (headers: Record<string, string>) =>
    ((await (await route(request(headers))).json()) as Challenge).resource
  expect(await resourceFor({ host: '127.0.0.1:3200', 'x-forwarded-proto': 'https' })).toBe('http://127.0.0.1:3200/data')
  expect(await resourceFor({})).toBe('http://localhost:3200/data')
})
