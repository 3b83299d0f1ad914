/** Unmodified x402 clients pay the whole of a split price to the operator's collector, and the rewards pay the parts. */
import { generateKeyPairSync } from 'node:crypto'
import { join } from 'node:path'
import { generateKeyPairSigner, type KeyPairSigner } from '@solana/kit'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { formatPayment } from '../../src/api/analytics/format.ts'
import { readRoutesConfig } from '../../src/api/options.ts'
import { type OpenPayouts, startPayoutWorkers } from '../../src/compose/payouts.ts'
import { decodeSignature, encodeBase58 } from '../../src/core/encoding/base58.ts'
import { LedgerUnavailable } from '../../src/core/ports/ledger.ts'
import { parseReceipt } from '../../src/core/protocol/receipt.ts'
import { startFinality } from '../../src/workers/finality.ts'
import { auditRewards } from '../../src/workers/payouts/audit.ts'
import { type House, openHouse } from '../api/api-fixture.ts'
import { memo } from '../harness/localnet-fixture.ts'
import { createShopFixture, type ShopFixture } from '../harness/shop-fixture.ts'
import { type PaidResponse, payWithMppx, payWithX402, payWithX402V1 } from './clients.ts'

let shop: ShopFixture
let house: House
let money: OpenPayouts
/** Without SOL: the service pays the fees. */
let poor: KeyPairSigner
let [author, artist]: string[] = []
const payoutKey = newKey()

function newKey(): Uint8Array {
  const { d = '', x = '' } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' })
  return new Uint8Array([...Buffer.from(d, 'base64url'), ...Buffer.from(x, 'base64url')])
}

beforeAll(async () => {
  shop = await createShopFixture()
  const { localnet } = shop.world
  poor = await generateKeyPairSigner()
  await localnet.fund(poor.address, { USDC: 100_000_000n })
  await localnet.fund(encodeBase58(payoutKey.subarray(32)), { SOL: 10n ** 9n, NATIVE: 10n ** 13n })
  for (const { address } of await Promise.all([generateKeyPairSigner(), generateKeyPairSigner()])) {
    await localnet.fund(address, { SOL: 10_000_000n, USDC: 0n, NATIVE: 0n })
    ;[author, artist] = [address, author]
  }
  await open()
})
afterAll(async () => {
  await close()
  await shop.close()
})

const selling = () => ({
  ledger: join(shop.directory, 'collector.sqlite'),
  ...{ watch: true, waitSeconds: 5, sponsor: { minMargin: 0 }, x402: { v1: true } },
  splits: [
    { recipient: author ?? '', share: 10 },
    { recipient: artist ?? '', share: 5 },
  ],
})

/** Of 10,000 units: 8,500 for the collector, 1,000 for the author, 500 for the artist. One NATIVE is 0.1 USDC. */
async function open(): Promise<void> {
  const { ledger } = selling()
  house = await openHouse(shop, selling())
  const wallet = encodeBase58(newKey().subarray(32))
  const rest = { wallet, weight: 1 }
  const config = readRoutesConfig(
    {
      ...{ network: 'localnet', rpc: shop.world.localnet.rpcUrl, ledger },
      rewards: {
        collector: shop.world.recipient.address,
        ...{ treasury: rest, buyback: rest, incentives: rest },
        ...{ key: payoutKey, threshold: '0.004', everySeconds: 1 },
      },
    },
    {},
  )
  money = await startPayoutWorkers(house.service, config)
  await money.run()
}

async function close(): Promise<void> {
  await money?.stop()
  await house?.close()
}

const rewards = () => house.service.ledger.rewards
const balanceOf = async (owner: string, token: 'usdc' | 'native'): Promise<bigint> => {
  const account = await shop.world.tokenAccount(owner, shop.world[token])
  const config = { commitment: 'confirmed' }
  const { value } = await shop.world.rpc<{ value: { amount: string } }>('getTokenAccountBalance', [account, config])
  return BigInt(value.amount)
}
const balances = (token: 'usdc' | 'native') =>
  Promise.all([shop.world.recipient.address, author ?? '', artist ?? ''].map((wallet) => balanceOf(wallet, token)))
