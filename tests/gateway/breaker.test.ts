import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freePort } from '../harness/free-port.mjs'
import { proofOf } from '../harness/localnet-fixture.ts'
import { codeOf, eventually } from '../harness/shop.ts'
import { createGatewayFixture, type Gate, type GatewayFixture, type Upstream } from './gateway-fixture.ts'

let fixture: GatewayFixture
beforeAll(async () => {
  fixture = await createGatewayFixture()
})
afterAll(() => fixture.close())

const down = '503 resource_unavailable'
const quick = { probe: { seconds: 0.02 } }
const status = async (gate: Gate, path: string, init?: RequestInit) => codeOf(await fetch(`${gate.url}${path}`, init))
const becomes = async (gate: Gate, path: string, wanted: number) => {
  await eventually(
    async () => (await fetch(`${gate.url}${path}`)).status,
    (found) => found === wanted,
  )
}

/** Ends an upstream, and starts it again at the same address. */
function endingOf(upstream: Upstream) {
  const port = Number(new URL(upstream.url).port)
  return {
    end: () =>
      new Promise<void>((resolve) => {
        upstream.server.close(() => resolve())
        upstream.server.closeAllConnections()
      }),
    start: () => new Promise<void>((resolve) => void upstream.server.listen(port, '127.0.0.1', resolve)),
  }
}

describe('T177: while the upstream refuses connections', () => {
  it('unpaid requests get 503 and no challenge, and proofs get 503 and stay unused', async () => {
    const upstream = await fixture.startUpstream()
    const { end, start } = endingOf(upstream)
    const gate = await fixture.open({
      upstream: upstream.url,
      service: 'dead',
      probe: { seconds: 600 },
      metrics: 'open',
      routes: [
        { path: '/data', price: 0.01 },
        { path: '/tried', price: 0.01, free: { requests: 1, per: 'day' } },
        { path: '/hour', price: 0.01, per: { seconds: 3600 } },
      ],
    })
    const [proof, spare] = [await gate.buy('/data'), await gate.buy('/data')]
    const hour = await gate.buyClaimed('/hour')
    const { requestId } = await gate.challenge('/data')
    const order = (header: object) => ({
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...header },
      body: JSON.stringify({ account: fixture.payer.address }),
    })
    expect((await fetch(`${gate.url}/pay/${requestId}`, order({}))).status).toBe(200)
    expect((await gate.claim(hour, '/hour')).status).toBe(200)
    await end()
    // The first one finds out.
    const failed = await gate.claim(proof, '/data')
    expect([failed.status, failed.headers.get('payment-status')]).toEqual([502, 'retry'])
    const refused = await fetch(`${gate.url}/data`)
    expect(refused.headers.get('retry-after')).toMatch(/^\d+$/)
    expect(await refused.json()).toMatchObject({ code: 'resource_unavailable', retryable: true })
    expect(await status(gate, '/tried')).toBe(down)
    const page = await fetch(`${gate.url}/data`, { headers: { Accept: 'text/html' } })
    expect([page.status, (await page.text()).includes(down)]).toEqual([503, true])
    for (const [path, given] of [['/data', proof] as const, ['/data', spare] as const, ['/hour', hour] as const]) {
      const answer = await gate.claim(given, path)
      expect(answer.headers.get('retry-after')).toMatch(/^\d+$/)
      expect(await codeOf(answer)).toBe(down)
    }
    expect(await status(gate, `/pay/${requestId}`, order({}))).toBe(down)
    const pay = { 'Payment-Checkout': `prepare; requestId=${requestId}; token=USDC; account=${fixture.payer.address}` }
    expect(await status(gate, `/pay/${requestId}`, { headers: pay })).toBe(down)
    const look = { 'Payment-Checkout': `status; requestId=${requestId}` }
    expect((await fetch(`${gate.url}/pay/${requestId}`, { headers: look })).status).toBe(200)
    const ready = await fetch(`${gate.url}/readyz`)
    expect([ready.status, await ready.json()]).toEqual([
      503,
      expect.objectContaining({
        ready: false,
        why: [expect.stringContaining(`resource_unavailable: the upstream ${upstream.url}`)],
      }),
    ])
    expect(await (await fetch(`${gate.url}/metrics`)).text()).toContain('paystile_paused{route="GET /data"} 1')
    await start()
    expect(upstream.seen.filter(({ url }) => url === '/data')).toEqual([])
  })

  it('a probe finds out that it is back, and the same proofs are served', async () => {
    const upstream = await fixture.startUpstream()
    const { end, start } = endingOf(upstream)
    const routes = [{ path: '/data', price: 0.01 }]
    const gate = await fixture.open({ upstream: upstream.url, service: 'back', ...quick, routes })
    const proof = await gate.buy('/data')
    await end()
    // Nobody has to pay for finding out.
    await becomes(gate, '/data', 503)
    expect((await fetch(`${gate.url}/readyz`)).status).toBe(503)
    await start()
    await becomes(gate, '/data', 402)
    expect((await gate.claim(proof, '/data')).status).toBe(200)
    await eventually(
      async () => (await fetch(`${gate.url}/readyz`)).status,
      (found) => found === 200,
    )
    expect(await gate.gateway.readiness()).toMatchObject({ ready: true })
  })

  it('sells for the upstreams that are well, and says which is not', async () => {
    const [dead, well] = [await fixture.startUpstream(), await fixture.startUpstream()]
    await endingOf(dead).end()
    const gate = await fixture.open({
      ...quick,
      service: 'well',
      routes: [
        { path: '/dead', price: 0.01, upstream: dead.url },
        { path: '/well', price: 0.01, upstream: well.url },
      ],
    })
    expect(await status(gate, '/dead')).toBe(down)
    await becomes(gate, '/well', 402)
    const ready = await fetch(`${gate.url}/readyz`)
    expect([ready.status, await ready.json()]).toEqual([
      200,
      expect.objectContaining({ ready: true, why: [expect.stringContaining(dead.url)] }),
    ])
  })
})

