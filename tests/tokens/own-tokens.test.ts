/** Tokens of the provider's own, from the challenge to the refund, on every store. */
import { join } from 'node:path'
import { createKeyPairSignerFromPrivateKeyBytes, type KeyPairSigner } from '@solana/kit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readRoutesConfig } from '../../src/api/options.ts'
import { fetchWith402 } from '../../src/client/index.ts'
import { createMemoryJournal } from '../../src/client/journal/journal.ts'
import { startPayoutWorkers } from '../../src/compose/payouts.ts'
import { decodeAddress, decodeSignature } from '../../src/core/encoding/base58.ts'
import { formatUnits } from '../../src/core/money/money.ts'
import { type Mint, splTokenProgram, token2022Program } from '../../src/core/money/tokens.ts'
import type { Challenge } from '../../src/core/protocol/challenge.ts'
import { planRefund } from '../../src/workers/payouts/refunds.ts'
import { openHouse } from '../api/api-fixture.ts'
import { cells } from '../harness/length.ts'
import { memo, proofOf } from '../harness/localnet-fixture.ts'
import { createMint, extensions, mintTo, move } from '../harness/mint.ts'
import { createShopFixture, expectRefused, expectServed, type ShopFixture } from '../harness/shop-fixture.ts'
import { stores } from '../ledger/stores.ts'

let shop: ShopFixture
let issuer: KeyPairSigner
const mints: Record<string, Mint> = {}

beforeAll(async () => {
  shop = await createShopFixture()
  const { world, payer } = shop
  issuer = await world.person()
  mints['EURC'] = await createMint(world, issuer, { tokenProgram: splTokenProgram, decimals: 6 })
  mints['GOLD9'] = await createMint(world, issuer, { tokenProgram: token2022Program, decimals: 9 })
  for (const mint of Object.values(mints))
    await mintTo(world, mint, issuer, { [payer.address]: 10n ** 15n, [world.recipient.address]: 0n })
})
afterAll(() => shop.close())

function mintOf(code: string): Mint {
  const mint = mints[code]
  if (!mint) throw new Error(`there is no ${code}`)
  return mint
}

function optionOf(code: string) {
  const { address, decimals, tokenProgram } = mintOf(code)
  return { [code]: { mint: address, decimals, tokenProgram } }
}

// A price of 1 USDC, in tokens that are worth 1.25 and 2000 USDC.
const priced = [
  ['EURC', '1.25', '0.8'],
  ['GOLD9', '2000', '0.0005'],
] as const

