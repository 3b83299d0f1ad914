/** `paystile worker` converts for servers that have no key, and they start because it does. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { openPaywall } from '../../src/compose/paywall.ts'
import { makeKeyFile, viewKeyFile } from '../../src/host/keys/key-file.ts'
import type { ProviderOptions } from '../../src/paywall/config/options.ts'
import { useTemporaryHome } from '../harness/shop.ts'
import { openTrade, quiet, type Trade } from '../venues/venue-fixture.ts'
import { errorOf, finished, paystileIn, root, start } from './command.ts'

const home = useTemporaryHome()
let trade: Trade
beforeAll(async () => {
  trade = await openTrade()
})
afterAll(async () => {
  await trade.close()
  home.remove()
})

const secret = '1:a-test-secret-of-at-least-32-characters'

it('converts with the key that the servers need not have, and lets them start', async () => {
  const directory = join(home.path, 'service')
  mkdirSync(directory)
  const key = join(directory, 'recipient.json')
  makeKeyFile(key)
  const recipient = viewKeyFile(key).address
  await trade.world.localnet.fund(recipient, { SOL: 1_000_000_000n, USDC: 0n, NATIVE: 600_000_000_000n })
  const ledger = join(directory, 'ledger.sqlite')
  const shared = {
    network: 'localnet' as const,
    rpc: trade.world.localnet.rpcUrl,
    ledger,
    secret,
    recipient,
    token: 'USDC' as const,
    acceptedMints: ['USDC', 'NATIVE'] as const,
    settlementToken: 'USDC' as const,
    autoConversion: true,
    conversionThreshold: { NATIVE: 500 },
    venue: { kind: 'rfq' as const, url: trade.url },
  }
  const routes = [{ path: '/api/x', price: 0.01 }]
  writeFileSync(join(directory, 'paystile.yaml'), JSON.stringify({ ...shared, upstream: 'http://127.0.0.1:1', routes }))

  const without = await paystileIn(directory, 'worker')
  expect([without.code, errorOf(without).message]).toEqual([2, expect.stringContaining('nor settlementKey')])

  const options: ProviderOptions = { ...shared, price: 0.01, log: quiet, watch: false }
  const early = openPaywall(options)
  await expect(early.ready()).rejects.toThrow('npx paystile worker')
  await early.close()

  writeFileSync(join(directory, '.env'), `PAYSTILE_SETTLEMENT_KEY=${key}\n`, { mode: 0o600 })
  const child = start([join(root, 'dist/cli/main.js'), 'worker'], directory)
  const ended = finished(child)
  onTestFinished(async () => {
    child.kill('SIGTERM')
    await ended
  })
  while ((await trade.holds(recipient)).USDC === 0n) {
    trade.world.localnet.advanceSlots(1)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  expect(await trade.holds(recipient)).toMatchObject({ NATIVE: 0n, USDC: 59_820_000n })

  const paywall = openPaywall(options)
  onTestFinished(() => paywall.close())
  expect(await paywall.ready()).toMatchObject({ offered: ['USDC', 'NATIVE'] })
  child.kill('SIGTERM')
  expect(await ended).toMatchObject({ code: 0, stdout: expect.stringContaining(`"converts":["${recipient}"]`) })
})