it('T177: an upstream that answers nothing in time, not even its health path, stops its routes', async () => {
  const upstream = await fixture.startUpstream()
  const gate = await fixture.open({
    upstream: upstream.url,
    probe: { path: '/health', seconds: 0.02 },
    timeouts: { answerSeconds: 0.1 },
    routes: [
      { path: '/data', price: 0.01 },
      { path: '/other', price: 0.01 },
    ],
  })
  const proof = await gate.buy('/data')
  upstream.answer(() => {})
  expect((await gate.claim(proof, '/data')).status).toBe(504)
  await becomes(gate, '/other', 503)
  upstream.answer((_request, response) => response.end('the secret'))
  await becomes(gate, '/other', 402)
  expect((await gate.claim(proof, '/data')).status).toBe(200)
})

it('T254: requests that take too long, of one payer or unpaid, stop the sales of no route', async () => {
  const upstream = await fixture.startUpstream()
  upstream.answer((request, response) => {
    if (!request.url?.includes('slow')) response.end('the secret')
  })
  const gate = await fixture.open({
    upstream: upstream.url,
    probe: { path: '/health', seconds: 600 },
    timeouts: { answerSeconds: 0.1 },
    routes: [
      { path: '/data', price: 0.01 },
      { path: '/other', price: 0.01 },
      { path: '/free/*', free: true },
    ],
  })
  const [proof, spare] = [await gate.buy('/data?slow'), await gate.buy('/other')]
  for (let attempt = 0; attempt < 6; attempt += 1) {
    const answers = await Promise.all([gate.claim(proof, '/data?slow'), fetch(`${gate.url}/free/slow`)])
    expect(answers.map((answer) => answer.status)).toEqual([504, 504])
    expect(await status(gate, '/data')).toBe('402 undefined')
    expect(await status(gate, '/other')).toBe('402 undefined')
  }
  expect((await gate.claim(spare, '/other')).status).toBe(200)
})

it('T254: a route that does not answer five payments in time stops, and the others do not', async () => {
  const upstream = await fixture.startUpstream()
  const gate = await fixture.open({
    upstream: upstream.url,
    probe: { seconds: 600 },
    timeouts: { answerSeconds: 0.1 },
    routes: [
      { path: '/data', price: 0.01 },
      { path: '/other', price: 0.01 },
    ],
  })
  const proofs = await Promise.all(Array.from({ length: 5 }, () => gate.buy('/data')))
  upstream.answer(() => {})
  for (const proof of proofs) expect((await gate.claim(proof, '/data')).status).toBe(504)
  expect(await status(gate, '/data')).toBe(down)
  expect(await status(gate, '/other')).toBe('402 undefined')
})

