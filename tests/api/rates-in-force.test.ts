/** A payment is valued by the rates in force at its block time, whenever its proof arrives: in the books and in what is owed. */
import type { KeyPairSigner } from '@solana/kit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readRoutesConfig } from '../../src/api/options.ts'
import { startPayoutWorkers } from '../../src/compose/payouts.ts'
import { decodeSignature } from '../../src/core/encoding/base58.ts'
import type { RateJournal } from '../../src/core/ports/journal.ts'
import type { Ledger } from '../../src/core/ports/ledger.ts'
import type { RatesOption } from '../../src/paywall/config/rates.ts'
import { auditRewards } from '../../src/workers/payouts/audit.ts'
import { newSigner, proofOf } from '../harness/localnet-fixture.ts'
import { eventually } from '../harness/shop.ts'
import { createShopFixture, type ShopFixture } from '../harness/shop-fixture.ts'
import { stores } from '../ledger/stores.ts'
import { type House, openHouse } from './api-fixture.ts'

let shop: ShopFixture
let wallets: readonly KeyPairSigner[]
beforeAll(async () => {
  shop = await createShopFixture()
  wallets = await Promise.all([1, 2, 3, 4].map(() => newSigner()))
})
afterAll(() => shop.close())

/** A source whose rates the test sets. It is asked every second. */
function createSource(first: Readonly<Record<string, string>>) {
  let rates = first
  const source = {
    read: async () => Object.entries(rates).map(([token, rate]) => ({ token: token as 'SOL' | 'NATIVE', rate })),
    refreshSeconds: 1,
    maxAgeSeconds: 3_600,
    maxJump: 0.9,
    spread: 0,
  }
  const set = (to: Readonly<Record<string, string>>): void => {
    rates = to
  }
  return { source, set }
}

async function openLedgerOf(open: (typeof stores)[number][1]): Promise<Ledger> {
  const { localnet } = shop.world
  const kv = await open({ now: () => localnet.now(), monotonic: () => performance.now() })
  shop.defer(() => kv.clear())
  return kv.ledger
}

async function startRewards(house: House, ledger: Ledger, rates: RatesOption | undefined) {
  const [partner = '', treasury = '', buyback = '', incentives = ''] = wallets.map(({ address }) => address)
  const config = readRoutesConfig(
    {
      network: 'localnet',
      rpc: shop.world.localnet.rpcUrl,
      ledger,
      ...(rates && { rates }),
      rewards: {
        collector: shop.world.recipient.address,
        treasury: { wallet: treasury, weight: 1 },
        buyback: { wallet: buyback, weight: 1 },
        incentives: { wallet: incentives, weight: 1 },
        partners: [{ name: 'acme', wallet: partner, share: 85, endpoints: ['/data'] }],
      },
    },
    {},
  )
  const money = await startPayoutWorkers(house.service, config)
  await money.run()
  return money
}

async function payInSol(house: House): Promise<{ readonly tx: Uint8Array; readonly proof: string }> {
  const asked = await eventually(
    () => house.challenge(),
    ({ amounts }) => amounts?.SOL !== undefined,
  )
  const tx = await shop.world.pay(asked, shop.payer, 'SOL')
  shop.world.localnet.advanceSlots(40)
  return { tx: decodeSignature(tx) ?? new Uint8Array(), proof: proofOf(tx, asked, shop.payer) }
}

const deliver = async (house: House, { tx, proof }: { readonly tx: Uint8Array; readonly proof: string }) => {
  expect((await house.claim(proof)).status).toBe(200)
  await expect.poll(async () => (await house.service.ledger.books?.findPayment(tx))?.delivery).toBe('all')
}

/** The first accrual. A worker that looked before the response was complete looks again later, which comes soon here. */
const accrue = (money: Awaited<ReturnType<typeof startRewards>>, ledger: Ledger) =>
  eventually(
    async () => {
      await money.run()
      const [accrual] = (await ledger.rewards?.accruals(0, 10)) ?? []
      if (!accrual) shop.world.localnet.advance(60)
      return accrual
    },
    (accrual) => accrual !== undefined,
  )

