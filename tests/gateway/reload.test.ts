/** A gateway that takes over another configuration while it runs. */
import { createHash, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { listOpen } from '../../src/compose/open-paywalls.ts'
import { createPlan } from '../../src/gateway/config/plan.ts'
import { memo, newSigner, proofOf } from '../harness/localnet-fixture.ts'
import { codeOf } from '../harness/shop.ts'
import { createGatewayFixture, type Gate, type GatewayFixture } from './gateway-fixture.ts'

let fixture: GatewayFixture
beforeAll(async () => {
  fixture = await createGatewayFixture()
})
afterAll(() => fixture.close())
afterEach(() => void vi.unstubAllEnvs())

const common = () => ({
  network: 'localnet' as const,
  rpc: fixture.world.localnet.rpcUrl,
  ledger: 'memory:',
  recipient: fixture.world.recipient.address,
  token: 'USDC' as const,
  upstream: fixture.upstream.url,
  listen: { port: 0 },
  watch: false,
  log: { info: () => {}, warn: () => {}, error: () => {} },
})
type Change = Partial<Parameters<typeof createPlan>[0]>
type Routes = NonNullable<Change['routes']>
const reload = (gate: Gate, change: Change) =>
  gate.gateway.reload(createPlan({ ...common(), routes: [{ path: '/data', price: 0.01 }], ...change }, process.env))
/** What a wallet on a phone gets at the address of a quote. */
const draftFor = (gate: Gate, { requestId }: { readonly requestId: string }) =>
  fetch(`${gate.url}/pay/${requestId}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ account: fixture.payer.address }),
  })
const labelOf = async (gate: Gate, { requestId }: { readonly requestId: string }) =>
  ((await (await fetch(`${gate.url}/pay/${requestId}`)).json()) as { readonly label: string }).label
const newRecipient = async () => {
  const { address } = await newSigner()
  await fixture.world.localnet.fund(address, { SOL: 1_000_000_000n, USDC: 0n })
  return address
}
const payFor = async (quote: Awaited<ReturnType<Gate['challenge']>>) =>
  proofOf(await fixture.world.pay(quote, fixture.payer), quote, fixture.payer)
const priceAt = async (gate: Gate, path = '/data') => (await gate.challenge(path)).amount
const status = async (gate: Gate, proof: string, path: string, init?: RequestInit) => {
  const response = await gate.claim(proof, path, init)
  return response.ok ? `${response.status} ${await response.text()}` : codeOf(response)
}
const served = '200 the secret'

describe('a reload', () => {
  it.each<[string, (recipient: string) => Change, string]>([
    ['another price', () => ({ routes: [{ path: '/data', price: 5 }] }), '5'],
    ['another recipient', (recipient) => ({ recipient }), '0.01'],
    ['another node and recipient', (recipient) => ({ recipient, rpc: `${fixture.world.localnet.rpcUrl}/` }), '0.01'],
    ['another scope', () => ({ routes: [{ path: '/data', price: 0.02, scope: 'other' }] }), '0.02'],
    ['other methods', () => ({ routes: [{ path: '/data', price: 0.02, methods: ['POST', 'GET'] }] }), '0.02'],
    ['another binding', () => ({ routes: [{ path: '/data', price: 0.02, bind: { headers: ['x-a'] } }] }), '0.02'],
  ])('to %s honours the quotes that are open, also after the next one', async (_name, change, price) => {
    const ledger = join(fixture.directory, `${randomUUID()}.sqlite`)
    const gate = await fixture.open({ routes: [{ path: '/data', price: 0.01 }], ledger })
    const quotes = [await gate.challenge('/data'), await gate.challenge('/data')]
    const next = await newRecipient()
    await reload(gate, { ledger, ...change(next) })
    expect(await priceAt(gate)).toBe(price)
    for (const [turn, quote] of quotes.entries()) {
      const proof = await payFor(quote)
      expect([turn, (await gate.claim(proof, '/data')).status]).toEqual([turn, 200])
      if (turn === 0) await reload(gate, { ledger, ...change(next) })
    }
    expect((await gate.claim(await gate.buy('/data'), '/data')).status).toBe(200)
  })

  it('to other splits judges open quotes by their own', async () => {
    const { world, payer } = fixture
    const [partner, ledger] = [await newRecipient(), join(fixture.directory, `${randomUUID()}.sqlite`)]
    const routes = [{ path: '/data', price: 0.01, splits: [{ recipient: partner, share: 10 }] }]
    const gate = await fixture.open({ routes, ledger })
    const quotes = [await gate.challenge('/data'), await gate.challenge('/data')]
    expect(quotes[0]?.splits).toEqual([{ recipient: partner, amounts: { USDC: '0.001' } }])
    await reload(gate, { ledger })
    expect((await gate.challenge('/data')).splits).toBeUndefined()
    const claim = async (quote: (typeof quotes)[number] | undefined, parts: readonly (readonly [string, bigint])[]) => {
      if (!quote) throw new Error('there is no quote')
      const transfers = await Promise.all(parts.map(([to, units]) => world.transfer(payer, to, 'USDC', units)))
      const tx = await world.send([memo(quote.requestId), ...transfers], payer)
      return status(gate, proofOf(tx, quote, payer), '/data')
    }
    const recipient = world.recipient.address
    expect(await claim(quotes[0], [[recipient, 10_000n]])).toBe('403 underpaid')
    expect(
      await claim(quotes[1], [
        [recipient, 9_000n],
        [partner, 1_000n],
      ]),
    ).toBe(served)
  })

  it('lets running responses end as they began, and serves other routes from then on', async () => {
    const upstream = await fixture.startUpstream()
    let goOn = (): void => {}
    upstream.answer((_request, response) => {
      response.write('the first half, ')
      goOn = () => response.end('the second half')
    })
    const gate = await fixture.open({ upstream: upstream.url, routes: [{ path: '/slow', price: 0.01 }] })
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
    ['another place to listen at', () => ({ listen: { port: 1 } }), / listen: a change needs a restart$/],
    ['other limits', () => ({ limits: { connections: 7 } }), / limits: a change needs a restart$/],
    [
      'other nodes and a ledger in memory',
      () => ({ rpc: `${fixture.world.localnet.rpcUrl}/` }),
      /memory: would lose the used payments/,
    ],
    [
      'no price and a ledger in memory',
      () => ({ routes: [{ path: '/data', free: true }] }),
      /memory: would lose the used payments/,
    ],
    ['itself as an upstream', () => ({ upstream: 'https://a.example', publicUrl: 'https://a.example' }), /itself/],
  ])('with %s changes nothing', async (_name, change, why) => {
    const gate = await fixture.open({ routes: [{ path: '/data', price: 0.01 }] })
    const before = gate.gateway.plan
    const proof = await gate.buy('/data')
    await expect(reload(gate, { routes: [{ path: '/data', price: 7 }], ...change() })).rejects.toThrow(why)
    expect(gate.gateway.plan).toBe(before)
    expect(await priceAt(gate)).toBe('0.01')
    expect((await gate.claim(proof, '/data')).status).toBe(200)
    expect(await codeOf(await gate.claim(proof, '/data'))).toBe('409 payment_replay')
  })

  it('honours the quotes of a route that was taken out and came back with another recipient', async () => {
    const both = [
      { path: '/data', price: 0.01 },
      { path: '/more', price: 0.01 },
    ]
    const gate = await fixture.open({ routes: both })
    const quote = await gate.challenge('/data')
    await reload(gate, { routes: both.slice(1) })
    await reload(gate, { routes: both, recipient: await newRecipient() })
    expect((await gate.claim(await payFor(quote), '/data')).status).toBe(200)
  })

  it('refuses another ledger that only the environment names: used payments stay used', async () => {
    const ledgerAt = (name: string) => vi.stubEnv('PAYSTILE_LEDGER', join(fixture.directory, name))
    ledgerAt('one.sqlite')
    const gate = await fixture.open({ routes: [{ path: '/data', price: 0.01 }], ledger: undefined as never })
    const proof = await gate.buy('/data')
    expect((await gate.claim(proof, '/data')).status).toBe(200)
    ledgerAt('two.sqlite')
    await expect(reload(gate, { ledger: undefined as never })).rejects.toThrow(/ledger: a change needs a restart/)
    // Also by way of a configuration that sells nothing.
    await reload(gate, { routes: [{ path: '/open', free: true }], ledger: undefined as never })
    await expect(reload(gate, { ledger: undefined as never })).rejects.toThrow(/ledger: a change needs a restart/)
    ledgerAt('one.sqlite')
    await reload(gate, { ledger: undefined as never })
    expect(await codeOf(await gate.claim(proof, '/data'))).toBe('409 payment_replay')
  })

  it('that fails leaves the pay pages as they were', async () => {
    const gate = await fixture.open({ routes: [{ path: '/page', price: 0.01, description: 'before' }] })
    const quote = await gate.challenge('/page')
    const mints = { USDC: '7rkNvHQ2toHAyKrAQWdnRivFEVjBN4ZpBMrNREsuA4Yq' }
    const routes = [{ path: '/page', price: 0.01, description: 'after' }]
    await expect(reload(gate, { routes, mints })).rejects.toThrow(/USDC/)
    expect(await labelOf(gate, quote)).toBe('before')
    expect((await draftFor(gate, quote)).status).toBe(200)
    await reload(gate, { routes })
    expect(await labelOf(gate, quote)).toBe('after')
  })

  it('takes no more payments for a route that it takes out', async () => {
    const gate = await fixture.open({
      routes: [
        { path: '/data', price: 0.01 },
        { path: '/gone', price: 0.01 },
      ],
    })
    const quote = await gate.challenge('/gone')
    expect((await draftFor(gate, quote)).status).toBe(200)
    await reload(gate, {})
    expect((await draftFor(gate, quote)).status).toBe(404)
  })

  it('waits for the previous one, and honours its quotes', async () => {
    const gate = await fixture.open({ routes: [{ path: '/data', price: 0.01 }] })
    const [first, second] = [await newRecipient(), await newRecipient()]
    const quoted = reload(gate, { recipient: first }).then(() => gate.challenge('/data'))
    const last = reload(gate, { recipient: second })
    const quote = await quoted
    await last
    expect(gate.gateway.plan.routes[0]?.config?.route).toMatchObject({ recipient: second })
    expect((await gate.claim(await payFor(quote), '/data')).status).toBe(200)
  })

  it('ends with the gateway that is closed meanwhile, and leaves nothing open', async () => {
    const open = listOpen().length
    const gate = await fixture.open({ routes: [{ path: '/data', price: 0.01 }] })
    const upstream = await fixture.startUpstream()
    let goOn: (() => void) | undefined
    upstream.answer((_request, response) => {
      goOn = () => response.end()
    })
    const going = reload(gate, { upstream: upstream.url, probe: { path: '/health' } }).catch(String)
    await expect.poll(() => goOn).toBeDefined()
    const closed = gate.gateway.close()
    goOn?.()
    expect(await going).toContain('the gateway was closed in the meantime')
    await closed
    await expect.poll(() => listOpen().length).toBe(open)
  })
})

describe('a reload that takes a dear route out of a scope', () => {
  const bundle = { price: 0.01, per: { requests: 5 }, scope: 'all' } as const
  const cheap = { path: '/cheap', ...bundle }
  const dear = { path: '/dear', ...bundle }

  it.each<[string, () => Promise<Change>]>([
    ['to a scope of its own', async () => ({ routes: [cheap, { ...dear, price: 5, scope: 'dear' }] })],
    [
      'to another recipient',
      async () => ({ routes: [cheap, { ...dear, price: 5, recipient: await newRecipient() }] as never }),
    ],
  ])('%s honours the bundles that were quoted before, and no later ones', async (_name, change) => {
    const gate = await fixture.open({ routes: [cheap, dear] })
    const before = await gate.buyClaimed('/cheap')
    const next = await change()
    for (const turn of ['first', 'second', 'third']) {
      await reload(gate, next)
      const after = await gate.buyClaimed('/cheap')
      expect([turn, await status(gate, after, '/dear')]).toEqual([turn, '403 binding_mismatch'])
      expect([turn, await status(gate, after, '/cheap')]).toEqual([turn, served])
      expect([turn, await status(gate, before, '/dear')]).toEqual([turn, served])
    }
  })

  it('honours an allowance with a quote from before', async () => {
    const methods = ['POST'] as const
    const slow = { ...dear, methods, bind: { body: true } as const }
    const gate = await fixture.open({ routes: [cheap, slow] as never })
    const secret = 'a'.repeat(32)
    const hash = createHash('sha256').update(secret).digest('base64url')
    const headers = { 'Payment-Accept': `claim=${hash}`, Expect: '100-continue' }
    const asked = request(`${gate.url}/dear`, { method: 'POST', headers })
    const answered = once(asked, 'response')
    asked.write('half')
    await once(asked, 'continue')
    await reload(gate, { routes: [cheap, { ...slow, scope: 'dear' }] as never })
    asked.end(' and half')
    const [response] = (await answered) as [IncomingMessage]
    const quote = JSON.parse(await text(response))
    const proof = proofOf(await fixture.world.pay(quote, fixture.payer), quote, fixture.payer, `; claim=${secret}`)
    expect(await status(gate, proof, '/dear', { method: 'POST', body: 'half and half' })).toBe(served)
  })

  it('leaves open pages and pay addresses as they were', async () => {
    const [page, moved] = [
      { path: '/page', price: 0.01 },
      { path: '/page', price: 5, scope: 'elsewhere' },
    ]
    const gate = await fixture.open({ routes: [page] })
    const quote = await gate.challenge('/page')
    const Accept = 'text/html'
    const first = await fetch(`${gate.url}/page`, { headers: { Accept } })
    const cookie = first.headers.getSetCookie()[0]?.split(';', 1)[0] ?? ''
    const requestId = /"requestId":"([^"]+)"/.exec(await first.text())?.[1] ?? 'none'
    await reload(gate, { routes: [moved] })
    expect(await (await fetch(`${gate.url}/page`, { headers: { Accept, cookie } })).text()).toContain(requestId)
    expect((await draftFor(gate, quote)).status).toBe(200)
  })
})

describe('a reload that gives an address to another route', () => {
  const all = { path: '/f/*', price: 0.01 }
  const one = { path: '/f/a', price: 5 }

  it.each<[string, Routes, Routes]>([
    ['one that is split off', [all], [one, all]],
    ['one that takes its place', [all], [one]],
    ['one that takes in its addresses', [one, all], [all]],
    ['one with other wildcards', [{ path: '/:x/a', price: 0.01 }], [{ path: '/f/:y', price: 5 }]],
  ])('honours the quotes that are open, to %s', async (_name, before, after) => {
    const gate = await fixture.open({ routes: before })
    const quotes = [await gate.challenge('/f/a'), await gate.challenge('/f/a')]
    await reload(gate, { routes: after })
    for (const quote of quotes) {
      expect(await status(gate, await payFor(quote), '/f/a')).toBe(served)
      // The next reload changes nothing of the routes.
      await reload(gate, { routes: after })
    }
    expect(await status(gate, await payFor(await gate.challenge('/f/a')), '/f/a')).toBe(served)
  })

  it('honours bundles at the addresses that they opened before, and at no others', async () => {
    const per = { requests: 9 }
    const [broad, narrow] = [
      { ...all, per },
      { ...one, per },
    ]
    const gate = await fixture.open({ routes: [broad] })
    const early = await gate.buyClaimed('/f/b')
    await reload(gate, { routes: [narrow, broad] })
    const [late, own] = [await gate.buyClaimed('/f/b'), await gate.buyClaimed('/f/a')]
    expect(await status(gate, early, '/f/a')).toBe(served)
    expect(await status(gate, late, '/f/a')).toBe('403 binding_mismatch')
    await reload(gate, { routes: [broad] })
    expect(await status(gate, own, '/f/a')).toBe(served)
    expect(await status(gate, own, '/f/b')).toBe('403 binding_mismatch')
    expect(await status(gate, late, '/f/a')).toBe(served)
  })

  it('takes no payments at /pay for addresses that no route has any more', async () => {
    const gate = await fixture.open({ routes: [{ ...all, path: '/g/*' }] })
    const quote = await gate.challenge('/g/b')
    await reload(gate, { routes: [{ ...one, path: '/g/a' }] })
    expect((await draftFor(gate, quote)).status).toBe(404)
  })
})

describe('a reload to a price function', () => {
  const bySize = ({ query }: { query(name: string): string | undefined }) => (query('size') === 'large' ? 1 : 0.01)
  const form = { method: 'POST', headers: { 'Content-Type': 'application/x-www-form-urlencoded' }, body: 'size=large' }
  const methods = ['GET', 'POST'] as const
  const target = '/data?size=small&size=large'

  it.each([
    ['another binding', undefined, undefined],
    ['the same binding', { query: ['size'] }, undefined],
    ['a form', undefined, form],
  ])('honours quotes of a fixed price for a repeated name, with %s', async (_name, bind, init) => {
    const gate = await fixture.open({
      routes: [{ path: '/data', methods, price: 0.01, ...(bind && { bind }) }] as never,
    })
    const quote = await gate.challenge(target, init)
    await reload(gate, { routes: [{ path: '/data', methods, price: bySize, bind: { query: ['size'] } }] as never })
    expect(await codeOf(await fetch(`${gate.url}${target}`, init))).toBe('400 parameter_repeated')
    expect(await status(gate, await payFor(quote), target, init)).toBe(served)
  })

  it('refuses a name that was added to the quoted request under a former price function', async () => {
    const route = { path: '/data', methods, price: bySize, bind: { query: ['size'] } }
    const gate = await fixture.open({ routes: [route] as never })
    const quote = await gate.challenge('/data?size=small', { method: 'POST' })
    await reload(gate, { routes: [{ ...route, price: 0.02, bind: 'path' }] as never })
    const proof = await payFor(quote)
    const refused = '400 parameter_repeated'
    expect(await status(gate, proof, '/data?size=small&size[]=large', { method: 'POST' })).toBe(refused)
    expect(await status(gate, proof, '/data?size=small', form)).toBe(refused)
    expect(await status(gate, proof, '/data?size=small', { method: 'POST' })).toBe(served)
  })
})
