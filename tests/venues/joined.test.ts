/** Conversion joined to a paywall: by the process that has the key, or by another that shows that it does. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest'
import type { Wallet } from '../../src/chain/keys/keypair.ts'
import { openHandle, openPaywall } from '../../src/compose/paywall.ts'
import { startConversion } from '../../src/compose/settlement/settlement.ts'
import { formatConversionLockKey, parseConversion, settlementBeats } from '../../src/core/payouts/conversion.ts'
import type { Ledger } from '../../src/core/ports/ledger.ts'
import { readConfig } from '../../src/paywall/config/config.ts'
import type { ProviderOptions } from '../../src/paywall/config/options.ts'
import { createReferenceLedger } from '../ledger/reference/ledger.ts'
import { newWallet, openTrade, quiet, type Trade } from './venue-fixture.ts'

let trade: Trade
let ledger: Ledger
let wallet: Wallet
let home: string
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'paystile-joined-'))
  process.env['PAYSTILE_HOME'] = home
  trade = await openTrade()
})
afterAll(async () => {
  await trade.close()
  rmSync(home, { recursive: true, force: true })
  delete process.env['PAYSTILE_HOME']
})
beforeEach(async () => {
  wallet = await trade.taker()
  ledger = createReferenceLedger({ clock: trade.clock })
})
afterEach(() => ledger.close())

const options = (more: Partial<ProviderOptions> = {}): ProviderOptions => ({
  price: 0.01,
  token: 'USDC',
  network: 'localnet',
  rpc: trade.world.localnet.rpcUrl,
  recipient: wallet.address,
  acceptedMints: ['USDC', 'NATIVE'],
  settlementToken: 'USDC',
  autoConversion: true,
  conversionThreshold: { NATIVE: 500 },
  secret: '1:a-test-secret-of-at-least-32-characters',
  ledger,
  log: quiet,
  watch: false,
  ...more,
})
const open = (more?: Partial<ProviderOptions>) => {
  const paywall = openPaywall(options(more))
  onTestFinished(() => paywall.close())
  return paywall
}

it('does not start without a converting worker, and names the commands that could convert', async () => {
  const paywall = open()
  await expect(paywall.ready()).rejects.toThrow(
    `no worker converts what ${wallet.address} receives in NATIVE into USDC; set its key as settlementKey, or run npx paystile worker`,
  )
  expect(await paywall.readiness()).toMatchObject({ ready: false, why: expect.stringContaining('paystile worker') })
})

it('starts when a worker shows on the ledger’s shelf that it converts for this recipient', async () => {
  const now = trade.clock.now()
  await ledger.kv?.put(`${settlementBeats((await newWallet()).address)}1`, '1', now + 60_000)
  await expect(open().ready()).rejects.toThrow('no worker converts')
  await ledger.kv?.put(`${settlementBeats(wallet.address)}1`, '1', now + 60_000)
  expect(await open({ scope: 'b' }).ready()).toMatchObject({ offered: ['USDC', 'NATIVE'] })
})

it('needs no worker if nothing is to be converted', async () => {
  expect(await open({ acceptedMints: ['USDC'] }).ready()).toMatchObject({ offered: ['USDC'] })
})

it('refuses the key of another wallet than the recipient’s', async () => {
  const other = await newWallet()
  const paywall = open({ settlementKey: other, venue: { kind: 'rfq', url: trade.url } })
  await expect(paywall.ready()).rejects.toThrow(`is the key of ${other.address}, but the payments belong to`)
})

it('refuses a token of the provider’s own that the venue does not trade', async () => {
  const tokens = { GOLD: { mint: 'Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB', decimals: 6 } }
  const own = { tokens, acceptedMints: ['USDC', 'GOLD'], rates: { GOLD: 2_000 }, conversionThreshold: { GOLD: 5 } }
  const paywall = open({ ...own, settlementKey: wallet, venue: { kind: 'rfq', url: trade.url } })
  await expect(paywall.ready()).rejects.toThrow('venue: does not exchange GOLD for USDC; set another venue')
})

it('converts a token of the provider’s own that the desk quotes', async () => {
  const { localnet } = trade.world
  await localnet.fund(wallet.address, { EURC: 1_000_000_000n })
  const tokens = { EURC: { mint: localnet.mints['EURC']?.address ?? '', decimals: 6 } }
  const own = { tokens, acceptedMints: ['USDC', 'EURC'], rates: { EURC: '1.25' }, conversionThreshold: { EURC: 500 } }
  const paywall = open({ ...own, settlementKey: wallet, venue: { kind: 'rfq', url: trade.url } })
  expect(await paywall.ready()).toMatchObject({ offered: ['USDC', 'EURC'] })
  const find = async () => ledger.outgoing?.findByLockKey(formatConversionLockKey(wallet.address, 'EURC'))
  await expect.poll(async () => (await find())?.state).toBe('signed')
  const readLater = async () => {
    localnet.advanceSlots(1)
    return (await find())?.state
  }
  await expect.poll(readLater).toBe('landed')
  const about = parseConversion((await find())?.about ?? '')
  expect(about).toMatchObject({ sell: 'EURC', buy: 'USDC', sold: 1_000_000_000n, received: 1_246_250_000n })
})

it('refuses a key file that is not there', async () => {
  const settlementKey = join(home, 'missing.json')
  const paywall = open({ settlementKey, venue: { kind: 'rfq', url: trade.url } })
  await expect(paywall.ready()).rejects.toThrow('settlementKey: ')
})

it('converts with the key, shows that it does, and stops with the paywall', async () => {
  const venue = { kind: 'rfq', url: trade.url } as const
  const paywalls = [open({ settlementKey: wallet, venue }), open({ settlementKey: wallet, venue, scope: 'b' })]
  for (const paywall of paywalls) expect(await paywall.ready()).toMatchObject({ offered: ['USDC', 'NATIVE'] })
  const findConversion = async () => ledger.outgoing?.findByLockKey(formatConversionLockKey(wallet.address, 'NATIVE'))
  for (;;) {
    if ((await findConversion())?.state === 'signed') break
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  expect(await ledger.kv?.list(settlementBeats(wallet.address))).toHaveLength(1)
  for (const paywall of paywalls) await paywall.close()
  trade.world.localnet.advanceSlots(40)
  // Whoever comes next concludes it.
  const { service: config, route } = readConfig(options({ settlementKey: wallet, venue }), {})
  const handle = openHandle(config, quiet)
  onTestFinished(() => handle.release())
  if (!route.conversion) throw new Error('nothing is converted')
  const loop = await startConversion(await handle.get(), route, route.conversion)
  await loop.run()
  await loop.stop()
  const landed = await findConversion()
  expect(landed).toMatchObject({ state: 'landed', attempts: 1 })
  expect(parseConversion(landed?.about ?? '')).toMatchObject({ sold: 1_000_000_000_000n, received: 99_700_000n })
})
