/**
 * 1E: somebody else's payment. Transaction, requestId and payer stand on the chain for all to read; whoever copies them
 * gets nothing, and the one who paid is served afterwards.
 */
import { createHash } from 'node:crypto'
import { type KeyPairSigner, signBytes } from '@solana/kit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { encodeBase58 } from '../../src/core/encoding/base58.ts'
import type { RefusalCode } from '../../src/core/payment/refusals.ts'
import type { Challenge } from '../../src/core/protocol/challenge.ts'
import { type LocalnetFixture, memo, proofOf } from '../harness/localnet-fixture.ts'
import type { Shop } from '../harness/shop.ts'
import { createShopFixture, expectRefused, expectServed, type ShopFixture } from '../harness/shop-fixture.ts'

const secret = 'the-secret-of-the-payer-0123456789'
const announced = { 'Payment-Accept': `claim=${createHash('sha256').update(secret).digest('base64url')}` }
let fixture: ShopFixture
let world: LocalnetFixture
let payer: KeyPairSigner
let thief: KeyPairSigner
let shop: Shop

beforeAll(async () => {
  fixture = await createShopFixture()
  ;({ world, payer } = fixture)
  thief = await world.person()
  shop = await fixture.open()
})
afterAll(() => fixture.close())

interface Signed {
  readonly domain: string
  readonly origin: string
  readonly genesis: string
  readonly tx: string
  readonly requestId: string
  readonly payer: string
  readonly ts: number
}

/** The text under `sig`, written down once more, so that a change of the protocol is noticed. */
const textOf = ({ domain, origin, genesis, tx, requestId, payer: address, ts }: Signed) =>
  `${domain}\norigin: ${origin}\ngenesis: ${genesis}\ntx: ${tx}\nrequestId: ${requestId}\npayer: ${address}\nts: ${ts}`

const now = () => Math.floor(world.localnet.now() / 1000)

/** The extra keys of a proof by signature; `lie` is what is signed instead of the truth. */
async function signature(
  tx: string,
  challenge: Challenge,
  signer: KeyPairSigner,
  lie: Partial<Signed> = {},
  at = now(),
) {
  const truth = {
    domain: 'paystile proof v1',
    origin: shop.url,
    genesis: world.localnet.genesisHash,
    tx,
    requestId: challenge.requestId,
    payer: payer.address,
    ts: at,
  }
  const text = new TextEncoder().encode(textOf({ ...truth, ...lie }))
  return `; ts=${at}; sig=${encodeBase58(new Uint8Array(await signBytes(signer.keyPair.privateKey, text)))}`
}

describe('a copied proof', () => {
  it.each<[string, string, RefusalCode]>([
    ['T79: without the secret', '', 'claim_required'],
    ['T79: with another secret', '; claim=the-secret-of-the-thief-0123456789', 'claim_invalid'],
    ['T79: with the hash that was announced', `; claim=${announced['Payment-Accept'].slice(6)}`, 'claim_invalid'],
    ['T79: with a signature instead', '; ts=1; sig=', 'claim_required'],
  ])('%s', async (_name, more, code) => {
    const challenge = await shop.challenge('/data', announced)
    expect(challenge.proof).toEqual(['claim'])
    const tx = await world.pay(challenge, payer)
    const extra = more.endsWith('sig=') ? await signature(tx, challenge, thief) : more
    await expectRefused(shop.claim(proofOf(tx, challenge, payer, extra)), code)
    await expectRefused(shop.claim(proofOf(tx, challenge, thief, extra)), code)
    await expectServed(shop.claim(proofOf(tx, challenge, payer, `; claim=${secret}`)))
  })

  it('T80: shown before the payment is confirmed is turned away at once, and does not get ahead of the payer', async () => {
    const patient = await fixture.open({ waitSeconds: 5 })
    const challenge = await patient.challenge('/data', announced)
    const seen = new Promise<string>((resolve) => {
      world.localnet.faults.intercept((method, _params, answer) => {
        if (method === 'sendTransaction' && 'result' in answer) resolve(String(answer.result))
        return answer
      })
    })
    world.localnet.faults.add({ methods: ['sendTransaction'], delaySlots: 10 })
    const paid = world.pay(challenge, payer)
    const tx = await seen
    const served = patient.claim(proofOf(tx, challenge, payer, `; claim=${secret}`))
    await expectRefused(patient.claim(proofOf(tx, challenge, payer)), 'claim_required')
    await paid
    world.localnet.faults.clear()
    await expectServed(served)
  })

  it('T79: of a requestId that asked for nothing is a bearer token, and opens once', async () => {
    const proof = await shop.buy(payer)
    await expectServed(shop.claim(proof))
    await expectRefused(shop.claim(proof), 'payment_replay')
  })

  it('T90: the sender of a payment is its payer, and the beneficiary cannot claim otherwise', async () => {
    const challenge = await shop.challenge('/data', announced)
    const tx = await world.pay(challenge, thief)
    await expectRefused(shop.claim(proofOf(tx, challenge, payer, `; claim=${secret}`)), 'payer_mismatch')
    await expectServed(shop.claim(proofOf(tx, challenge, thief, `; claim=${secret}`)))
  })
})