const auditOf = (house: House, ledger: Ledger, rateJournal = ledger.rates) => {
  const { native, usdc } = shop.world
  const { rewards, outgoing, books } = ledger
  if (!rewards || !outgoing) throw new Error('the ledger keeps too little')
  return auditRewards({
    ...{ rewards, outgoing, books, chain: house.service.chain, native, rateJournal },
    ...({ reportToken: 'USDC', clock: house.service.clock } as const),
    addresses: { find: async () => expect.fail('nobody was paid'), sent: async () => expect.fail('nobody was paid') },
    nameOf: (wallet) => house.service.pseudonyms.wallet(wallet),
    assetOf: (token) =>
      new Map([
        ['SOL', 'SOL'],
        ['USDC', usdc.address],
        ['NATIVE', native.address],
      ]).get(token),
  })
}

describe.each(stores)('T175: with the %s ledger', (_name, open) => {
  it('a payer that waits for another rate changes neither the books nor the shares', async () => {
    const ledger = await openLedgerOf(open)
    const { source, set } = createSource({ SOL: '100', NATIVE: '0.1' })
    const house = await openHouse(shop, { ledger, price: 10, acceptedMints: ['USDC', 'SOL'], rates: source })
    const money = await startRewards(house, ledger, undefined)
    const paid = await payInSol(house)
    set({ SOL: '180', NATIVE: '0.1' })
    await eventually(
      () => house.challenge(),
      ({ amounts }) => amounts?.SOL === '0.055555556',
      1_000,
    )
    await deliver(house, paid)
    expect((await ledger.books?.findPayment(paid.tx))?.worth).toBe(10n * 10n ** 12n)
    const accrual = await accrue(money, ledger)
    expect(accrual).toMatchObject({ worth: 10n * 10n ** 12n, whole: 100_000_000_000n })
    expect(accrual?.shares.find(({ role }) => role === 'partner')?.units).toBe(85_000_000_000n)
    expect(await auditOf(house, ledger)).toMatchObject({ accruals: 1, problems: [], unknown: [] })
    for (const changes of [{ at: 1 }, { table: { USDC: '1', SOL: '180', NATIVE: '0.1' } }]) {
      const find: RateJournal['find'] = async (query) => {
        const found = await ledger.rates?.find(query)
        return found && { ...found, ...changes }
      }
      const { problems } = await auditOf(house, ledger, { note: async () => {}, find })
      expect(problems).toEqual([expect.stringContaining('its rates differ from those at the time of the payment')])
    }
    await money.stop()
    await house.close()
  })

  it('a share with a NATIVE rate of the operator also follows that rate at the block time', async () => {
    const ledger = await openLedgerOf(open)
    const own = createSource({ NATIVE: '0.1', SOL: '100' })
    const house = await openHouse(shop, {
      ...{ ledger, price: 10, acceptedMints: ['USDC', 'SOL'] },
      rates: createSource({ SOL: '100' }).source,
    })
    const money = await startRewards(house, ledger, own.source)
    const paid = await payInSol(house)
    own.set({ NATIVE: '0.06', SOL: '100' })
    await expect
      .poll(async () => (await ledger.rates?.find({ feed: 'rewards/own-2', time: 9e15, tokens: [] }))?.table.NATIVE)
      .toBe('0.06')
    await deliver(house, paid)
    const accrual = await accrue(money, ledger)
    expect(accrual?.shares.find(({ role }) => role === 'partner')?.units).toBe(85_000_000_000n)
    expect(await auditOf(house, ledger)).toMatchObject({ accruals: 1, problems: [], unknown: [] })
    await money.stop()
    await house.close()
  })

  it('a fixed table that was changed with a restart is not used for earlier payments', async () => {
    const ledger = await openLedgerOf(open)
    const options = { ledger, price: 10, acceptedMints: ['USDC', 'SOL'] as const }
    const before = await openHouse(shop, { ...options, rates: { SOL: '100', NATIVE: '0.1' } })
    // Blocks tell their time in whole seconds.
    shop.world.localnet.advance(2)
    const paid = await payInSol(before)
    await before.close()
    const after = await openHouse(shop, { ...options, rates: { SOL: '250', NATIVE: '0.1' } })
    expect((await after.challenge()).amounts?.SOL).toBe('0.04')
    shop.world.localnet.advance(2)
    await deliver(after, paid)
    expect((await ledger.books?.findPayment(paid.tx))?.worth).toBe(10n * 10n ** 12n)
    expect((await ledger.books?.findPayment(paid.tx))?.units).toBe(100_000_000n)
    const later = await payInSol(after)
    await deliver(after, later)
    expect((await ledger.books?.findPayment(later.tx))?.units).toBe(40_000_000n)
    expect((await ledger.books?.findPayment(later.tx))?.worth).toBe(10n * 10n ** 12n)
    await after.close()
  })
})