describe('T177: an upstream that fails', () => {
  it('stops the one route that fails for five payments of the last ten, and recovers by its health path', async () => {
    const upstream = await fixture.startUpstream()
    const gate = await fixture.open({
      upstream: upstream.url,
      probe: { path: '/data', seconds: 0.02 },
      routes: [
        { path: '/data', price: 0.01 },
        { path: '/other', price: 0.01 },
      ],
    })
    const proofs = await Promise.all(Array.from({ length: 5 }, () => gate.buy('/data')))
    // Only payments count, each once: a single payer cannot close the shop for all.
    const [first = ''] = proofs
    const path = '/data'
    upstream.answer((request, response) => {
      response.writeHead(request.headers['x-payment-tx'] ? 500 : 200)
      response.end('answer')
    })
    for (let attempt = 0; attempt < 12; attempt += 1) expect((await gate.claim(first, path)).status).toBe(500)
    expect(await status(gate, path)).toBe('402 undefined')
    for (const proof of proofs.slice(1)) expect((await gate.claim(proof, path)).status).toBe(500)
    expect(await status(gate, path)).toBe(down)
    expect((await fetch(`${gate.url}/other`)).status).toBe(402)
    upstream.answer((_request, response) => response.end('the secret'))
    await becomes(gate, path, 402)
    for (const proof of proofs) expect((await gate.claim(proof, path)).status).toBe(200)
  })

  it('T255: is not stopped again by the same five payments', async () => {
    const upstream = await fixture.startUpstream()
    const gate = await fixture.open({
      upstream: upstream.url,
      probe: { path: '/health', seconds: 0.02 },
      routes: [{ path: '/data', price: 0.01 }],
    })
    const proofs = await Promise.all(Array.from({ length: 6 }, () => gate.buy('/data')))
    upstream.answer((request, response) => {
      response.writeHead(request.headers['x-payment-tx'] ? 500 : 200)
      response.end('answer')
    })
    const fail = async () => {
      for (const proof of proofs.slice(1)) expect((await gate.claim(proof, '/data')).status).toBe(500)
      return status(gate, '/data')
    }
    expect(await fail()).toBe(down)
    await becomes(gate, '/data', 402)
    expect(await fail()).toBe('402 undefined')
    // Five payments, of which only one is new.
    expect((await gate.claim(proofs[0] ?? '', '/data')).status).toBe(500)
    expect(await status(gate, '/data')).toBe('402 undefined')
  })

  it('for one payer only goes on selling to the others, and stops where it fails for five', async () => {
    const upstream = await fixture.startUpstream()
    const gate = await fixture.open({
      upstream: upstream.url,
      probe: { seconds: 600 },
      routes: [{ path: '/data', price: 0.01 }],
    })
    upstream.answer((request, response) => {
      response.writeHead(request.url?.endsWith('?bad') ? 500 : 200)
      response.end('answer')
    })
    const buyFor = async (payer: Awaited<ReturnType<GatewayFixture['world']['person']>>) => {
      const quote = await gate.challenge('/data?bad')
      return proofOf(await fixture.world.pay(quote, payer), quote, payer)
    }
    const others = await Promise.all(Array.from({ length: 4 }, () => fixture.world.person()))
    const one = await fixture.world.person()
    for (let attempt = 0; attempt < 12; attempt += 1) {
      if (attempt % 4 === 0) expect((await gate.claim(await gate.buy('/data'), '/data')).status).toBe(200)
      expect((await gate.claim(await buyFor(one), '/data?bad')).status).toBe(500)
      expect(await status(gate, '/data')).toBe('402 undefined')
    }
    for (const payer of others) expect((await gate.claim(await buyFor(payer), '/data?bad')).status).toBe(500)
    expect(await status(gate, '/data')).toBe(down)
  })

  it('that hangs up on every request counts as failing', async () => {
    const upstream = await fixture.startUpstream()
    const gate = await fixture.open({
      upstream: upstream.url,
      probe: { seconds: 600 },
      routes: [{ path: '/data', price: 0.01, methods: ['POST'] }],
    })
    const post = { method: 'POST' }
    const proofs = await Promise.all(Array.from({ length: 5 }, () => gate.buy('/data', post)))
    upstream.answer((request) => request.socket.destroy())
    for (const proof of proofs) expect((await gate.claim(proof, '/data', post)).status).toBe(502)
    expect(await status(gate, '/data', post)).toBe(down)
  })
})

it('T177: a gateway is not its own upstream', async () => {
  const port = await freePort()
  const routes = [{ path: '/data', price: 0.01 }]
  for (const host of ['127.0.0.1', 'localhost', '0.0.0.0']) {
    const opened = fixture.open({ listen: { port, host: '127.0.0.1' }, upstream: `http://${host}:${port}`, routes })
    await expect(opened).rejects.toThrow('is the gateway itself')
  }
  const named = fixture.open({ publicUrl: 'https://api.example', upstream: 'https://api.example', routes })
  await expect(named).rejects.toThrow('is the gateway itself')
})
