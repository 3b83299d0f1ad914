/** Payments are shared out and paid on a real chain, and what bought nothing is sent back: each once. */
import { generateKeyPairSync } from 'node:crypto'
import { join } from 'node:path'
import type { KeyPairSigner } from '@solana/kit'
import { address, createKeyPairSignerFromBytes } from '@solana/kit'
import { getCloseAccountInstruction } from '@solana-program/token'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readRoutesConfig } from '../../src/api/options.ts'
import { type OpenPayouts, startPayoutWorkers } from '../../src/compose/payouts.ts'
import { decodeSignature, encodeBase58 } from '../../src/core/encoding/base58.ts'
import type { Mint } from '../../src/core/money/tokens.ts'
import { formatRefundLockKey, parseRefund, type RefundWish } from '../../src/core/payouts/refunds.ts'
import type { Ledger } from '../../src/core/ports/ledger.ts'
import { auditRewards } from '../../src/workers/payouts/audit.ts'
import { createPauseSwitch } from '../../src/workers/payouts/pause.ts'
import { planRefund, type RefundParts, type RefundPlanning } from '../../src/workers/payouts/refunds.ts'
import { memo, proofOf } from '../harness/localnet-fixture.ts'
import { codeOf, eventually } from '../harness/shop.ts'
import { createShopFixture, type ShopFixture } from '../harness/shop-fixture.ts'
import { type House, openHouse } from './api-fixture.ts'

let shop: ShopFixture
let house: House
let money: OpenPayouts
let payout: KeyPairSigner
const wallets = { partner: newAddress(), treasury: newAddress(), buyback: newAddress(), incentives: newAddress() }
let refundFrom: KeyPairSigner

function newBytes(): Uint8Array {
  const { privateKey } = generateKeyPairSync('ed25519')
  const { d = '', x = '' } = privateKey.export({ format: 'jwk' })
  return new Uint8Array([...Buffer.from(d, 'base64url'), ...Buffer.from(x, 'base64url')])
}
function newAddress(): string {
  return encodeBase58(newBytes().subarray(32))
}

beforeAll(async () => {
  shop = await createShopFixture()
  const { localnet } = shop.world
  const [payoutKey, refundKey] = [newBytes(), newBytes()]
  payout = await createKeyPairSignerFromBytes(payoutKey)
  refundFrom = await createKeyPairSignerFromBytes(refundKey)
  await localnet.fund(payout.address, { SOL: 10n ** 9n, NATIVE: 10n ** 13n })
  await localnet.fund(refundFrom.address, { SOL: 10n ** 9n, USDC: 10n ** 9n })
  // The partner has a token account; the others have none yet.
  await localnet.fund(wallets.partner, { NATIVE: 0n })
  const ledger = join(shop.directory, 'rewards.sqlite')
  house = await openHouse(shop, { ledger, price: 100, watch: true })
  const { treasury, buyback, incentives, partner } = wallets
  const config = readRoutesConfig(
    {
      network: 'localnet',
      rpc: localnet.rpcUrl,
      ledger,
      refundKey,
      rewards: {
        collector: shop.world.recipient.address,
        cashback: { 0: 1, 100: 5 },
        treasury: { wallet: treasury, weight: 2 },
        buyback: { wallet: buyback, weight: 1 },
        incentives: { wallet: incentives, weight: 1 },
        partners: [{ name: 'acme', wallet: partner, share: 85, endpoints: ['/data'] }],
        key: payoutKey,
        threshold: '0.5',
        everySeconds: 1,
      },
    },
    {},
  )
  money = await startPayoutWorkers(house.service, config)
  await money.run()
})
afterAll(async () => {
  await money?.stop()
  await house?.close()
  await shop.close()
})

