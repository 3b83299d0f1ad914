/** Found in review: proofs that are relayed, logged, or vouched for by a liar, and answers that cost nothing. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { KeyPairSigner } from '@solana/kit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fetchWith402 } from '../../src/client/index.ts'
import { decodeSignature } from '../../src/core/encoding/base58.ts'
import { startLocalnet } from '../../src/localnet/index.ts'
import {
  type AttackedShop,
  type AttackFixture,
  type Attempt,
  createAttackFixture,
  price,
  signedBy,
} from '../harness/attacker-program.ts'
import { type LocalnetFixture, memo, proofOf } from '../harness/localnet-fixture.ts'
import { signMessage, succeed } from '../harness/message.ts'
import { move } from '../harness/mint.ts'
import { eventually } from '../harness/shop.ts'

let fixture: AttackFixture
let world: LocalnetFixture
let attackedShop: AttackedShop
let payer: KeyPairSigner

beforeAll(async () => {
  fixture = await createAttackFixture()
  world = fixture.world
  attackedShop = await fixture.open()
  payer = await world.person()
})
afterAll(() => fixture.close())

const usdc = () => move(world, world.usdc, payer, world.recipient.address, price)
const signing = async (attempt: Attempt, options: Parameters<typeof signedBy>[4]): Promise<Attempt> => ({
  ...attempt,
  more: await signedBy(fixture, attackedShop, attempt, payer, options),
})

describe('a signed proof', () => {
  it('T165: made for the origin of an evil host is worth nothing here', async () => {
    const attempt = await fixture.commit(attackedShop, payer, [await usdc()], { accept: 'sig' })
    for (const origin of [
      'http://evil.example',
      `${attackedShop.url}.evil.example`,
      attackedShop.url.replace('127.0.0.1', 'localhost'),
    ]) {
      await attackedShop.refuses('signature_invalid', await signing(attempt, { origin }))
    }
    await attackedShop.serves(await signing(attempt, {}))
  })

  it('T165: made for another chain is worth nothing here', async () => {
    const attempt = await fixture.commit(attackedShop, payer, [await usdc()], { accept: 'sig' })
    const genesis = '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d'
    await attackedShop.refuses('signature_invalid', await signing(attempt, { genesis }))
    await attackedShop.serves(await signing(attempt, {}))
  })

  it('T166: is good for five minutes, whichever clock is ahead', async () => {
    const attempt = await fixture.commit(attackedShop, payer, [await usdc()], { accept: 'sig' })
    const now = Math.floor(world.localnet.now() / 1000)
    for (const ts of [now - 302, now + 303, 1]) {
      await attackedShop.refuses('signature_invalid', await signing(attempt, { ts }))
    }
    await attackedShop.serves(await signing(attempt, { ts: now - 295 }))
  })

  it('T166: with the time changed afterwards is no longer signed', async () => {
    const attempt = await fixture.commit(attackedShop, payer, [await usdc()], { accept: 'sig' })
    const { more = '' } = await signing(attempt, {})
    const moved = more.replace(/ts=(\d+)/, (_all, ts: string) => `ts=${Number(ts) + 1}`)
    await attackedShop.refuses('signature_invalid', { ...attempt, more: moved })
  })
})

describe('an evil host that relays our challenge', () => {
  let evil: Server
  let url: string
  beforeAll(async () => {
    evil = createServer((request, response) => {
      void fetch(`${attackedShop.url}${request.url}`).then(async (real) => {
        response.writeHead(real.status, { 'content-type': 'application/json' })
        response.end(await real.text())
      })
    })
    await new Promise((resolve) => evil.listen(0, '127.0.0.1', () => resolve(undefined)))
    url = `http://127.0.0.1:${(evil.address() as AddressInfo).port}`
  })
  afterAll(() => new Promise((resolve) => evil.close(resolve)))

  it('T165: gets no payment out of our client', async () => {
    const sent = () => world.rpc<unknown[]>('getSignaturesForAddress', [payer.address, { commitment: 'confirmed' }])
    const before = (await sent()).length
    const options = { wallet: payer, tokens: ['USDC'], rpc: world.localnet.rpcUrl } as const
    const attempt = fetchWith402(`${url}/data`, options)
    await expect(attempt).rejects.toMatchObject({ code: 'wrong_origin' })
    expect(await sent()).toHaveLength(before)
  })
})

describe('a payment that was signed and never sent', () => {
  it('T167: one lying node vouches for it, the other does not know it', async () => {
    const liar = await startLocalnet({ slotMs: 20 })
    // It knows better than to lie about who can be paid.
    await liar.fund(world.recipient.address, { SOL: 1_000_000_000n, USDC: 0n })
    const challenge = await attackedShop.challenge()
    const real = await fixture.commit(attackedShop, payer, [await usdc()])
    const transaction = await signMessage(world, [memo(challenge.requestId), await usdc()], payer)
    // The liar is of our chain, by its own words, and tells of the payment what is true of another one.
    const told = await world.rpc<Record<string, unknown>>('getTransaction', [
      real.tx,
      { encoding: 'base64', commitment: 'confirmed', maxSupportedTransactionVersion: 1 },
    ])
    liar.faults.intercept((method, params, answer) => {
      if (method === 'getGenesisHash') return { result: world.localnet.genesisHash }
      if (method === 'paystile_clock') return { result: { timeMs: world.localnet.now() } }
      const [asked] = Array.isArray(params) ? params : []
      if (method !== 'getTransaction' || asked !== transaction.signature) return answer
      return { result: { ...told, transaction: [transaction.wire, 'base64'] } }
    })
    const attempt = { tx: transaction.signature, challenge, payer }
    const alone = await fixture.open({ rpc: liar.rpcUrl, scope: 'default', ledger: 'memory:' })
    const both = await fixture.open({ rpc: [liar.rpcUrl, world.localnet.rpcUrl], scope: 'default' })
    await both.refuses('chain_disagreement', attempt)
    // The lie is good enough for a service that has no second node to ask.
    expect((await alone.present(attempt)).status).toBe(200)
    await liar.close()
  })
})

describe('answers that cost nothing', () => {
  it('T170: a HEAD is free twenty times, and then the payment is used up', async () => {
    let heads = 0
    const shop = await fixture.open({ scope: 'heads' }, () => {
      heads += 1
      return { headers: { etag: `"${heads}"` } }
    })
    // A HEAD carries no body, so its challenge is taken from what the shop tells its owner.
    expect((await shop.claim('none', '/data', { method: 'HEAD' })).status).toBe(403)
    expect((await fetch(`${shop.url}/data`, { method: 'HEAD' })).status).toBe(402)
    const event = shop.events.find((one) => one.kind === 'challenged')
    const requestId = event?.kind === 'challenged' ? event.requestId : ''
    const tx = await succeed(world, [memo(requestId), await usdc()], payer)
    const proof = `tx=${tx}; requestId=${requestId}; payer=${payer.address}`
    for (let use = 0; use < 20; use += 1) {
      const answer = await afterBusy(() => shop.claim(proof, '/data', { method: 'HEAD' }))
      expect(answer.status).toBe(200)
    }
    await eventually(
      () => fixture.ledger.peek(decodeSignature(tx) as Uint8Array),
      (standing) => standing?.state === 'spent',
    )
    expect((await shop.claim(proof, '/data', { method: 'HEAD' })).status).toBe(409)
    expect(heads).toBe(20)
  })

  it('T170: a 304 is free twenty times, and then the payment is used up', async () => {
    let unchanged = 0
    const watched = await fixture.open({ scope: 'watched' }, () => {
      unchanged += 1
      return { status: 304 }
    })
    const attempt = await fixture.commit(watched, payer, [await usdc()])
    const proof = proofOf(attempt.tx, attempt.challenge, payer)
    for (let use = 0; use < 20; use += 1) {
      expect((await afterBusy(() => watched.claim(proof))).status).toBe(304)
    }
    await eventually(
      () => fixture.ledger.peek(decodeSignature(attempt.tx) as Uint8Array),
      (standing) => standing?.state === 'spent',
    )
    await watched.refuses('payment_replay', attempt)
    expect(unchanged).toBe(20)
  })
})

/** The end of an answer is recorded a moment after the client has it; until then the payment is in use. */
async function afterBusy(ask: () => Promise<Response>): Promise<Response> {
  return eventually(ask, ({ status }) => status !== 409)
}
