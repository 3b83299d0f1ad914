/**
 * 1D: nodes that lie, lag, break or belong to another chain. Whatever they do, nobody gets in who has not paid, and who
 * has paid is told to come again, never to pay again.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { RefusalCode } from '../../src/core/payment/refusals.ts'
import type { FaultRule } from '../../src/localnet/index.ts'
import { type Behaviour, bend } from '../harness/fake-node.ts'
import { type LocalnetFixture, proofOf } from '../harness/localnet-fixture.ts'
import type { Shop } from '../harness/shop.ts'
import { createShopFixture, expectRefused, expectServed, type ShopFixture, txOf } from '../harness/shop-fixture.ts'

const readMethods = ['getTransaction', 'getGenesisHash']
let fixture: ShopFixture
let world: LocalnetFixture
/** Reads through one node, and does not wait for what is not there. */
let shop: Shop

beforeAll(async () => {
  fixture = await createShopFixture()
  world = fixture.world
  shop = await fixture.open()
})
afterEach(() => world.localnet.faults.clear())
afterAll(() => fixture.close())

describe('one node', () => {
  it.each<[string, RefusalCode, FaultRule]>([
    ['T68: is overloaded', 'chain_unavailable', { status: 429, retryAfterSeconds: 60 }],
    ['T68: breaks', 'chain_unavailable', { status: 500 }],
    ['T68: is behind a proxy that cannot reach it', 'chain_unavailable', { status: 502 }],
    ['T68: resets the connection', 'chain_unavailable', { drop: true }],
    ["T68: sends a proxy's page", 'chain_unavailable', { body: 'html' }],
    ['T68: sends half an answer', 'chain_unavailable', { body: 'truncated' }],
    ['T68: sends nothing', 'chain_unavailable', { body: 'empty' }],
    ['T68: answers another question', 'chain_unavailable', { body: 'wrong-id' }],
    ['T69: is behind', 'chain_unavailable', { error: { code: -32005, message: 'Node is behind by 150 slots' } }],
    ['T69: has no such block', 'chain_unavailable', { error: { code: -32004, message: 'Block not available' } }],
    ['T69: lost its history', 'chain_unavailable', { error: { code: -32011, message: 'no history' } }],
    ['T69: keeps the version back', 'chain_unavailable', { error: { code: -32015, message: 'version' } }],
    ['T69: does not understand', 'chain_unavailable', { error: { code: -32602, message: 'params' } }],
    ['T67: does not have it yet', 'tx_not_found', { lagSlots: 64 }],
  ])('%s: %s, and the same proof works as soon as that is over', async (_name, code, rule) => {
    const proof = await shop.buy(fixture.payer)
    const end = world.localnet.faults.add({ methods: readMethods, ...rule })
    await expectRefused(shop.claim(proof), code)
    expect((await fetch(`${shop.url}/data`)).status).toBe(402)
    await expectRefused(shop.claim(proof), code)
    end()
    await expectServed(shop.claim(proof))
  })

  it('T67: is a little behind: the proof waits for it, within the time that was set', async () => {
    const patient = await fixture.open({ waitSeconds: 5 })
    const proof = await patient.buy(fixture.payer)
    world.localnet.faults.add({ methods: ['getTransaction'], lagSlots: 64, times: 3 })
    await expectServed(patient.claim(proof))
  })

  it('T67: a proof that is sooner than its payment waits for it', async () => {
    const patient = await fixture.open({ waitSeconds: 5 })
    const challenge = await patient.challenge()
    const sent = new Promise<string>((resolve) => {
      world.localnet.faults.intercept((method, _params, answer) => {
        if (method === 'sendTransaction' && 'result' in answer) resolve(String(answer.result))
        return answer
      })
    })
    world.localnet.faults.add({ methods: ['sendTransaction'], delaySlots: 10 })
    const [claimed] = await Promise.all([
      sent.then((tx) => patient.claim(proofOf(tx, challenge, fixture.payer))),
      world.pay(challenge, fixture.payer),
    ])
    expect([claimed.status, await claimed.text()]).toEqual([200, 'the secret'])
  })

  it('T61: says processed only: not found, and served after the confirmation', async () => {
    const proof = await shop.buy(fixture.payer)
    world.localnet.faults.intercept((method, _params, answer) =>
      method === 'getTransaction' ? { result: null } : answer,
    )
    await expectRefused(shop.claim(proof), 'tx_not_found')
    world.localnet.faults.clear()
    await expectServed(shop.claim(proof))
  })

  it('T76: is slow: the answer comes within the time of one call, for twenty at once', async () => {
    const proof = await shop.buy(fixture.payer)
    const end = world.localnet.faults.add({ methods: ['getTransaction'], latencyMs: 4_000 })
    const start = performance.now()
    const answers = await Promise.all(Array.from({ length: 20 }, () => shop.claim(proof)))
    expect(performance.now() - start).toBeLessThan(3_900)
    for (const answer of answers) await expectRefused(answer, 'chain_unavailable')
    end()
    await expectServed(shop.claim(proof))
  })

  it('T76: is slow, and the read does not wait for it if two others respond', async () => {
    const slow = await fixture.fakeNode()
    const three = await fixture.open({ rpc: [slow.url, (await fixture.fakeNode()).url, world.localnet.rpcUrl] })
    const proof = await three.buy(fixture.payer)
    slow.behave(async (_question, ask) => {
      await new Promise((resolve) => setTimeout(resolve, 4_000).unref())
      return ask()
    })
    const start = performance.now()
    await expectServed(three.claim(proof))
    expect(performance.now() - start).toBeLessThan(3_500)
  })

  it('T68: answers in full under a status of failure: it is not believed', async () => {
    const failing = await fixture.fakeNode()
    const shaken = await fixture.open({ rpc: failing.url })
    const proof = await shaken.buy(fixture.payer)
    failing.behave(async (_question, ask) => ({ ...(await ask()), status: 500 }))
    await expectRefused(shaken.claim(proof), 'chain_unavailable')
    failing.behave(undefined)
    await expectServed(shaken.claim(proof))
  })

  it('T78: sends us elsewhere: it is not followed, not even to an honest node', async () => {
    const honest = await fixture.fakeNode()
    const away = await fixture.fakeNode()
    const redirected = await fixture.open({ rpc: away.url })
    const proof = await redirected.buy(fixture.payer)
    for (const status of [301, 302, 307, 308]) {
      away.behave(() => ({ status, headers: { location: honest.url }, body: '' }))
      await expectRefused(redirected.claim(proof), 'chain_unavailable')
    }
    expect(honest.asked).toEqual([])
    away.behave(undefined)
    await expectServed(redirected.claim(proof))
  })

  it('T132: sends more than a megabyte: nothing of it is used', async () => {
    const bloated = await fixture.fakeNode()
    const flooded = await fixture.open({ rpc: bloated.url })
    const proof = await flooded.buy(fixture.payer)
    bloated.behave(bend('getTransaction', (result: object) => ({ ...result, more: 'x'.repeat(1_100_000) })))
    await expectRefused(flooded.claim(proof), 'chain_unavailable')
    bloated.behave(undefined)
    await expectServed(flooded.claim(proof))
  })

  it('T127: has a transaction that cannot be judged: asking for it again and again is limited', async () => {
    const odd = await fixture.fakeNode()
    const shaken = await fixture.open({ rpc: odd.url, service: 'odd' })
    const proof = await shaken.buy(fixture.payer)
    odd.behave(
      bend('getTransaction', (result: { meta: object }) => ({
        ...result,
        meta: { ...result.meta, innerInstructions: null },
      })),
    )
    const headers = { 'X-Forwarded-For': '198.51.100.78' }
    for (let time = 0; time < 5; time += 1)
      await expectRefused(shaken.claim(proof, '/data', { headers }), 'chain_unavailable')
    await expectRefused(shaken.claim(proof, '/data', { headers }), 'rate_limited')
    odd.behave(undefined)
    await expectServed(shaken.claim(proof))
  })

  it('T140: is named in no log and no answer by its address or its key', async () => {
    const dead = await fixture.fakeNode()
    dead.behave(() => ({ status: 500, body: 'no' }))
    const keyed = await fixture.open({ rpc: [`${dead.url}/?api-key=s3cret`, world.localnet.rpcUrl] })
    const text = await (await keyed.claim(await keyed.buy(fixture.payer))).text()
    const readings = `${fixture.logged.join('')}${text}`
    expect(readings).toContain('node 1')
    expect(readings).not.toMatch(/s3cret|127\.0\.0\.1/)
  })
})