/** The gains of collector, author and artist in USDC. */
async function gainsOf(buy: () => Promise<unknown>): Promise<readonly bigint[]> {
  const before = await balances('usdc')
  await buy()
  return (await balances('usdc')).map((units, index) => units - (before[index] ?? 0n))
}
const accruedBy = async (payee = '') => (await rewards().payee({ role: 'split', payee }))?.accrued ?? 0n
const accrued = () => Promise.all([accruedBy(author), accruedBy(artist)])
/** All final payments are shared out. */
async function accrue(): Promise<void> {
  const { books } = house.service.ledger
  // A payment without a delivery is looked at again after seconds.
  const isDelivered = async () =>
    (await books.listPayments({ order: 'latest', most: 1 })).every(
      ({ state, delivery }) => state === 'unclaimed' || delivery === 'all',
    )
  await expect.poll(isDelivered, { interval: 10 }).toBe(true)
  shop.world.localnet.advanceSlots(40)
  const { ledger, chain, meter } = house.service
  // The service's own worker looks every five seconds.
  const finality = startFinality({ journal: ledger.journal, chain, log: shop.log, meter, onConcluded: () => {} })
  const isDone = async () => {
    await finality.run()
    await money.run()
    const { payments } = await rewards().accruable(10)
    const open = await books.listPayments({ state: 'confirmed', order: 'oldest', most: 10 })
    return payments.length + open.length + (await rewards().countAccruable())
  }
  await expect.poll(isDone, { timeout: 20_000, interval: 40 }).toBe(0)
  await finality.stop()
}
/** The accruals that a purchase adds for author and artist, in NATIVE. */
async function sharesOf(buy: () => Promise<unknown>): Promise<readonly bigint[]> {
  await accrue()
  const before = await accrued()
  await buy()
  await accrue()
  return (await accrued()).map((units, index) => units - (before[index] ?? 0n))
}
/** Such a client takes its blockhash from the chain. */
const payLegacy = () => payWithX402V1(`${house.url}/data`, { rpcUrl: shop.world.localnet.rpcUrl, signer: poor })
/** Once the service has a blockhash that the skipped slots did not outdate. */
const payer = async () => {
  const isValid = async () => {
    const blockhash = house.service.submitter.recent()?.blockhash
    const config = { commitment: 'processed' }
    const { value } = await shop.world.rpc<{ value: boolean }>('isBlockhashValid', [blockhash, config])
    return value
  }
  await expect.poll(isValid, { timeout: 10_000, interval: 20 }).toBe(true)
  return { rpcUrl: shop.world.localnet.rpcUrl, signer: poor }
}
const expectPaid = async ({ response, credentials }: PaidResponse): Promise<string> => {
  expect([response.status, await response.text()]).toEqual([200, 'the secret'])
  expect(credentials).toHaveLength(1)
  const receipt = parseReceipt(response.headers.get('payment-receipt') ?? '')
  expect(receipt).toMatchObject({ amount: '0.01', token: 'USDC' })
  return receipt?.reference ?? ''
}
const owed = [10_000_000n, 5_000_000n]
const whole = [10_000n, 0n, 0n]
const parts = [8_500n, 1_000n, 500n]

