/** A gateway that takes over another configuration while it runs. */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { createPlan } from '../../src/gateway/config/plan.ts'
import { codeOf } from '../harness/shop.ts'
import { newSigner, proofOf } from '../harness/world.ts'
import { createScene, type Gate, type Scene } from './gateway-fixture.ts'

let scene: Scene
beforeAll(async () => {
  scene = await createScene()
})
afterAll(() => scene.close())

const common = () => ({
  network: 'localnet' as const,
  rpc: scene.world.localnet.rpcUrl,
  ledger: 'memory:',
  recipient: scene.world.recipient.address,
  token: 'USDC' as const,
  upstream: scene.upstream.url,
  listen: { port: 0 },
  watch: false,
  log: { info: () => {}, warn: () => {}, error: () => {} },
})
type Change = Partial<Parameters<typeof createPlan>[0]>
const reload = (gate: Gate, change: Change) =>
  gate.gateway.reload(createPlan({ ...common(), routes: [{ path: '/data', price: 0.01 }], ...change }, {}))
const priceAt = async (gate: Gate, path = '/data') => (await gate.challenge(path)).amount

describe('a reload', () => {
  it.each<[string, (recipient: string) => Change, string]>([
    ['another price', () => ({ routes: [{ path: '/data', price: 5 }] }), '5'],
    ['another recipient', (recipient) => ({ recipient }), '0.01'],
    ['another scope', () => ({ routes: [{ path: '/data', price: 0.02, scope: 'other' }] }), '0.02'],
    ['another binding', () => ({ routes: [{ path: '/data', price: 0.02, bind: { headers: ['x-a'] } }] }), '0.02'],
  ])('to %s honours the quotes that are open, also after the next one', async (_name, change, price) => {
    const gate = await scene.open({ routes: [{ path: '/data', price: 0.01 }] })
    const quotes = [await gate.challenge('/data'), await gate.challenge('/data')]
    const next = await newSigner()
    await scene.world.localnet.fund(next.address, { SOL: 1_000_000_000n, USDC: 0n })
    await reload(gate, change(next.address))
    expect(await priceAt(gate)).toBe(price)
    for (const [turn, quote] of quotes.entries()) {
      const proof = proofOf(await scene.world.pay(quote, scene.payer), quote, scene.payer)
      expect([turn, (await gate.claim(proof, '/data')).status]).toEqual([turn, 200])
      if (turn === 0) await reload(gate, change(next.address))
    }
    expect((await gate.claim(await gate.buy('/data'), '/data')).status).toBe(200)
  })

  it('lets running responses end as they began, and serves other routes from then on', async () => {
    const upstream = await scene.startUpstream()
    let goOn = (): void => {}
    upstream.answer((_request, response) => {
      response.write('the first half, ')
      goOn = () => response.end('the second half')
    })
    const gate = await scene.open({ upstream: upstream.url, routes: [{ path: '/slow', price: 0.01 }] })
    const proof = await gate.buy('/slow')
    const response = await gate.claim(proof, '/slow')
    // A stop would break it off after thirty seconds.
    vi.useFakeTimers({ toFake: ['setTimeout'] })
    await reload(gate, {
      routes: [
        { path: '/data', price: 0.01 },
        { path: '/open', free: true },
      ],
    })
    vi.advanceTimersByTime(40_000)
    vi.useRealTimers()
    expect((await fetch(`${gate.url}/slow`)).status).toBe(404)
    expect(await (await fetch(`${gate.url}/open`)).text()).toBe('the secret')
    goOn()
    expect(await response.text()).toBe('the first half, the second half')
    expect((await fetch(`${gate.url}/readyz`)).status).toBe(200)
  })

  it.each<[string, () => Change, RegExp]>([
    ['a mint that there is not', () => ({ mints: { USDC: '7rkNvHQ2toHAyKrAQWdnRivFEVjBN4ZpBMrNREsuA4Yq' } }), /USDC/],
    ['another ledger', () => ({ ledger: 'other.sqlite' }), /ledger: a change needs a restart/],
    ['another place to listen at', () => ({ listen: { port: 1 } }), /listen, limits: a change needs a restart/],
    ['itself as an upstream', () => ({ upstream: 'https://a.example', publicUrl: 'https://a.example' }), /itself/],
  ])('with %s changes nothing', async (_name, change, why) => {
    const gate = await scene.open({ routes: [{ path: '/data', price: 0.01 }] })
    const before = gate.gateway.plan
    const proof = await gate.buy('/data')
    await expect(reload(gate, { routes: [{ path: '/data', price: 7 }], ...change() })).rejects.toThrow(why)
    expect(gate.gateway.plan).toBe(before)
    expect(await priceAt(gate)).toBe('0.01')
    expect((await gate.claim(proof, '/data')).status).toBe(200)
    expect(await codeOf(await gate.claim(proof, '/data'))).toBe('409 payment_replay')
  })
})