describe('a proof by signature', () => {
  it.each<[string, Partial<Signed>]>([
    ['another domain', { domain: 'paystile proof v2' }],
    ['T165: another origin', { origin: 'https://evil.example' }],
    ['another chain', { genesis: '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d' }],
    ['another transaction', { tx: '1'.repeat(64) }],
    ['another requestId', { requestId: 'AQEg' }],
    ['another payer', { payer: '11111111111111111111111111111111' }],
    ['another time', { ts: 1_700_000_000 }],
  ])('T81: over %s is not valid for this one', async (_name, lie) => {
    const challenge = await shop.challenge('/data', { 'Payment-Accept': 'sig' })
    expect(challenge.proof).toEqual(['sig'])
    const tx = await world.pay(challenge, payer)
    const present = async (more: string) => shop.claim(proofOf(tx, challenge, payer, more))
    await expectRefused(present(await signature(tx, challenge, payer, lie)), 'signature_invalid')
    await expectServed(present(await signature(tx, challenge, payer)))
  })

  it.each<[string, number, RefusalCode | undefined]>([
    ['old by less than five minutes', -295, undefined],
    ['T166: older than that', -305, 'signature_invalid'],
    ['ahead by less than five minutes', 295, undefined],
    ['ahead by more', 305, 'signature_invalid'],
  ])('%s', async (_name, seconds, code) => {
    const challenge = await shop.challenge('/data', { 'Payment-Accept': 'sig' })
    const tx = await world.pay(challenge, payer)
    const proof = async (at: number) => proofOf(tx, challenge, payer, await signature(tx, challenge, payer, {}, at))
    if (code) await expectRefused(shop.claim(await proof(now() + seconds)), code)
    await expectServed(shop.claim(await proof(code ? now() : now() + seconds)))
  })

  it('T83: by another wallet, in its own name or in the name of the payer', async () => {
    const challenge = await shop.challenge('/data', { 'Payment-Accept': 'sig' })
    const tx = await world.pay(challenge, payer)
    const forged = await signature(tx, challenge, thief)
    const own = await signature(tx, challenge, thief, { payer: thief.address })
    const good = await signature(tx, challenge, payer)
    const claim = (who: KeyPairSigner, more: string) => shop.claim(proofOf(tx, challenge, who, more))
    await expectRefused(claim(payer, ''), 'signature_required')
    await expectRefused(claim(payer, good.replace(/ts=\d+; /, '')), 'signature_required')
    await expectRefused(claim(payer, good.replace(/; sig=.*/, '')), 'signature_required')
    await expectRefused(claim(payer, `; claim=${secret}`), 'signature_required')
    await expectRefused(claim(payer, forged), 'signature_invalid')
    await expectRefused(claim(payer, `${forged}; signer=${thief.address}`), 'payer_mismatch')
    await expectRefused(claim(thief, own), 'payer_mismatch')
    await expectServed(claim(payer, good))
    await expectRefused(claim(payer, await signature(tx, challenge, payer)), 'payment_replay')
  })

  it('T165: over the address of the service, where it was told which; a Host header says nothing then', async () => {
    const named = await fixture.open({ publicUrl: 'https://api.example.com' })
    const challenge = await named.challenge('/data', { 'Payment-Accept': 'sig' })
    expect(challenge.resource).toBe('https://api.example.com/data')
    const tx = await world.pay(challenge, payer)
    const over = async (origin: string) =>
      proofOf(tx, challenge, payer, await signature(tx, challenge, payer, { origin }))
    for (const origin of [named.url, 'https://evil.example', 'http://api.example.com']) {
      await expectRefused(named.claim(await over(origin)), 'signature_invalid')
    }
    await expectServed(named.claim(await over('https://api.example.com')))
  })
})

