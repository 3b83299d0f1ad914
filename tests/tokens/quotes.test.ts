/** What the quote says of tokens that take a fee, and of wallets that cannot receive little. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Mint } from '../../src/core/money/tokens.ts'
import { memo, newSigner, proofOf } from '../harness/localnet-fixture.ts'
import { createMint, extensions, mintTo, move } from '../harness/mint.ts'
import { createShopFixture, expectRefused, expectServed, type ShopFixture } from '../harness/shop-fixture.ts'

let fixture: ShopFixture
let mint: Mint
beforeAll(async () => {
  fixture = await createShopFixture()
  const issuer = await fixture.world.person()
  mint = await createMint(fixture.world, issuer, { extensions: [extensions.transferFee(100, issuer.address)] })
  await mintTo(fixture.world, mint, issuer, {
    [fixture.payer.address]: 1_000_000_000n,
    [fixture.world.recipient.address]: 0n,
  })
})
afterAll(() => fixture.close())

it('T33: the quote tells the gross amount, the seal wants the net one, and nothing less', async () => {
  const { world, payer } = fixture
  const shop = await fixture.open({ price: 1, token: 'NATIVE', mints: { NATIVE: mint }, finalizedFrom: 100 })
  const buy = async (units: bigint) => {
    const challenge = await shop.challenge()
    expect(challenge).toMatchObject({ amount: '1.010102', currency: 'NATIVE', amounts: { NATIVE: '1.010102' } })
    const transfer = await move(world, mint, payer, world.recipient.address, units)
    return proofOf(await world.send([memo(challenge.requestId), transfer], payer), challenge, payer)
  }
  await expectServed(shop.claim(await buy(1_010_102n)))
  await expectRefused(shop.claim(await buy(1_010_101n)), 'underpaid')
  await expectRefused(shop.claim(await buy(1_000_000n)), 'underpaid')
})

it('SOL is left out of a quote that is too small to open an empty wallet, and is in a larger one', async () => {
  const empty = await newSigner()
  const shop = await fixture.open({
    price: ({ query }) => (query('large') !== undefined ? 1 : 0.01),
    acceptedMints: ['USDC', 'SOL'],
    recipient: empty.address,
  })
  expect((await shop.challenge('/data')).acceptedMints).toEqual(['USDC'])
  expect((await shop.challenge('/data?large')).acceptedMints).toEqual(['USDC', 'SOL'])
})