describe.each(stores.map(([name, open], row) => [name, open, row] as const))(
  'with the %s ledger',
  (_name, open, row) => {
    it.each(cells(priced, 2, row))(
      '%s is quoted, paid, booked, refunded, and stays claimable when it is removed',
      async (code, rate, amount) => {
        const { world, payer } = shop
        const { localnet } = world
        const kv = await open({ now: () => localnet.now(), monotonic: () => performance.now() })
        shop.defer(() => kv.clear())
        const { ledger } = kv
        const mint = mintOf(code)
        const common = { ledger, price: 1, finalizedFrom: 1_000, waitSeconds: 5 }
        const sells = { ...common, acceptedMints: ['USDC', code], tokens: optionOf(code), rates: { [code]: rate } }
        const house = await openHouse(shop, sells)

        const challenge = await house.challenge()
        expect(challenge).toMatchObject({
          ...{ amount: '1', currency: 'USDC', acceptedMints: ['USDC', code] },
          amounts: { USDC: '1', [code]: amount },
          mints: { [code]: mint },
        })

        const client = { wallet: payer, rpc: localnet.rpcUrl, journal: createMemoryJournal(), timeoutMs: 10_000 }
        const limits = { tokens: [code], mints: { [code]: mint }, maxPrice: { [code]: 1 } }
        const refused = (more: object) => fetchWith402(`${house.url}/data`, { ...client, ...limits, ...more })
        await expect(refused({ mints: undefined })).rejects.toMatchObject({ code: 'mint_not_allowed' })
        await expect(refused({ mints: { [code]: world.native } })).rejects.toMatchObject({ code: 'mint_not_allowed' })
        await expect(refused({ maxPrice: undefined })).rejects.toMatchObject({ code: 'price_too_high' })
        await expect(refused({ maxPrice: { [code]: '0.0001' } })).rejects.toMatchObject({ code: 'price_too_high' })
        await expectServed(fetchWith402(`${house.url}/data`, { ...client, ...limits }))

        // Paid while it is sold, claimed when it is not.
        const units = (10n ** BigInt(mint.decimals) * BigInt(Number(amount) * 10_000)) / 10_000n
        const pay = async () => {
          const late = await house.challenge()
          const transfer = await move(world, mint, payer, world.recipient.address, units)
          const tx = await world.send([memo(late.requestId), transfer], payer)
          return { tx, proof: proofOf(tx, late, payer) }
        }
        const [served, failed] = [await pay(), await pay()]
        await house.close()
        const after = await openHouse(shop, common)
        expect((await after.challenge()).acceptedMints).toEqual(['USDC'])
        await expectServed(after.claim(served.proof))
        after.fail(true)
        expect((await after.claim(failed.proof)).status).toBe(500)

        const json = async (path: string) => (await after.get(path)).json()
        const [twice, thrice] = [2n, 3n].map((times) => formatUnits(units * times, mint.decimals))
        expect(await json('/api/analytics')).toMatchObject({
          ...{ totalRevenue: '3', payments: 3, unvalued: 0 },
          currencyBreakdown: { NATIVE: '0', USDC: '0', SOL: '0', [code]: thrice },
        })
        expect((await json(`/analytics?token=${code}`)).records).toMatchObject([
          { token: code, amount, worth: '1' },
          { token: code, amount, worth: '1' },
          { token: code, amount, worth: '1' },
        ])
        const { tokens } = await json('/analytics?view=tokens')
        expect(tokens).toContainEqual(
          expect.objectContaining({ token: code, payments: 3, received: thrice, share: '1' }),
        )
        expect(await ledger.books.audit()).toEqual([])

        localnet.advanceSlots(40)
        const secret = crypto.getRandomValues(new Uint8Array(32))
        const refunder = await createKeyPairSignerFromPrivateKeyBytes(secret)
        await localnet.fund(refunder.address, { SOL: 10n ** 9n })
        await mintTo(world, mint, issuer, { [refunder.address]: 10n ** 12n })
        const refundKey = new Uint8Array([...secret, ...(decodeAddress(refunder.address) ?? [])])
        const config = readRoutesConfig({ network: 'localnet', rpc: localnet.rpcUrl, ledger, refundKey }, {})
        const money = await startPayoutWorkers(after.service, config)
        const { refunds } = money
        if (!refunds) throw new Error('no refunds')
        expect((await planRefund(refunds, decodeSignature(failed.tx) ?? new Uint8Array())).kind).toBe('planned')
        const isDone = async (): Promise<boolean> => {
          await money.run()
          localnet.advanceSlots(40)
          return (await ledger.outgoing.open()).length === 0
        }
        await expect.poll(isDone).toBe(true)
        expect(await json('/api/analytics')).toMatchObject({ currencyBreakdown: { [code]: twice }, totalRevenue: '2' })
        expect(await ledger.books.audit()).toEqual([])
        await money.stop()
        await after.close()
      },
    )
  },
)