describe('another request than the one that was paid for', () => {
  it.each<[string, string, RequestInit]>([
    ['T85: a sibling of equal price', '/other', {}],
    ['T86: POST', '/data?size=1', { method: 'POST' }],
    ['T86: HEAD', '/data?size=1', { method: 'HEAD' }],
    ['T86: DELETE', '/data?size=1', { method: 'DELETE' }],
    ['T87: a larger size', '/data?size=9999', {}],
    ['T87: one parameter more', '/data?size=1&all=1', {}],
    ['T87: without the query', '/data', {}],
    ['T87: an empty query', '/data?', {}],
    ['T87: the same parameter twice', '/data?size=1&size=1', {}],
    ['T97: another case', '/DATA?size=1', {}],
    ['T97: a slash at the end', '/data/?size=1', {}],
    ['T97: an escaped letter', '/%64ata?size=1', {}],
    ['T97: two slashes', '//data?size=1', {}],
  ])('%s', async (_name, path, init) => {
    const proof = await shop.buy(payer, '/data?size=1')
    const response = await shop.claim(proof, path, init)
    if (init.method === 'HEAD') expect(response.status).toBe(403)
    else await expectRefused(response, 'binding_mismatch')
    await expectServed(shop.claim(proof, '/data?size=1'))
  })

  it('T87: a payment without a query opens none with one', async () => {
    const proof = await shop.buy(payer)
    await expectRefused(shop.claim(proof, '/data?size=9999'), 'binding_mismatch')
    await expectServed(shop.claim(proof))
  })

  it("T87: with bind: 'path' any query will do, and no other path", async () => {
    const loose = await fixture.open({ bind: 'path' })
    const proof = await loose.buy(payer, '/data?size=1')
    await expectRefused(loose.claim(proof, '/data/?size=1'), 'binding_mismatch')
    await expectRefused(loose.claim(proof, '/data?size=1', { method: 'POST' }), 'binding_mismatch')
    await expectServed(loose.claim(proof, '/data?size=2&more=1'))
  })

  it.each<[string, object, object, RefusalCode]>([
    ['T84: a dearer route at the same path', { scope: 'cheap' }, { scope: 'dear', price: 1 }, 'binding_mismatch'],
    ['T85: a route of equal price at the same path', { scope: 'one' }, { scope: 'two' }, 'binding_mismatch'],
    ['T88: another tenant with the same key', { service: 'a' }, { service: 'b' }, 'unknown_request'],
    ['T88: another recipient', {}, { recipient: 'Sysvar1111111111111111111111111111111111111' }, 'binding_mismatch'],
  ])('%s', async (_name, here, there, code) => {
    const [paidHere, elsewhere] = [await fixture.open(here), await fixture.open(there)]
    await elsewhere.challenge()
    const proof = await paidHere.buy(payer)
    await expectRefused(elsewhere.claim(proof), code)
    await expectServed(paidHere.claim(proof))
  })

  it('T89: a requestId with any changed letter is unknown', async () => {
    const challenge = await shop.challenge()
    const tx = await world.pay(challenge, payer)
    const { requestId } = challenge
    const changed = Array.from(requestId, (letter, at) => {
      const other = letter === 'A' ? 'B' : 'A'
      return { ...challenge, requestId: `${requestId.slice(0, at)}${other}${requestId.slice(at + 1)}` }
    })
    // At once: each waits for the next reading of splits that another server may have quoted.
    const attempts = changed.map((forged) => expectRefused(shop.claim(proofOf(tx, forged, payer)), 'unknown_request'))
    await Promise.all(attempts)
    await expectServed(shop.claim(proofOf(tx, challenge, payer)))
    expect(
      new Set(await Promise.all(Array.from({ length: 50 }, async () => (await shop.challenge()).requestId))).size,
    ).toBe(50)
  })
})

it('T91: two payments of one requestId are two accesses, each once', async () => {
  const challenge = await shop.challenge()
  const proofs = [
    proofOf(await world.pay(challenge, payer), challenge, payer),
    proofOf(await world.pay(challenge, thief), challenge, thief),
  ]
  for (const proof of proofs) await expectServed(shop.claim(proof))
  for (const proof of proofs) await expectRefused(shop.claim(proof), 'payment_replay')
})

it('T29: one payment for two requestIds gives one access, to the first claim', async () => {
  const [first, second] = [await shop.challenge(), await shop.challenge('/other')]
  const transfer = await world.transfer(payer, world.recipient.address, 'USDC', 20_000n)
  const tx = await world.send([memo(first.requestId), memo(second.requestId), transfer], payer)
  await expectServed(shop.claim(proofOf(tx, second, payer), '/other'))
  await expectRefused(shop.claim(proofOf(tx, first, payer)), 'payment_replay')
})
