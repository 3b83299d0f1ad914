/** A proof that was admitted a moment ago skips some checks. None of them may be one that could fail now. */
import { createHash } from 'node:crypto'
import { signBytes } from '@solana/kit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { encodeBase58 } from '../../src/core/encoding/base58.ts'
import { parseProof, proofText } from '../../src/core/protocol/proof.ts'
import { notFinal } from '../harness/fake-node.ts'
import { proofOf } from '../harness/localnet-fixture.ts'
import type { Shop } from '../harness/shop.ts'
import { createShopFixture, expectRefused, expectServed, type ShopFixture } from '../harness/shop-fixture.ts'
import { createReferenceLedger } from '../ledger/reference/ledger.ts'

const secret = 'a-secret-of-the-client-0123456789'
const accept = `claim=${createHash('sha256').update(secret).digest('base64url')}`
const bundle = { per: { requests: 6 }, price: 0.5 } as const
let fixture: ShopFixture
beforeAll(async () => {
  fixture = await createShopFixture()
})
afterAll(() => fixture.close())

const createLedger = () =>
  createReferenceLedger({ clock: { now: fixture.world.localnet.now, monotonic: () => performance.now() } })

async function buy(shop: Shop, headers: Readonly<Record<string, string>> = {}): Promise<string> {
  const challenge = await shop.challenge('/data', { 'Payment-Accept': accept, ...headers })
  return proofOf(await fixture.world.pay(challenge, fixture.payer), challenge, fixture.payer, `; claim=${secret}`)
}

async function serveTwice(shop: Shop, proof: string, init?: RequestInit): Promise<void> {
  for (let time = 0; time < 2; time += 1) await expectServed(shop.claim(proof, '/data', init))
}

function readProof(header: string) {
  const reading = parseProof(header)
  if (reading.kind === 'malformed') throw new Error(reading.why)
  return reading.proof
}

describe('T191: receipts of a bundle', () => {
  it('are signed, and each answer names its own rest', async () => {
    const shop = await fixture.open(bundle)
    const proof = await buy(shop)
    const rests: (string | undefined)[] = []
    for (let time = 0; time < 3; time += 1) {
      const response = await shop.claim(proof)
      expect(response.headers.get('payment-receipt')).toMatch(/^[\w-]{100,}$/)
      rests.push(response.headers.get('payment-allowance')?.split(';')[1]?.trim())
      await response.text()
    }
    expect(rests).toEqual(['remaining=5', 'remaining=4', 'remaining=3'])
  })
})

describe('T191: a bundle that was used a moment ago', () => {
  it('is refused as soon as the chain has taken its payment back', async () => {
    const ledger = createLedger()
    const fakeNode = await fixture.fakeNode()
    fakeNode.behave(notFinal)
    const shop = await fixture.open({ ...bundle, ledger, rpc: fakeNode.url })
    const proof = await buy(shop)
    await serveTwice(shop, proof)
    await ledger.journal?.conclude([{ tx: readProof(proof).txBytes, finality: 'reverted' }])
    await expectRefused(shop.claim(proof), 'tx_not_final')
  })

  it('is refused as soon as another server has delivered the rest', async () => {
    const ledger = createLedger()
    const shop = await fixture.open({ ...bundle, ledger })
    const proof = await buy(shop)
    await serveTwice(shop, proof)
    const { txBytes: tx } = readProof(proof)
    const { request = '' } = (await ledger.peek(tx)) ?? {}
    const taken = await ledger.take({ tx, request, amount: 4n, leaseMs: 10_000 })
    if (taken.kind !== 'granted') throw new Error(`The rest was not granted: ${taken.kind}`)
    await expectRefused(shop.claim(proof), 'payment_in_progress')
    await ledger.end(taken.grant, 'delivered', 4n)
    await expectRefused(shop.claim(proof), 'payment_replay')
  })

  it('is served as often as it was paid for', async () => {
    const shop = await fixture.open(bundle)
    const proof = await buy(shop)
    const responses = await Promise.all(Array.from({ length: 9 }, () => shop.claim(proof)))
    const statuses = responses.map(({ status }) => status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(6)
    await expectRefused(shop.claim(proof), 'payment_replay')
  })

  it.each<[string, (header: string) => string, 'claim_invalid' | 'claim_required' | 'payer_mismatch']>([
    ['without its secret', (header) => header.replace(`; claim=${secret}`, ''), 'claim_required'],
    ['with another secret', (header) => header.replace(secret, secret.replace('0', '1')), 'claim_invalid'],
    [
      'for another payer',
      (header) => header.replace(/payer=\w+/, `payer=${fixture.world.recipient.address}`),
      'payer_mismatch',
    ],
  ])('is not used %s', async (_, change, code) => {
    const shop = await fixture.open(bundle)
    const proof = await buy(shop)
    await serveTwice(shop, proof)
    await expectRefused(shop.claim(change(proof)), code)
  })

  it('is not used at another host with the same signature', async () => {
    const shop = await fixture.open(bundle)
    const challenge = await shop.challenge('/data', { 'Payment-Accept': 'sig' })
    const tx = await fixture.world.pay(challenge, fixture.payer)
    const { localnet } = fixture.world
    const ts = Math.floor(localnet.now() / 1000)
    const parts = { genesis: localnet.genesisHash, tx, requestId: challenge.requestId, payer: fixture.payer.address }
    const text = proofText({ ...parts, origin: new URL(shop.url).origin, ts })
    const sig = encodeBase58(await signBytes(fixture.payer.keyPair.privateKey, text))
    const proof = proofOf(tx, challenge, fixture.payer, `; ts=${ts}; sig=${sig}`)
    await serveTwice(shop, proof)
    const other = shop.url.replace('127.0.0.1', 'localhost')
    await expectRefused(fetch(`${other}/data`, { headers: { 'Payment-Proof': proof } }), 'signature_invalid')
  })
})
