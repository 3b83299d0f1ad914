/** The checkout of a split price: one transaction pays every wallet, and no form is offered that could pay only one. */
import { join } from 'node:path'
import type { KeyPairSigner } from '@solana/kit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { CheckoutView } from '../../src/core/checkout/messages.ts'
import type { ProviderOptions } from '../../src/paywall/config/options.ts'
import { signedBytes } from '../attacks/checkout-hand.ts'
import { memo } from '../harness/localnet-fixture.ts'
import { payFromPhone, signDraft } from '../harness/purchase.ts'
import { createShopFixture, type ShopFixture } from '../harness/shop-fixture.ts'
import { createVisitor } from '../harness/visitor.ts'

let fixture: ShopFixture
let partner: KeyPairSigner
beforeAll(async () => {
  fixture = await createShopFixture()
  partner = await fixture.world.person()
})
afterAll(() => fixture.close())

const open = (options: Partial<ProviderOptions> = {}) =>
  fixture.open({ watch: true, splits: [{ recipient: partner.address, share: 10 }], ...options })

async function readUnits(wallet: string): Promise<bigint> {
  const { world } = fixture
  const account = await world.tokenAccount(wallet, world.usdc)
  const config = { commitment: 'confirmed' }
  const { value } = await world.rpc<{ value: { amount: string } }>('getTokenAccountBalance', [account, config])
  return BigInt(value.amount)
}

describe('the checkout page of a split price', () => {
  it('drafts one transaction that pays every wallet its part', async () => {
    const visitor = createVisitor((await open()).url)
    const { requestId, tokens } = (await visitor.go()).facts()
    expect(tokens).toMatchObject([{ token: 'USDC', amount: '0.01' }])
    const wallets = [fixture.world.recipient.address, partner.address]
    const before = await Promise.all(wallets.map(readUnits))
    const draft = await visitor.prepare(requestId, fixture.payer.address)
    expect(await visitor.submit(requestId, await signDraft(draft, fixture.payer))).toMatchObject({ kind: 'sent' })
    await visitor.until(requestId, 'paid')
    const after = await Promise.all(wallets.map(readUnits))
    expect(after.map((units, index) => units - (before[index] ?? 0n))).toEqual([9_000n, 1_000n])
    expect((await visitor.go()).text).toBe('the secret')
  })

  it('shows neither a transfer by hand nor a transfer link, and says so', async () => {
    const visitor = createVisitor((await open({ acceptedMints: ['USDC', 'SOL'] })).url)
    const page = await visitor.go()
    const { requestId, isSplit } = page.facts()
    expect(isSplit).toBe(true)
    expect(page.text).toContain('A transfer by hand cannot pay it.')
    for (const part of ['id="hand"', 'id="qr"', 'id="link"', 'solana:'])
      expect(page.text.replace(/<script[\s\S]*?<\/script>/g, '')).not.toContain(part)
    expect(await visitor.order<CheckoutView>({ kind: 'view', requestId, token: 'SOL' })).toEqual({ uri: '' })
  })

  it('says that a wallet has too little for all parts together', async () => {
    const poor = await fixture.world.person()
    const visitor = createVisitor((await open({ price: '2000' })).url)
    const { requestId } = (await visitor.go()).facts()
    expect(await visitor.prepare(requestId, poor.address)).toMatchObject({ kind: 'short', needs: '2000' })
  })

  it('does not send a transaction that leaves a part out', async () => {
    const { world, payer } = fixture
    const visitor = createVisitor((await open()).url)
    const { requestId, recipient } = (await visitor.go()).facts()
    const send = async (parts: readonly (readonly [string, bigint])[]) => {
      const transfers = await Promise.all(parts.map(([to, units]) => world.transfer(payer, to, 'USDC', units)))
      return visitor.submit(requestId, await signedBytes(world, [memo(requestId), ...transfers], payer))
    }
    expect(await send([[recipient, 10_000n]])).toMatchObject({ kind: 'refused' })
    expect(
      await send([
        [recipient, 9_000n],
        [partner.address, 999n],
      ]),
    ).toMatchObject({ kind: 'refused' })
    expect(
      await send([
        [recipient, 9_000n],
        [partner.address, 1_000n],
      ]),
    ).toMatchObject({ kind: 'sent' })
  })

  it('reports a payment without a part as too small', async () => {
    const visitor = createVisitor((await open()).url)
    const facts = (await visitor.go()).facts()
    await payFromPhone(fixture.world, fixture.payer, facts)
    const state = await visitor.until(facts.requestId, 'short')
    expect(state).toMatchObject({ received: '0.009', required: '0.01' })
  })

  it('says so if a wallet cannot receive its part any more', async () => {
    const { world } = fixture
    const other = await world.person()
    const shop = await open({ splits: [{ recipient: other.address, share: 10 }] })
    const visitor = createVisitor(shop.url)
    const { requestId } = (await visitor.go()).facts()
    world.localnet.setAccount(await world.tokenAccount(other.address, world.usdc), undefined)
    expect(await visitor.prepare(requestId, fixture.payer.address)).toEqual({
      kind: 'refused',
      why: 'The payment cannot arrive: a wallet that shares the price has no account for this token. Tell the seller.',
    })
  })

  it('T183: goes on at another server that does not know the splits yet', async () => {
    const { world } = fixture
    const ledger = join(fixture.directory, 'checkout-splits.sqlite')
    const common = { ...{ secret: `1:${'s'.repeat(32)}`, ledger, scope: 'rolling' }, watch: true }
    // With another list of nodes, it is a server of its own.
    const old = await fixture.open({ ...common, rpc: [`${world.localnet.rpcUrl}/`, `${world.localnet.rpcUrl}/`] })
    const splits = [{ recipient: partner.address, share: 7 }]
    const visitor = createVisitor((await fixture.open({ ...common, splits })).url)
    const { requestId } = (await visitor.go()).facts()
    const elsewhere = createVisitor(old.url, visitor.cookies)
    const draft = await elsewhere.prepare(requestId, fixture.payer.address)
    const before = await readUnits(partner.address)
    expect(await elsewhere.submit(requestId, await signDraft(draft, fixture.payer))).toMatchObject({ kind: 'sent' })
    await elsewhere.until(requestId, 'paid')
    expect((await readUnits(partner.address)) - before).toBe(700n)
    expect((await elsewhere.go()).text).toBe('the secret')
  })
})
