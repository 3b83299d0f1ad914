/** Allowances that were bought before: who may use them, under what name, and what using them costs. */
import { createHash } from 'node:crypto'
import { signBytes } from '@solana/kit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { encodeBase58 } from '../../src/core/encoding/base58.ts'
import { proofText } from '../../src/core/protocol/proof.ts'
import type { ProviderOptions } from '../../src/paywall/config/options.ts'
import { proofOf } from '../harness/localnet-fixture.ts'
import type { Shop } from '../harness/shop.ts'
import { createShopFixture, expectRefused, expectServed, type ShopFixture } from '../harness/shop-fixture.ts'

const secret = 'a-secret-of-the-client-0123456789'
const accept = `claim=${createHash('sha256').update(secret).digest('base64url')}`
let fixture: ShopFixture
beforeAll(async () => {
  fixture = await createShopFixture()
})
afterAll(() => fixture.close())

async function buy(shop: Shop, path?: string): Promise<string> {
  const challenge = await shop.challenge(path, { 'Payment-Accept': accept })
  return proofOf(await fixture.world.pay(challenge, fixture.payer), challenge, fixture.payer, `; claim=${secret}`)
}

const units: readonly (readonly [string, Partial<ProviderOptions>])[] = [
  ['a bundle', { per: { requests: 50 }, price: 0.5 }],
  ['a window', { per: { seconds: 3_600 }, price: 0.5 }],
  ['bytes', { per: 'megabyte', price: 0.5 }],
]

describe.each(units)('%s', (_name, options) => {
  it('costs no question to a node after its first use', async () => {
    const fakeNode = await fixture.fakeNode()
    const shop = await fixture.open({ ...options, rpc: fakeNode.url })
    const proof = await buy(shop)
    await expectServed(shop.claim(proof))
    const reads = () => fakeNode.asked.filter((method) => /getTransaction|getSignature/.test(method)).length
    const before = reads()
    for (let time = 0; time < 20; time += 1) await expectServed(shop.claim(proof))
    expect(reads()).toBe(before)
    // Nor does it need one to be there.
    fakeNode.behave(() => 'reset')
    await expectServed(shop.claim(proof))
  })

  it('T84, T85: of one scope is worth nothing in another', async () => {
    const [cheap, dear] = await Promise.all(
      ['cheap', 'dear'].map((scope) =>
        fixture.open({ ...options, scope, secret: `1:${'s'.repeat(40)}`, ledger: 'memory:' }),
      ),
    )
    const proof = await buy(cheap as Shop)
    await expectRefused((dear as Shop).claim(proof), 'binding_mismatch')
    await expectServed((cheap as Shop).claim(proof))
  })

  it('T166: shown by a signature is the payer’s alone, and each signature is good for five minutes', async () => {
    const shop = await fixture.open(options)
    const challenge = await shop.challenge('/data', { 'Payment-Accept': 'sig' })
    const tx = await fixture.world.pay(challenge, fixture.payer)
    const { genesisHash: genesis } = fixture.world.localnet
    const { requestId } = challenge
    const payer = fixture.payer.address
    const proofAt = async (ts: number, signer = fixture.payer) => {
      const text = proofText({ origin: new URL(shop.url).origin, genesis, tx, requestId, payer, ts })
      return proofOf(
        tx,
        challenge,
        fixture.payer,
        `; ts=${ts}; sig=${encodeBase58(await signBytes(signer.keyPair.privateKey, text))}`,
      )
    }
    const now = Math.floor(fixture.world.localnet.now() / 1000)
    await expectServed(shop.claim(await proofAt(now)))
    await expectServed(shop.claim(await proofAt(now - 200)))
    await expectRefused(shop.claim(await proofAt(now - 400)), 'signature_invalid')
    const thief = await fixture.world.person()
    await expectRefused(shop.claim(await proofAt(now, thief)), 'signature_invalid')
    await expectRefused(shop.claim(proofOf(tx, challenge, fixture.payer)), 'signature_required')
  })
})

it('outlives the key that sealed it, its recipient and the price', async () => {
  const ledger = `${fixture.directory}/kept.sqlite`
  const [old, young] = [`1:${'a'.repeat(40)}`, `2:${'b'.repeat(40)}`]
  const root = `root:${'r'.repeat(40)}`
  const first = await fixture.open({
    per: { requests: 5 },
    price: 0.5,
    scope: 'kept',
    ledger,
    secret: `${old},${root}`,
  })
  const proof = await buy(first)
  await expectServed(first.claim(proof))
  await first.stop()
  const later = await fixture.open({
    per: 'request',
    price: 0.9,
    scope: 'kept',
    ledger,
    secret: `${young},${root}`,
    recipient: (await fixture.world.person()).address,
    retired: { recipients: [fixture.world.recipient.address] },
  })
  for (let time = 0; time < 4; time += 1) await expectServed(later.claim(proof))
  await expectRefused(later.claim(proof), 'payment_replay')
})

it('T87: a replaced binding is still valid for quotes that used it', async () => {
  const secretKey = `1:${'k'.repeat(40)}`
  const ledger = `${fixture.directory}/binds.sqlite`
  const first = await fixture.open({ bind: { query: ['size'] }, secret: secretKey, ledger })
  const quoted = await first.challenge('/data?size=1&page=1')
  const proof = proofOf(await fixture.world.pay(quoted, fixture.payer), quoted, fixture.payer)
  await expectRefused(first.claim(proof, '/data?size=9&page=1'), 'binding_mismatch')
  await first.stop()
  const strict = await fixture.open({ secret: secretKey, ledger })
  await expectRefused(strict.claim(proof, '/data?size=1&page=2'), 'binding_mismatch')
  await strict.stop()
  const kind = await fixture.open({ secret: secretKey, ledger, retired: { binds: [{ query: ['size'] }] } })
  await expectRefused(kind.claim(proof, '/data?size=2&page=2'), 'binding_mismatch')
  await expectServed(kind.claim(proof, '/data?size=1&page=2'))
})

it('T84, T87: bytes at the price of a cheap request pay for no other, where the price depends on the request', async () => {
  const shop = await fixture.open({
    per: 'megabyte',
    price: ({ query }) => (query('quality') === 'high' ? 1 : 0.01),
    size: () => undefined,
    scope: 'streams',
  })
  const cheap = await shop.challenge('/data?quality=low', { 'Payment-Accept': accept })
  expect(cheap).toMatchObject({ amount: '0.01', allowance: { unit: 'byte' } })
  expect(cheap).not.toHaveProperty('scope')
  const proof = await buy(shop, '/data?quality=low')
  await expectRefused(shop.claim(proof, '/data?quality=high'), 'binding_mismatch')
  await expectServed(shop.claim(proof, '/data?quality=low'))
  await expectServed(shop.claim(proof, '/data?quality=low'))
})
