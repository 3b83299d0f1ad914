/** 1K: payments whose fate is in doubt. While one can still land, no other is made. */
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { fetchWith402 } from '../../src/client/index.ts'
import { openFileJournal } from '../../src/client/journal/file.ts'
import { placeBackends } from '../harness/backends.ts'
import type { Shop } from '../harness/shop.ts'
import { buy, type ClientFixture, createClientFixture, expectError } from './client-fixture.ts'

let fixture: ClientFixture
let shop: Shop

beforeAll(async () => {
  fixture = await createClientFixture()
  shop = await fixture.open({ waitSeconds: 5 })
})
beforeEach(async () => {
  await fixture.received()
})
afterEach(() => fixture.world.localnet.faults.clear())
afterAll(() => fixture.close())

const newJournal = () => openFileJournal(join(fixture.directory, `${crypto.randomUUID()}.sqlite`))

describe('T159: a payment that does not appear on chain', () => {
  it('is followed up and not repeated while it can still land', async () => {
    const sent = new Set<unknown>()
    fixture.world.localnet.faults.intercept((method, _params, answer) => {
      if (method === 'sendTransaction' && 'result' in answer) sent.add(answer.result)
      return answer
    })
    const lost = fixture.world.localnet.faults.add({ methods: ['sendTransaction'], lose: true })
    const options = fixture.options({ journal: newJournal(), timeoutMs: 800 })
    for (let time = 0; time < 2; time += 1) {
      await expectError(
        fetchWith402(`${shop.url}/data`, options),
        'payment_unknown',
        /Call again: the client follows it up/,
      )
    }
    expect([sent.size, await fixture.received()]).toEqual([1, 0])
    lost()
    const { text, events } = await buy(`${shop.url}/data`, { ...options, timeoutMs: 5_000 })
    expect([text, events[0]?.kind, sent.size]).toEqual(['the secret', 'resumed', 1])
    expect(await fixture.received()).toBe(1)
  })

  it('is replaced only when it can no longer land, and then counts for nothing', async () => {
    const sent = new Set<unknown>()
    let isFinal = false
    fixture.world.localnet.faults.intercept((method, _params, answer) => {
      if (method === 'sendTransaction' && 'result' in answer) sent.add(answer.result)
      if (method !== 'isBlockhashValid' || isFinal || !('result' in answer)) return answer
      return { result: { ...(answer.result as object), value: true } }
    })
    const lost = fixture.world.localnet.faults.add({ methods: ['sendTransaction'], lose: true })
    const options = fixture.options({ journal: newJournal(), timeoutMs: 800, budget: { perDay: { USDC: '0.01' } } })
    await expectError(fetchWith402(`${shop.url}/data`, options), 'payment_unknown')
    fixture.world.localnet.advanceSlots(200)
    // The block hash has expired, but as far as the node says the chain has not made that final yet.
    await expectError(fetchWith402(`${shop.url}/data`, options), 'payment_unknown')
    expect([sent.size, await fixture.received()]).toEqual([1, 0])
    isFinal = true
    lost()
    const { text, events } = await buy(`${shop.url}/data`, { ...options, timeoutMs: 5_000 })
    expect([text, events.map((event) => event.kind)]).toEqual([
      'the secret',
      ['resumed', 'paying', 'sent', 'confirmed', 'delivered'],
    ])
    expect([sent.size, await fixture.received()]).toEqual([2, 1])
  })

  it.each<[string, object, string]>([
    ['no node answers', { drop: true }, 'chain_unavailable'],
    ['the nodes know no balance', { methods: ['getMultipleAccounts'], status: 500 }, 'chain_unavailable'],
    ['the nodes know no block', { methods: ['getLatestBlockhash'], status: 500 }, 'chain_unavailable'],
    ['the node takes it and the answer is lost', { methods: ['sendTransaction'], body: 'truncated', times: 1 }, ''],
    [
      'the node does not answer while it is confirmed',
      { methods: ['getSignatureStatuses'], status: 500, times: 3 },
      '',
    ],
  ])('%s', async (_name, rule, code) => {
    await fixture.open({ waitSeconds: 5 })
    const end = fixture.world.localnet.faults.add(rule)
    const attempt = fetchWith402(`${shop.url}/data`, fixture.options({ timeoutMs: 4_000 }))
    if (code === '') expect(await (await attempt).text()).toBe('the secret')
    else await expectError(attempt, code as 'chain_unavailable')
    end()
    expect(await fixture.received()).toBe(code === '' ? 1 : 0)
  })

  it('failed on chain: nothing was paid, the error says so, and the next call pays', async () => {
    const journal = newJournal()
    const wallet = fixture.payer
    fixture.world.localnet.faults.intercept((method, _params, answer) => {
      if (method !== 'getSignatureStatuses' || !('result' in answer)) return answer
      const { context } = answer.result as { context: unknown }
      const failed = {
        slot: 1,
        confirmations: null,
        err: { InstructionError: [0, { Custom: 1 }] },
        confirmationStatus: 'finalized',
      }
      return { result: { context, value: [failed] } }
    })
    fixture.world.localnet.faults.add({ methods: ['sendTransaction'], lose: true })
    const options = fixture.options({ journal, wallet, budget: { perDay: { USDC: '0.01' } } })
    await expectError(
      fetchWith402(`${shop.url}/data`, options),
      'payment_failed',
      /failed on chain .*Only the network fee/,
    )
    fixture.world.localnet.faults.clear()
    expect((await buy(`${shop.url}/data`, options)).text).toBe('the secret')
    expect(await fixture.received()).toBe(1)
  })
})

describe('T172: several nodes behind one address, of which some are behind', () => {
  it.each([
    ['those that know the status', { getSignatureStatuses: 250 }, 80],
    ['those that know the status, and it lands at once', { getSignatureStatuses: 250 }, 1],
    ['those that give the block', { getLatestBlockhash: 60, getSignatureStatuses: 250 }, 40],
  ])('%s: one resource is paid for once', async (_name, lags, landing) => {
    const { localnet } = fixture.world
    localnet.advanceSlots(600)
    const lagOf = (method: string) => (lags as Readonly<Record<string, number>>)[method] ?? 0
    placeBackends(localnet.faults, { lagOf, landing: () => landing })
    const options = fixture.options({ journal: newJournal() })
    const buyOnce = (timeoutMs: number) => fetchWith402(`${shop.url}/data`, { ...options, timeoutMs })
    // While the block expires, no node that is asked has seen the payment yet.
    for (const end = localnet.slot() + 200; localnet.slot() < end; localnet.advanceSlots(30))
      // A busy machine may not answer within the short time.
      await expect(buyOnce(300)).rejects.toMatchObject({
        code: expect.stringMatching(/^(payment_unknown|server_unavailable)$/),
      })
    localnet.advanceSlots(250)
    expect((await buyOnce(10_000)).status).toBe(200)
    localnet.advanceSlots(250)
    expect(await fixture.received()).toBe(1)
  })

  it('those that receive the payment and do not know its block yet: it is sent again', async () => {
    fixture.world.localnet.faults.add({ methods: ['sendTransaction'], lagSlots: 40, times: 2 })
    const { text, events } = await buy(`${shop.url}/data`, fixture.options())
    expect([text, events.map(({ kind }) => kind)]).toEqual(['the secret', ['paying', 'sent', 'confirmed', 'delivered']])
    expect(await fixture.received()).toBe(1)
  })
})
