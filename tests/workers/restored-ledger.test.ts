/** A ledger that was restored from a backup does not pay again what was paid after the backup. */
import { generateKeyPairSync } from 'node:crypto'
import { copyFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { readRoutesConfig } from '../../src/api/options.ts'
import { createWalletCheckParts, type OpenPayouts, startPayoutWorkers } from '../../src/compose/payouts.ts'
import { decodeAddress, decodeSignature, encodeBase58 } from '../../src/core/encoding/base58.ts'
import type { Mint, TokenCode } from '../../src/core/money/tokens.ts'
import { formatRefundLockKey } from '../../src/core/payouts/refunds.ts'
import { adoptTransaction, dropPlanned, type Receipt } from '../../src/workers/payouts/adopt.ts'
import { planRefund } from '../../src/workers/payouts/refunds.ts'
import { createWalletCheck } from '../../src/workers/payouts/unknown-transactions.ts'
import { type House, openHouse } from '../api/api-fixture.ts'
import { newSigner } from '../harness/localnet-fixture.ts'
import { createShopFixture, type ShopFixture } from '../harness/shop-fixture.ts'

let shop: ShopFixture
let ledger: string
let wallets: Readonly<Record<'partner' | 'treasury' | 'buyback' | 'incentives', string>>
const [payoutKey, refundKey] = [newBytes(), newBytes()]
let running: Running | undefined

function newBytes(): Uint8Array {
  const { d = '', x = '' } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' })
  return new Uint8Array([...Buffer.from(d, 'base64url'), ...Buffer.from(x, 'base64url')])
}
const addressOf = (key: Uint8Array) => encodeBase58(key.subarray(32))
const bytesOf = (tx: string) => decodeSignature(tx) ?? new Uint8Array(64)

beforeAll(async () => {
  shop = await createShopFixture()
  const { localnet } = shop.world
  ledger = join(shop.directory, 'restored.sqlite')
  await localnet.fund(addressOf(payoutKey), { SOL: 10n ** 9n, NATIVE: 10n ** 14n })
  await localnet.fund(addressOf(refundKey), { SOL: 10n ** 9n, USDC: 10n ** 10n, NATIVE: 10n ** 13n })
  const fresh = async () => {
    const { address } = await newSigner()
    await localnet.fund(address, { NATIVE: 0n })
    return address
  }
  wallets = { partner: await fresh(), treasury: await fresh(), buyback: await fresh(), incentives: await fresh() }
})
afterEach(() => running?.close())
afterAll(() => shop.close())

interface Running {
  readonly house: House
  readonly money: OpenPayouts
  close(): Promise<void>
}

/** A process of the service. Without keys it accrues, and sends nothing. */
async function start(hasKeys = true, hasPayoutKey = hasKeys): Promise<Running> {
  const { treasury, buyback, incentives, partner } = wallets
  const { localnet, recipient } = shop.world
  const house = await openHouse(shop, { ledger, price: 100, watch: true, acceptedMints: ['USDC', 'NATIVE'] })
  const rewards = {
    collector: recipient.address,
    cashback: { 0: 1 },
    treasury: { wallet: treasury, weight: 2 },
    buyback: { wallet: buyback, weight: 1 },
    incentives: { wallet: incentives, weight: 1 },
    partners: [{ name: 'acme', wallet: partner, share: 85, endpoints: ['/data'] }],
    threshold: '0.5',
    everySeconds: 1,
    ...(hasPayoutKey && { key: payoutKey }),
  }
  const options = { network: 'localnet' as const, rpc: localnet.rpcUrl, ledger, ...(hasKeys && { refundKey }) }
  const money = await startPayoutWorkers(house.service, readRoutesConfig({ ...options, rewards }, {}))
  await money.run()
  running = {
    house,
    money,
    close: async () => {
      running = undefined
      await money.stop()
      await house.close()
    },
  }
  return running
}

async function buy({ house }: Running): Promise<void> {
  const { tx, proof } = await house.pay(shop.payer)
  shop.world.localnet.advanceSlots(40)
  expect((await house.claim(proof)).status).toBe(200)
  const delivery = async () => (await house.service.ledger.books?.findPayment(bytesOf(tx)))?.delivery
  await expect.poll(delivery, { timeout: 10_000, interval: 20 }).toBe('all')
}

/** Lets the worker and the chain run for several turns, until the condition holds. */
async function turn({ money }: Running, isDone: () => Promise<boolean>): Promise<void> {
  const step = async () => {
    await money.run()
    shop.world.localnet.advanceSlots(40)
    return isDone()
  }
  await expect.poll(step, { timeout: 20_000, interval: 20 }).toBe(true)
}
const isAccrued = (one: Running) => async () => (await one.house.service.ledger.rewards.countAccruable()) === 0
const isPaid = (one: Running) => async () => {
  const { rewards, outgoing } = one.house.service.ledger
  const left = [...(await outgoing.open()), ...(await rewards.due(500_000_000n, 10))]
  return left.length + (await rewards.countAccruable()) === 0
}
const balanceOf = async (owner: string, mint: Mint): Promise<bigint> => {
  const account = await shop.world.tokenAccount(owner, mint)
  const answer = await shop.world.rpc<{ value: { amount: string } }>('getTokenAccountBalance', [
    account,
    { commitment: 'processed' },
  ])
  return BigInt(answer.value.amount)
}
const nativeOf = (owner: string) => balanceOf(owner, shop.world.native)
const errors = () => shop.logged.filter((line) => line.includes('outgoing.unknown'))

const backUp = () => {
  const db = new DatabaseSync(ledger)
  rmSync(`${ledger}.backup`, { force: true })
  db.exec(`VACUUM INTO '${ledger}.backup'`)
  db.close()
}
const restore = () => {
  for (const end of ['', '-wal', '-shm']) rmSync(`${ledger}${end}`, { force: true })
  copyFileSync(`${ledger}.backup`, ledger)
}

/** A payment that names nothing, as the watcher has seen it. */
async function payUnmatched({ house }: Running, token: 'USDC' | 'NATIVE', units: bigint): Promise<string> {
  const { world, payer } = shop
  const tx = await world.send([await world.transfer(payer, world.recipient.address, token, units)], payer)
  world.localnet.advanceSlots(40)
  const seen = () => house.service.ledger.books.history(bytesOf(tx))
  await expect.poll(seen, { timeout: 10_000, interval: 20 }).toBeDefined()
  return tx
}
const refund = async ({ money }: Running, tx: string) => {
  if (!money.refunds) throw new Error('this process sends no refunds')
  return (await planRefund(money.refunds, bytesOf(tx))).kind
}
/** Takes everything over that the ledger does not know, as the command does. */
async function adopt({ house }: Running) {
  const { service } = house
  const { outgoing, rewards, books, kv } = service.ledger
  const { chain, sealer, clock, pseudonyms } = service
  const { native, usdc } = shop.world
  const nameOf = (wallet: Uint8Array) => pseudonyms.wallet(wallet)
  const tokenOf = (asset: string): TokenCode | undefined =>
    asset === native.address ? 'NATIVE' : asset === usdc.address ? 'USDC' : undefined
  const parts = { outgoing, rewards, books, kv, chain, sealer, clock, nameOf, native, tokenOf }
  const receipts: Receipt[] = []
  for (const wallet of [addressOf(payoutKey), addressOf(refundKey)]) {
    const found = await createWalletCheck(createWalletCheckParts(service, wallet, false))()
    if (found.kind !== 'unknown') continue
    await dropPlanned(parts, found.transactions)
    for (const one of found.transactions) {
      const adoption = await adoptTransaction(parts, wallet, one)
      if (adoption.kind !== 'adopted') throw new Error(adoption.why)
      receipts.push(...adoption.receipts)
    }
  }
  return receipts
}

/** Nodes that list transactions without their memos. */
const omitMemos = () =>
  shop.world.localnet.faults.intercept((method, _params, answer) => {
    if (method !== 'getSignaturesForAddress' || !('result' in answer)) return answer
    return { result: (answer.result as readonly object[]).map((row) => ({ ...row, memo: null })) }
  })

describe('a restored ledger', () => {
  it('T197: does not send payouts and refunds again that were sent after the backup', async () => {
    const { payer, world } = shop
    const share = 850_000_000_000n
    const first = await start()
    await buy(first)
    await turn(first, isPaid(first))
    await first.close()
    const owing = await start(false)
    await buy(owing)
    const unmatched = await payUnmatched(owing, 'USDC', 7_000_000n)
    await turn(owing, isAccrued(owing))
    await owing.close()
    backUp()
    const second = await start()
    expect(await refund(second, unmatched)).toBe('planned')
    await turn(second, isPaid(second))
    await second.close()
    const amounts = async () => [await nativeOf(wallets.partner), await balanceOf(payer.address, world.usdc)]
    const before = await amounts()
    expect(before[0]).toBe(2n * share)
    expect(errors()).toEqual([])

    restore()
    omitMemos()
    const restored = await start()
    expect(await refund(restored, unmatched)).toBe('planned')
    const runIdly = async () => {
      for (let turns = 0; turns < 8; turns += 1) {
        await restored.money.run()
        world.localnet.advanceSlots(40)
      }
      expect(await amounts()).toEqual(before)
    }
    await runIdly()
    expect(errors()).toEqual([])
    world.localnet.faults.clear()
    await turn(restored, async () => new Set(errors()).size === 2)
    await runIdly()

    const { partner } = wallets
    const receipts = await adopt(restored)
    const native = world.native.address
    expect(receipts).toContainEqual({ owner: partner, asset: native, units: share, settled: share, cashback: 0n })
    const none = { settled: 0n, cashback: 0n }
    const refunded = {
      owner: payer.address,
      asset: world.usdc.address,
      units: 7_000_000n,
      refunded: unmatched,
      ...none,
    }
    expect(receipts).toContainEqual(refunded)
    expect(await refund(restored, unmatched)).toBe('known')
    await turn(restored, isPaid(restored))
    expect(await amounts()).toEqual(before)
    expect(await restored.house.service.ledger.rewards.audit()).toEqual([])
    await buy(restored)
    await turn(restored, isPaid(restored))
    expect(await nativeOf(partner)).toBe(3n * share)
  })

  it('T253: books a refund in NATIVE for its payment, not as cashback, and does not send it again', async () => {
    const { payer, world } = shop
    const open = async () => {
      const one = await start(true, false)
      const { rewards, outgoing } = one.house.service.ledger
      const payee = one.house.service.pseudonyms.wallet(decodeAddress(payer.address) ?? new Uint8Array())
      const readOwed = async () => (await rewards.payee({ role: 'cashback', payee }))?.owed
      const isSent = async () => (await outgoing.open()).length === 0
      return { ...one, readOwed, isSent, findRefund: (tx: string) => outgoing.findByLockKey(formatRefundLockKey(tx)) }
    }
    const owing = await start(false)
    await buy(owing)
    await turn(owing, isAccrued(owing))
    await owing.close()
    const first = await open()
    const unmatched = await payUnmatched(first, 'NATIVE', 7_000_000_000n)
    const owed = await first.readOwed()
    expect(owed).toBeGreaterThan(7_000_000_000n)
    await first.close()
    backUp()
    const second = await open()
    expect(await refund(second, unmatched)).toBe('planned')
    await turn(second, second.isSent)
    const { about } = (await second.findRefund(unmatched)) ?? {}
    await second.close()

    restore()
    const restored = await open()
    const amount = { owner: payer.address, asset: world.native.address, units: 7_000_000_000n }
    expect(await adopt(restored)).toEqual([{ ...amount, settled: 0n, cashback: 0n, refunded: unmatched }])
    expect(await restored.readOwed()).toBe(owed)
    expect(await refund(restored, unmatched)).toBe('known')
    expect(await restored.findRefund(unmatched)).toMatchObject({ kind: 'refund', state: 'landed', about })
    const { books } = restored.house.service.ledger
    expect((await books.history(bytesOf(unmatched)))?.payment.state).toBe('unclaimed')
    expect(await books.audit()).toEqual([])
  })
})