const ledgerOf = (): Required<Pick<Ledger, 'journal' | 'rewards' | 'outgoing' | 'books'>> => {
  const { journal, rewards, outgoing, books } = house.service.ledger
  if (!journal || !rewards || !outgoing || !books) throw new Error('the ledger keeps too little')
  return { journal, rewards, outgoing, books }
}
const bytesOf = (tx: string): Uint8Array => decodeSignature(tx) ?? new Uint8Array(64)
/** Pays, and claims once the chain cannot take it back any more. */
const buy = async (payer = shop.payer): Promise<string> => {
  const { tx, proof } = await house.pay(payer)
  shop.world.localnet.advanceSlots(40)
  expect((await house.claim(proof)).status).toBe(200)
  await untilDelivered(tx)
  return tx
}
/** That a response ended is written down after it has. */
const untilDelivered = async (tx: string): Promise<void> => {
  const delivery = async () => (await ledgerOf().books.findPayment(bytesOf(tx)))?.delivery
  await expect.poll(delivery, { timeout: 10_000, interval: 20 }).toBe('all')
}
const balanceOf = async (owner: string, mint: Mint): Promise<bigint> => {
  const account = await shop.world.tokenAccount(owner, mint)
  const answer = await shop.world
    .rpc<{ value: { amount: string } }>('getTokenAccountBalance', [account, { commitment: 'processed' }])
    .catch(() => undefined)
  return BigInt(answer?.value.amount ?? 0)
}
const nativeOf = (owner: string): Promise<bigint> => balanceOf(owner, shop.world.native)
/** Until nothing is under way and nobody waits to be paid, with the chain moving on as it does. */
const untilDone = async (): Promise<void> => {
  const { rewards, outgoing } = ledgerOf()
  const isDone = async (): Promise<boolean> => {
    await money.run()
    shop.world.localnet.advanceSlots(40)
    const left = [...(await outgoing.open()), ...(await rewards.due(500_000_000n, 10))]
    return left.length + (await rewards.countAccruable()) === 0
  }
  await expect.poll(isDone, { timeout: 20_000, interval: 40 }).toBe(true)
}
/** Until the watcher has seen a payment. */
const untilSeen = async (tx: string): Promise<void> => {
  await expect.poll(() => ledgerOf().books.history(bytesOf(tx)), { timeout: 10_000, interval: 20 }).toBeDefined()
}
/** A payment that names nothing. */
const payUnmatched = async (units: bigint): Promise<string> => {
  const { world, payer } = shop
  const tx = await world.send([await world.transfer(payer, world.recipient.address, 'USDC', units)], payer)
  world.localnet.advanceSlots(40)
  await untilSeen(tx)
  return tx
}
const refund = async (tx: string, changes: Partial<RefundParts> = {}, wish: RefundWish = {}) => {
  const { refunds } = money
  if (!refunds) throw new Error('nobody sends back')
  return planRefund({ ...refunds, ...changes }, bytesOf(tx), wish)
}
/** What a refund that was just planned is about. */
const planned = (planning: RefundPlanning) =>
  planning.kind === 'planned' ? parseRefund(planning.transaction.about) : expect.fail(planning.kind)

const auditNow = () => {
  const { payouts } = money
  if (!payouts) throw new Error('nobody pays')
  const { native, usdc } = shop.world
  const { chain, pseudonyms } = house.service
  return auditRewards({
    ...payouts,
    chain,
    books: house.service.ledger.books,
    rateJournal: house.service.ledger.rates,
    reportToken: 'USDC',
    nameOf: (wallet) => pseudonyms.wallet(wallet),
    native,
    assetOf: (token) =>
      new Map([
        ['SOL', 'SOL'],
        ['USDC', usdc.address],
        ['NATIVE', native.address],
      ]).get(token),
  })
}

describe('rewards', () => {
  it('are paid on chain in NATIVE, to the base unit, and those without an account pay for it', async () => {
    const before = await nativeOf(shop.payer.address)
    await buy()
    await untilDone()
    // 100 USDC at 0.1 are 1,000 NATIVE: 85 percent, 1 percent, and 14 percent by 2 : 1 : 1.
    const opening = 2_039_280n * 1_500n
    expect(await nativeOf(wallets.partner)).toBe(850_000_000_000n)
    expect((await nativeOf(shop.payer.address)) - before).toBe(10_000_000_000n)
    expect(await nativeOf(wallets.treasury)).toBe(70_000_000_000n - opening)
    expect(await nativeOf(wallets.buyback)).toBe(35_000_000_000n - opening)
    expect(await nativeOf(wallets.incentives)).toBe(35_000_000_000n - opening)
  })

  it('rise with the spending of a payer within seven days', async () => {
    const before = await nativeOf(shop.payer.address)
    await buy()
    await untilDone()
    expect((await nativeOf(shop.payer.address)) - before).toBe(50_000_000_000n)
    expect(await ledgerOf().rewards.due(1n, 10)).toEqual([])
  })

  it('agree with the chain when everything is reckoned anew', async () => {
    const audit = await auditNow()
    expect(audit).toEqual({ accruals: 2, payouts: 2, refunded: [], problems: [], unknown: [] })
  })
})