interface Result {
  readonly transaction: readonly [string, string]
  readonly meta: { readonly postTokenBalances: readonly { readonly uiTokenAmount: object }[] }
}
const flipped = (wire: string, at: number) => {
  const bytes = Buffer.from(wire, 'base64')
  bytes[at] = (bytes[at] ?? 0) ^ 1
  return bytes.toString('base64')
}

describe('a lie', () => {
  it.each<[string, (result: Result, other: Result) => unknown]>([
    [
      'T70: a transaction with a changed byte',
      (result) => ({ ...result, transaction: [flipped(result.transaction[0], 300), 'base64'] }),
    ],
    [
      'T70: a transaction with a changed signature',
      (result) => ({ ...result, transaction: [flipped(result.transaction[0], 9), 'base64'] }),
    ],
    [
      'T70: a transaction that was parsed for us',
      (result) => ({ ...result, transaction: { message: {}, signatures: [] } }),
    ],
    ['T71: another transaction than the one asked for', (_result, other) => other],
    ["T71: another transaction's bytes", (result, other) => ({ ...result, transaction: other.transaction })],
    ['T2: an outcome that is not known', (result) => ({ ...result, meta: null })],
    ['T58: no time, not even when asked for it', (result) => ({ ...result, blockTime: null })],
  ])('%s is no payment and no refusal', async (_name, change) => {
    const [proof, other] = [await shop.buy(fixture.payer), await shop.buy(fixture.payer)]
    const config = { encoding: 'base64', commitment: 'confirmed', maxSupportedTransactionVersion: 1 }
    const real = await world.rpc<Result>('getTransaction', [txOf(other), config])
    world.localnet.faults.intercept((method, _params, answer) => {
      if (method === 'getBlockTime') return { result: null }
      return method === 'getTransaction' && 'result' in answer
        ? { result: change(answer.result as Result, real) }
        : answer
    })
    await expectRefused(shop.claim(proof), 'chain_unavailable')
    world.localnet.faults.clear()
    await expectServed(shop.claim(proof))
    await expectServed(shop.claim(other))
  })

  it.each<[string, Behaviour]>([
    [
      'says that it failed',
      bend('getTransaction', (result: Result) => ({ ...result, meta: { ...result.meta, err: 'x' } })),
    ],
    [
      'invents money',
      bend('getTransaction', (result: Result) => ({
        ...result,
        meta: {
          ...result.meta,
          postTokenBalances: result.meta.postTokenBalances.map((one) => ({
            ...one,
            uiTokenAmount: { ...one.uiTokenAmount, amount: '77000000' },
          })),
        },
      })),
    ],
    ['tells another time', bend('getTransaction', (result: Result) => ({ ...result, blockTime: 1_700_000_000 }))],
    ['does not have it (T75)', bend('getTransaction', () => null)],
  ])('T70: one of two nodes %s: disagreement, from either side', async (_name, behaviour) => {
    const liar = await fixture.fakeNode()
    for (const rpc of [
      [liar.url, world.localnet.rpcUrl],
      [world.localnet.rpcUrl, liar.url],
    ]) {
      liar.behave(undefined)
      const two = await fixture.open({ rpc })
      const proof = await two.buy(fixture.payer)
      liar.behave(behaviour)
      await expectRefused(two.claim(proof), 'chain_disagreement')
      liar.behave(undefined)
      await expectServed(two.claim(proof))
    }
  })
})