describe('T185: the share of a split wallet', () => {
  it('of an x402 payment is owed once and paid on chain, and all reports agree', async () => {
    let tx = ''
    const before = await balances('native')
    const buy = () =>
      gainsOf(async () => (tx = await expectPaid(await payWithX402(`${house.url}/data`, await payer()))))
    expect(await sharesOf(async () => expect(await buy()).toEqual(whole))).toEqual(owed)
    await expect
      .poll(async () => {
        shop.world.localnet.advanceSlots(40)
        await money.run()
        return (await balances('native')).map((units, index) => units - (before[index] ?? 0n))
      })
      .toEqual([0n, ...owed])
    const { ledger, chain, pseudonyms } = house.service
    const bytes = decodeSignature(tx) ?? new Uint8Array()
    const payment = await ledger.books.findPayment(bytes)
    if (!payment) throw new Error('the payment is not in the books')
    const [shared] = await rewards().shared([bytes])
    const decimalsOf = (token: string) => (token === 'NATIVE' ? 9 : 6)
    expect(formatPayment(payment, decimalsOf, 'USDC', { shared })).toMatchObject({
      ...{ amount: '0.01', splits: '', shared: '0.015' },
      collected: `0.001 ${author}; 0.0005 ${artist}`,
    })
    const { payouts } = money
    if (!payouts) throw new Error('nothing pays')
    const { native, usdc } = shop.world
    const audit = await auditRewards({
      ...{ ...payouts, chain, native, books: ledger.books, rateJournal: ledger.rates, reportToken: 'USDC' },
      nameOf: (wallet) => pseudonyms.wallet(wallet),
      assetOf: (token) => (token === 'USDC' ? usdc.address : undefined),
    })
    expect([audit.problems, audit.unknown]).toEqual([[], []])
    expect(await ledger.books.audit()).toEqual([])
  })

  it('of an x402 payment of version 1 is owed, too', async () => {
    const buy = async () => void (await expectPaid(await payLegacy()))
    expect(await sharesOf(async () => expect(await gainsOf(buy)).toEqual(whole))).toEqual(owed)
  })

  it('is not owed again if the payment paid it directly', async () => {
    const { world } = shop
    const native = async () => {
      const { requestId } = await house.challenge()
      const transfers = await Promise.all(
        [world.recipient.address, author ?? '', artist ?? ''].map((to, index) =>
          world.transfer(shop.payer, to, 'USDC', parts[index] ?? 0n),
        ),
      )
      const tx = await world.send([memo(requestId), ...transfers], shop.payer)
      expect((await house.claim(`tx=${tx}; requestId=${requestId}; payer=${shop.payer.address}`)).status).toBe(200)
    }
    const mpp = async () => void (await expectPaid(await payWithMppx(`${house.url}/data`, await payer())))
    for (const buy of [native, mpp])
      expect(await sharesOf(async () => expect(await gainsOf(buy)).toEqual(parts))).toEqual([0n, 0n])
  })

  it('is owed for a native payment that paid only the collector', async () => {
    const { world } = shop
    const { requestId } = await house.challenge()
    const pay = async (units: bigint) => {
      const transfer = await world.transfer(shop.payer, world.recipient.address, 'USDC', units)
      const tx = await world.send([memo(requestId), transfer], shop.payer)
      return house.claim(`tx=${tx}; requestId=${requestId}; payer=${shop.payer.address}`)
    }
    expect((await pay(9_999n)).status).toBe(403)
    expect(await sharesOf(async () => expect((await pay(10_000n)).status).toBe(200))).toEqual(owed)
  })

  it('is owed once if the ledger fails after the payment was sent, and the client repeats the credential', async () => {
    const { ledger } = house.service
    const buy = async () => {
      const take = vi.spyOn(ledger, 'take').mockRejectedValueOnce(new LedgerUnavailable('down'))
      const { response, credentials } = await payLegacy()
      take.mockRestore()
      expect(response.status).toBe(503)
      const settlement = Buffer.from(response.headers.get('x-payment-response') ?? '', 'base64').toString()
      const tx = decodeSignature(JSON.parse(settlement).transaction) ?? new Uint8Array()
      // A server that died would hold it for half a minute.
      await ledger.submissions.hold(tx, 0)
      const again = await fetch(`${house.url}/data`, { headers: { 'X-PAYMENT': credentials[0] ?? '' } })
      expect([again.status, await again.text()]).toEqual([200, 'the secret'])
    }
    expect(await sharesOf(async () => expect(await gainsOf(buy)).toEqual(whole))).toEqual(owed)
  })

  it('is owed once if the worker dies around the accrual, and another one runs beside it', async () => {
    const { rewards: port } = house.service.ledger
    const { accrue: write } = port
    const buy = async () => {
      await expectPaid(await payLegacy())
      const failing = vi.spyOn(port, 'accrue')
      failing.mockRejectedValueOnce(new LedgerUnavailable('before'))
      failing.mockImplementationOnce(async (...call) => {
        await write(...call)
        throw new LedgerUnavailable('after')
      })
      await accrue()
      expect(failing.mock.calls.length).toBeGreaterThanOrEqual(2)
      failing.mockRestore()
      await Promise.all([money.run(), money.run()])
    }
    expect(await sharesOf(buy)).toEqual(owed)
  })

  it('is owed once if the service stops before the payment is final', async () => {
    const before = await accrued()
    await expectPaid(await payLegacy())
    await close()
    await open()
    await accrue()
    await accrue()
    expect((await accrued()).map((units, index) => units - (before[index] ?? 0n))).toEqual(owed)
  })
})

it('T185: x402 is not offered where payments are not verified on chain', async () => {
  const trusting = await openHouse(shop, { ...selling(), verifyOnChain: false })
  const isOffered = async ({ url }: House) => (await fetch(`${url}/data`)).headers.has('payment-required')
  expect([await isOffered(house), await isOffered(trusting)]).toEqual([true, false])
  await trusting.close()
})

it('T185: x402 is not offered while no rewards run', async () => {
  await expect.poll(async () => (await fetch(`${house.url}/data`)).headers.has('payment-required')).toBe(true)
  await money.stop()
  const response = await fetch(`${house.url}/data`)
  expect(response.headers.has('www-authenticate')).toBe(true)
  expect(response.headers.has('payment-required')).toBe(false)
  expect(await response.json()).not.toHaveProperty('x402Version')
})

it('T185: a payment for an earlier quote is still owed after the rewards have stopped', async () => {
  await money.stop()
  await close()
  await open()
  const offered = await fetch(`${house.url}/data`)
  expect(offered.headers.has('payment-required')).toBe(true)
  const response = await payWithX402(`${house.url}/data`, {
    ...(await payer()),
    fetch: async (target, init) => {
      const request = new Request(target, init)
      if (request.headers.has('payment-signature')) await money.stop()
      return fetch(request)
    },
  })
  const tx = decodeSignature(await expectPaid(response)) ?? new Uint8Array()
  expect(await house.service.ledger.books.findPayment(tx)).toMatchObject({ isCollected: true, units: 10_000n })
})
