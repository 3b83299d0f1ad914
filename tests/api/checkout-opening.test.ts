/** The first purchase from a new seller, whose wallet has no token account yet. */
import type { KeyPairSigner } from '@solana/kit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newSigner } from '../harness/localnet-fixture.ts'
import { signDraft } from '../harness/purchase.ts'
import { createShopFixture, type ShopFixture } from '../harness/shop-fixture.ts'
import { createVisitor } from '../harness/visitor.ts'

let fixture: ShopFixture
beforeAll(async () => {
  fixture = await createShopFixture()
})
afterAll(() => fixture.close())

async function visitNewSeller() {
  const recipient = await newSigner()
  const shop = await fixture.open({ recipient: recipient.address, acceptedMints: ['USDC', 'NATIVE'], watch: true })
  const visitor = createVisitor(shop.url)
  return { recipient, visitor, requestId: (await visitor.go()).facts().requestId }
}

async function readUnits({ address }: KeyPairSigner, token: 'USDC' | 'NATIVE'): Promise<bigint> {
  const { world } = fixture
  const account = await world.tokenAccount(address, token === 'USDC' ? world.usdc : world.native)
  const config = { commitment: 'confirmed' }
  const { value } = await world.rpc<{ value: { amount: string } }>('getTokenAccountBalance', [account, config])
  return BigInt(value.amount)
}

describe('the checkout page of a new seller', () => {
  it.each(['USDC', 'NATIVE'] as const)('sells for %s: the first payment opens the token account', async (token) => {
    const { recipient, visitor, requestId } = await visitNewSeller()
    const draft = await visitor.prepare(requestId, fixture.payer.address, token)
    expect(await visitor.submit(requestId, await signDraft(draft, fixture.payer))).toMatchObject({ kind: 'sent' })
    await visitor.until(requestId, 'paid')
    expect((await visitor.go()).text).toBe('the secret')
    expect(await readUnits(recipient, token)).toBeGreaterThan(0n)
  })

  it('sells again after its account exists, also with a draft from before', async () => {
    const { recipient, visitor, requestId } = await visitNewSeller()
    const draft = await visitor.prepare(requestId, fixture.payer.address)
    await fixture.world.localnet.fund(recipient.address, { USDC: 0n })
    expect(await visitor.submit(requestId, await signDraft(draft, fixture.payer))).toMatchObject({ kind: 'sent' })
    await visitor.until(requestId, 'paid')
    expect((await visitor.go()).text).toBe('the secret')
  })

  it('names the SOL that a payer lacks for the rent, and accepts a payer with exactly this amount', async () => {
    const poor = await newSigner()
    await fixture.world.localnet.fund(poor.address, { SOL: 2_900_000n, USDC: 1_000_000n })
    const { visitor, requestId } = await visitNewSeller()
    const short = { kind: 'short', token: 'SOL', has: '0.0029', needs: '0.00294516' }
    expect(await visitor.prepare(requestId, poor.address)).toEqual(short)
    await fixture.world.localnet.fund(poor.address, { SOL: 45_160n })
    const draft = await visitor.prepare(requestId, poor.address)
    expect(await visitor.submit(requestId, await signDraft(draft, poor))).toMatchObject({ kind: 'sent' })
  })
})