describe('a token that the chain contradicts is not offered', () => {
  it.each([
    ['other decimals', () => ({ mint: mintOf('EURC').address, decimals: 9 }), 'has 6 decimals, not 9'],
    ['the other token program', () => ({ mint: mintOf('GOLD9').address, decimals: 9 }), 'set tokenProgram to that'],
    ['an address that is not a mint', () => ({ mint: shop.payer.address, decimals: 6 }), 'belongs to the program 1111'],
    [
      'an unused address',
      () => ({ mint: 'Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB', decimals: 6 }),
      'does not exist',
    ],
  ])('%s', async (_what, read, why) => {
    const options = { acceptedMints: ['USDC', 'EURC'], tokens: { EURC: read() }, rates: { EURC: 1 } }
    const { readiness, challenge } = await shop.open(options)
    expect((await readiness()).withheld).toEqual({ EURC: expect.stringMatching(/^tokens\.EURC: /) })
    expect((await readiness()).withheld).toEqual({ EURC: expect.stringContaining(why) })
    expect((await challenge()).acceptedMints).toEqual(['USDC'])
  })

  it.each([
    ['runs foreign code at every transfer', 'transferHook'],
    ['has a permanent delegate', 'permanentDelegate'],
    ['takes the whole price as its fee', undefined],
    ['cannot be transferred', undefined],
  ] as const)('a mint of Token-2022 that %s, unless that is allowed', async (what, trait) => {
    const { world } = shop
    const { address } = issuer
    const hostile = {
      'runs foreign code at every transfer': extensions.transferHook(world.native.address, address),
      'has a permanent delegate': extensions.permanentDelegate(address),
      'takes the whole price as its fee': extensions.transferFee(10_000, address, 2n ** 64n - 1n),
      'cannot be transferred': extensions.nonTransferable(),
    }
    const { address: mint } = await createMint(world, issuer, { extensions: [hostile[what]] })
    const open = (more: object = {}) => {
      const EURC = { mint, decimals: 6, tokenProgram: token2022Program, ...more }
      // A ledger of its own, because a code has one mint for good.
      const ledger = `sqlite:${join(shop.directory, `${crypto.randomUUID()}.sqlite`)}`
      return shop.open({ ledger, acceptedMints: ['USDC', 'EURC'], tokens: { EURC }, rates: { EURC: 1 } })
    }
    const { readiness, challenge } = await open()
    expect((await readiness()).withheld).toEqual({ EURC: expect.stringMatching(/^tokens\.EURC: /) })
    expect((await challenge()).acceptedMints).toEqual(['USDC'])
    if (trait === undefined) return
    expect((await (await open({ allow: [trait] })).challenge()).acceptedMints).toEqual(['USDC', 'EURC'])
  })

  it('without a look at the chain, the ledger still binds the code', async () => {
    const kv = await stores[1]?.[1]({ now: () => shop.world.localnet.now(), monotonic: () => performance.now() })
    if (!kv) throw new Error('there is no store')
    shop.defer(() => kv.clear())
    const common = { ledger: kv.ledger, acceptedMints: ['USDC', 'EURC'], rates: { EURC: 1 }, verifyOnChain: false }
    const first = await shop.open({ ...common, tokens: optionOf('EURC') })
    expect((await first.challenge()).acceptedMints).toEqual(['USDC', 'EURC'])
    await first.close()
    const { readiness, challenge } = await shop.open({
      ...common,
      tokens: { EURC: { mint: mintOf('EURC').address, decimals: 9 } },
    })
    expect((await readiness()).withheld).toEqual({ EURC: expect.stringContaining('choose another code') })
    expect((await challenge()).acceptedMints).toEqual(['USDC'])
  })

  it('another mint under a code of the ledger', async () => {
    const kv = await stores[1]?.[1]({ now: () => shop.world.localnet.now(), monotonic: () => performance.now() })
    if (!kv) throw new Error('there is no store')
    shop.defer(() => kv.clear())
    const common = { ledger: kv.ledger, acceptedMints: ['USDC', 'EURC'], rates: { EURC: 1 } }
    const first = await shop.open({ ...common, tokens: optionOf('EURC') })
    const quoted = [await first.challenge(), await first.challenge()] as const
    await first.close()
    const other = { EURC: { mint: mintOf('GOLD9').address, decimals: 9, tokenProgram: token2022Program } }
    const { readiness, challenge, claim } = await shop.open({ ...common, tokens: other })
    expect((await readiness()).withheld).toEqual({ EURC: expect.stringContaining('choose another code') })
    expect((await challenge()).acceptedMints).toEqual(['USDC'])

    // The quotes of the time before still ask for the first mint.
    const { world, payer } = shop
    const pay = async (asked: Challenge, code: string) => {
      const transfer = await move(world, mintOf(code), payer, world.recipient.address, 10n ** 12n)
      return proofOf(await world.send([memo(asked.requestId), transfer], payer), asked, payer)
    }
    await expectRefused(claim(await pay(quoted[0], 'GOLD9')), 'wrong_mint')
    await expectServed(claim(await pay(quoted[1], 'EURC')))
    expect(await kv.ledger.books.audit()).toEqual([])
  })
})