describe('a refund', () => {
  it('returns an unmatched payment once, for any number of requests', async () => {
    const { world, payer } = shop
    const instruction = await world.transfer(payer, world.recipient.address, 'USDC', 3_000_000n)
    const tx = await world.send([instruction], payer)
    world.localnet.advanceSlots(40)
    await untilSeen(tx)
    const before = await balanceOf(payer.address, world.usdc)
    const plannings = await Promise.all([refund(tx), refund(tx)])
    expect(plannings.map(({ kind }) => kind).toSorted()).toEqual(['known', 'planned'])
    await untilDone()
    expect((await balanceOf(payer.address, world.usdc)) - before).toBe(3_000_000n)
    expect(await refund(tx)).toMatchObject({ kind: 'known', transaction: { state: 'landed' } })
    await untilDone()
    expect((await balanceOf(payer.address, world.usdc)) - before).toBe(3_000_000n)
  })

  it('waits while the payer can claim it, and is refused once it was delivered', async () => {
    const { tx, proof } = await house.pay(shop.payer)
    shop.world.localnet.advanceSlots(40)
    await untilSeen(tx)
    expect(await refund(tx)).toEqual({
      kind: 'refused',
      why: expect.stringContaining('the payer can still claim the payment'),
    })
    expect((await house.claim(proof)).status).toBe(200)
    await untilDelivered(tx)
    expect(await refund(tx)).toEqual({ kind: 'refused', why: 'the paid resource was delivered' })
  })

  it('of a delivered payment is sent once on request, and its shares stay', async () => {
    const { payer, world } = shop
    const { tx, proof } = await house.pay(payer)
    world.localnet.advanceSlots(40)
    expect((await house.claim(proof)).status).toBe(200)
    await untilDelivered(tx)
    await untilDone()
    const { rewards, outgoing } = ledgerOf()
    const readShared = async () => (await rewards.shared([bytesOf(tx)]))[0]
    const shared = await readShared()
    expect(shared?.units).toBeGreaterThan(0n)
    const before = await balanceOf(payer.address, world.usdc)
    const evenDelivered = true
    const plannings = await Promise.all([refund(tx, {}, { evenDelivered }), refund(tx, {}, { evenDelivered })])
    expect(plannings.map(({ kind }) => kind).toSorted()).toEqual(['known', 'planned'])
    await untilDone()
    expect(await refund(tx, {}, { evenDelivered })).toMatchObject({ kind: 'known', transaction: { state: 'landed' } })
    expect(await refund(tx)).toMatchObject({ kind: 'known' })
    await untilDone()
    expect((await balanceOf(payer.address, world.usdc)) - before).toBe(100_000_000n)
    expect(await codeOf(await house.claim(proof))).toBe('409 payment_replay')
    // Both stand, and the audits say so.
    expect(await readShared()).toEqual(shared)
    expect(await ledgerOf().books.audit()).toEqual([])
    expect(await rewards.audit()).toEqual([])
    const landed = await outgoing.findByLockKey(formatRefundLockKey(tx))
    expect(parseRefund(landed?.about ?? '')).toMatchObject({ reason: 'delivered', units: 100_000_000n })
    const audit = await auditNow()
    expect(audit.problems).toEqual([])
    expect(audit.refunded).toEqual([
      expect.stringMatching(`payment ${tx}\\): 100000000 USDC were refunded, \\d+ NATIVE stay shared`),
    ])
  })

  it('is possible for an unclaimed payment that could still be claimed, and the payment then buys nothing', async () => {
    const { payer, world } = shop
    const { tx, proof } = await house.pay(payer)
    world.localnet.advanceSlots(40)
    await untilSeen(tx)
    world.localnet.advance(601)
    const before = await balanceOf(payer.address, world.usdc)
    const planning = await eventually(
      () => refund(tx),
      ({ kind }) => kind === 'planned',
    )
    expect(planned(planning)).toMatchObject({ reason: 'unclaimed' })
    expect(await codeOf(await house.claim(proof))).toBe('409 payment_replay')
    await untilDone()
    expect((await balanceOf(payer.address, world.usdc)) - before).toBe(100_000_000n)
  })

  it('is not made of a payment that names two requests and can be claimed by one of them', async () => {
    const { world, payer } = shop
    const ledger = join(shop.directory, 'rewards.sqlite')
    const dear = await openHouse(shop, { ledger, price: 1_000, watch: true, endpoint: '/dear' })
    const [expensive, cheap] = [await dear.challenge(), await house.challenge()]
    const instruction = await world.transfer(payer, world.recipient.address, 'USDC', 100_000_000n)
    const tx = await world.send([memo(expensive.requestId), memo(cheap.requestId), instruction], payer)
    world.localnet.advanceSlots(40)
    await untilSeen(tx)
    expect(await refund(tx)).toEqual({
      kind: 'refused',
      why: expect.stringContaining('the payer can still claim the payment'),
    })
    expect((await house.claim(proofOf(tx, cheap, payer))).status).toBe(200)
    await untilDelivered(tx)
    await dear.close()
  })

  it('returns only the amount of each sender in the same transaction', async () => {
    const { world, payer } = shop
    const first = await world.transfer(payer, world.recipient.address, 'USDC', 1_000n)
    const others = await world.transfer(refundFrom, world.recipient.address, 'USDC', 5_000_000n)
    const tx = await world.send([first, others], payer)
    world.localnet.advanceSlots(40)
    await untilSeen(tx)
    expect(planned(await refund(tx))).toMatchObject({ reason: 'unmatched', units: 1_000n })
    await untilDone()
  })

  it('opens no account that costs more than the refund', async () => {
    const { world } = shop
    const poor = await createKeyPairSignerFromBytes(newBytes())
    await world.localnet.fund(poor.address, { SOL: 10n ** 9n, USDC: 1_000n })
    const dust = await world.transfer(poor, world.recipient.address, 'USDC', 1_000n)
    const account = address(await world.tokenAccount(poor.address, world.usdc))
    const closing = getCloseAccountInstruction({ account, destination: poor.address, owner: poor })
    const tx = await world.send([dust, closing], poor)
    world.localnet.advanceSlots(40)
    await untilSeen(tx)
    const planning = await refund(tx)
    if (planning.kind !== 'planned') expect.fail(planning.kind)
    await untilDone()
    const why = expect.stringContaining('opening one costs more')
    expect(await ledgerOf().outgoing.get(planning.transaction.id)).toMatchObject({ state: 'dropped', why })
  })

  it('ignores conversions of the recipient itself', async () => {
    const { world, payer } = shop
    const { recipient } = world
    await world.localnet.fund(recipient.address, { SOL: 10n ** 9n })
    const sold = await world.transfer(recipient, payer.address, 'SOL', 1_000_000n)
    const bought = await world.transfer(payer, recipient.address, 'USDC', 2_000_000n)
    const tx = await world.send([sold, bought], recipient)
    const after = await world.send([await world.transfer(payer, recipient.address, 'USDC', 2_000n)], payer)
    world.localnet.advanceSlots(40)
    await untilSeen(after)
    expect(await refund(tx)).toEqual({ kind: 'unknown' })
  })

  it('leaves no grant for a refunded payment, even with a valid proof', async () => {
    const { tx, proof } = await house.pay(shop.payer)
    shop.world.localnet.advanceSlots(40)
    await untilSeen(tx)
    // Who takes a payment for unclaimed may be wrong about how long its proof is good.
    const { clock } = house.service
    const later = { ...clock, now: () => clock.now() + 40 * 86_400_000 }
    expect(planned(await refund(tx, { clock: later }))).toMatchObject({ reason: 'unclaimed' })
    expect((await house.claim(proof)).status).toBe(409)
    await untilDone()
    expect((await house.claim(proof)).status).toBe(409)
    expect(await refund(tx)).toMatchObject({ kind: 'known', transaction: { state: 'landed' } })
  })

  it('is refused while all that goes out is paused, and one that is only planned waits', async () => {
    const { kv } = house.service.ledger
    const pause = createPauseSwitch(kv ?? expect.fail(), house.service.clock)
    const [first, second] = [await payUnmatched(4_000_000n), await payUnmatched(5_000_000n)]
    await pause.pause()
    expect((await refund(first, { isPaused: async () => false })).kind).toBe('planned')
    expect(await refund(second)).toEqual({ kind: 'refused', why: expect.stringContaining('rewards resume') })
    expect((await refund(first)).kind).toBe('known')
    for (let turn = 0; turn < 3; turn += 1) await money.run()
    expect(await ledgerOf().outgoing.findByLockKey(formatRefundLockKey(first))).toMatchObject({
      state: 'planned',
      attempts: 0,
    })
    await pause.resume()
    expect((await refund(second)).kind).toBe('planned')
    await untilDone()
    for (const tx of [first, second])
      expect(await ledgerOf().outgoing.findByLockKey(formatRefundLockKey(tx))).toMatchObject({ state: 'landed' })
  })

  it('knows no payment that was never seen', async () => {
    expect(await refund(encodeBase58(new Uint8Array(64).fill(7)))).toEqual({ kind: 'unknown' })
  })
})
