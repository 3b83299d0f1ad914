/** What goes through a gateway, and what does not. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { parseReceipt } from '../../src/core/protocol/receipt.ts'
import { ask, sendRaw } from '../harness/raw.ts'
import { codeOf, eventually } from '../harness/shop.ts'
import { txOf } from '../harness/shop-fixture.ts'
import { createGatewayFixture, type Gate, type GatewayFixture } from './gateway-fixture.ts'

let fixture: GatewayFixture
let gate: Gate
beforeAll(async () => {
  fixture = await createGatewayFixture()
  gate = await fixture.open({
    probe: { seconds: 0.02 },
    routes: [
      { path: '/api/weather', price: 0.01, envelope: 'verified' },
      { path: '/api/result', price: 0.01, envelope: 'result' },
      { path: '/data', price: 0.01 },
      { path: '/things/:id', price: 0.01, methods: ['GET', 'POST', 'DELETE'] },
      { path: '/free/*', free: true, methods: ['GET', 'POST'] },
      { path: '/cookie', free: true, forward: ['Cookie', 'authorization'] },
      {
        path: '/keyed',
        free: true,
        headers: { Authorization: 'Bearer provider', 'X-Org': 'ours' },
        forward: ['x-model'],
      },
      { path: '/hosted', free: true, preserveHost: true },
      { path: '/hour/*', price: 0.01, per: { seconds: 3600 }, methods: ['GET', 'POST'] },
      { path: '/quick', price: 0.01, timeouts: { answerSeconds: 0.2 } },
      { path: '/quick-free', free: true, timeouts: { answerSeconds: 0.2 } },
      { path: '/own-cors', price: 0.01, cors: false },
      { path: '/tried', price: 0.01, free: { requests: 1, per: 'day' } },
    ],
  })
})
afterAll(() => fixture.close())
beforeEach(() => {
  fixture.upstream.seen.length = 0
  fixture.upstream.answer((_request, response) => response.end('the secret'))
})
const last = () => fixture.upstream.seen.at(-1)

it.each([
  ['gzip', 'gzip'],
  ['identity', null],
])('an error page is compressed for people who accept it (%s)', async (accepted, encoding) => {
  const headers = { Accept: 'text/html', 'Accept-Encoding': accepted }
  const page = await fetch(`${gate.url}/nowhere`, { headers })
  expect([page.status, page.headers.get('content-encoding')]).toEqual([404, encoding])
  expect(await page.text()).toContain('<!doctype html>')
})

describe('a paid route', () => {
  it('asks for the price, and admits a payment once, with a receipt', async () => {
    const unpaid = await fetch(`${gate.url}/data`)
    expect([unpaid.status, unpaid.headers.get('cache-control')]).toEqual([402, 'no-store'])
    expect(fixture.upstream.seen).toEqual([])
    const proof = await gate.buy('/data?q=1')
    expect(fixture.upstream.seen).toEqual([])
    const response = await gate.claim(proof, '/data?q=1')
    expect([response.status, await response.text()]).toEqual([200, 'the secret'])
    expect(parseReceipt(response.headers.get('payment-receipt') ?? '')).toMatchObject({
      reference: txOf(proof),
      resource: `${gate.url}/data?q=1`,
    })
    expect(last()).toMatchObject({ method: 'GET', url: '/data?q=1' })
    expect(await codeOf(await gate.claim(proof, '/data?q=1'))).toBe('409 payment_replay')
    expect(fixture.upstream.seen).toHaveLength(1)
  })

  it('wraps the response of an upstream in the envelope, and requests uncompressed bytes', async () => {
    fixture.upstream.answer((_request, response) => {
      response.writeHead(200, { 'Content-Type': 'application/json' })
      response.end('{"sky":"clear"}')
    })
    const weather = await gate.claim(await gate.buy('/api/weather'), '/api/weather')
    expect(await weather.json()).toEqual({ status: 'verified', message: expect.any(String), data: { sky: 'clear' } })
    expect(last()?.headers['accept-encoding']).toBe('identity')
    const result = await gate.claim(await gate.buy('/api/result'), '/api/result')
    expect(await result.json()).toEqual({ result: expect.any(String), data: { sky: 'clear' } })
  })

  it('wraps the whole response for a client that requests a part', async () => {
    fixture.upstream.answer((request, response) => {
      response.writeHead(request.headers.range ? 206 : 200, { 'Content-Type': 'application/json', ETag: '"v1"' })
      response.end(request.headers.range ? 'clear"}' : '{"sky":"clear"}')
    })
    const headers = { Range: 'bytes=8-' }
    const answer = await gate.claim(await gate.buy('/api/result'), '/api/result', { headers })
    expect([answer.status, await answer.json()]).toEqual([200, { result: expect.any(String), data: { sky: 'clear' } }])
    // With a validator, the client would continue the original body in the wrapped one.
    expect(answer.headers.get('etag')).toBeNull()
  })

  it('continues a body that is not wrapped', async () => {
    fixture.upstream.answer((request, response) => {
      const isPart = request.headers.range === 'bytes=2-' && request.headers['if-range'] === '"v1"'
      response.writeHead(isPart ? 206 : 200, { 'Content-Type': 'application/octet-stream', ETag: '"v1"' })
      response.end(isPart ? 'cd' : 'abcd')
    })
    const headers = { Range: 'bytes=2-', 'If-Range': '"v1"' }
    const answer = await gate.claim(await gate.buy('/api/result'), '/api/result', { headers })
    expect([answer.status, await answer.text(), answer.headers.get('etag')]).toEqual([206, 'cd', '"v1"'])
  })

  it.each(['0', undefined])('wraps an answer without a body as null, with a length of %s', async (length) => {
    fixture.upstream.answer((_request, response) => {
      response.writeHead(200, { 'Content-Type': 'application/json', ...(length && { 'Content-Length': length }) })
      response.end()
    })
    const answer = await gate.claim(await gate.buy('/api/result'), '/api/result')
    expect(await answer.json()).toEqual({ result: expect.any(String), data: null })
    // A byte too much would be read as the next answer on this connection.
    expect((await fetch(`${gate.url}/api/result`)).status).toBe(402)
  })

  it('T107: marks a paid response as private, regardless of the upstream', async () => {
    fixture.upstream.answer((_request, response) => {
      response.writeHead(200, {
        'Cache-Control': 'public, max-age=3600',
        'CDN-Cache-Control': 'max-age=3600',
        'Surrogate-Control': 'max-age=3600',
        Vary: 'Accept',
      })
      response.end('x')
    })
    const { headers } = await gate.claim(await gate.buy('/data'), '/data')
    expect(headers.get('cache-control')).toBe('private, no-store')
    expect(headers.get('vary')).toBe('Accept, Payment-Proof')
    expect([headers.get('cdn-cache-control'), headers.get('surrogate-control')]).toEqual([null, null])
  })

  it('tells the upstream the payment, and removes such headers of the client', async () => {
    const proof = await gate.buy('/data')
    const lies = {
      'X-Payment-Tx': 'forged',
      X_Payment_Amount: '1000000',
      'X.Payment~Amount': '1000000',
      'X-Paystile-Anything': 'forged',
      'Payment-Receipt': 'forged',
    }
    const response = await gate.claim(proof, '/data', { headers: lies })
    const receipt = parseReceipt(response.headers.get('payment-receipt') ?? '')
    const { headers = {} } = last() ?? {}
    expect(headers).toMatchObject({
      'x-payment-tx': txOf(proof),
      'x-payment-payer': receipt?.payer,
      'x-payment-token': 'USDC',
      'x-payment-amount': '0.01',
    })
    expect(headers['x-payment-request']).toMatch(/^[\w-]{20,}$/)
    expect(JSON.stringify(headers)).not.toContain('forged')
    expect(JSON.stringify(headers)).not.toContain('1000000')
    expect(JSON.stringify(headers)).not.toContain(receipt?.requestId)
    expect(headers['payment-proof']).toBeUndefined()
    expect(headers['payment-accept']).toBeUndefined()
  })

  it('gives every delivery of one payment the same idempotency key, and no other payment', async () => {
    const keys: unknown[] = []
    fixture.upstream.answer((request, response) => {
      keys.push(request.headers['idempotency-key'])
      response.writeHead(keys.length < 3 ? 503 : 200).end('x')
    })
    const proof = await gate.buy('/things/7', { method: 'POST' })
    const post = { method: 'POST', headers: { 'Idempotency-Key': 'the client’s'.replace('’', '') } }
    const statuses = []
    for (let turn = 0; turn < 3; turn += 1) statuses.push((await gate.claim(proof, '/things/7', post)).status)
    expect(statuses).toEqual([503, 503, 200])
    expect(new Set(keys).size).toBe(1)
    expect(keys[0]).toMatch(/^[\w-]{43}$/)
    await gate.claim(await gate.buy('/things/7', { method: 'POST' }), '/things/7', post)
    expect(keys.at(-1)).not.toBe(keys[0])
  })

  it('sends an idempotency key for an allowance of many requests only if the client has one, and without collisions', async () => {
    const [first, second] = [await gate.buyClaimed('/hour/a'), await gate.buyClaimed('/hour/a')]
    const keyOf = async (proof: string, key?: string) => {
      const headers = key === undefined ? {} : { 'Idempotency-Key': key }
      await (await gate.claim(proof, '/hour/a', { headers })).text()
      return last()?.headers['idempotency-key']
    }
    expect(await keyOf(first)).toBeUndefined()
    const one = await keyOf(first, 'k')
    expect(one).toMatch(/^[\w-]{43}$/)
    expect(await keyOf(first, 'k')).toBe(one)
    expect(await keyOf(first, 'other')).not.toBe(one)
    expect(await keyOf(second, 'k')).not.toBe(one)
  })

  it('HEAD goes with GET, has a price of its own, and no body', async () => {
    const proof = await gate.buy('/data').catch(() => '')
    expect(proof).not.toBe('')
    const head = await fetch(`${gate.url}/free/x`, { method: 'HEAD' })
    expect([head.status, last()?.method]).toEqual([200, 'HEAD'])
    expect((await fetch(`${gate.url}/data`, { method: 'HEAD' })).status).toBe(402)
  })

  it('answers a browser’s preflight for nothing, and leaves it to an upstream that wants it', async () => {
    const headers = { Origin: 'https://app.example', 'Access-Control-Request-Method': 'GET' }
    const preflight = await fetch(`${gate.url}/data`, { method: 'OPTIONS', headers })
    expect([preflight.status, fixture.upstream.seen.length]).toEqual([204, 0])
    expect(preflight.headers.get('access-control-allow-headers')).toContain('Payment-Proof')
    fixture.upstream.answer((_request, response) =>
      response.writeHead(204, { 'Access-Control-Allow-Origin': 'https://app.example' }).end(),
    )
    const own = await fetch(`${gate.url}/own-cors`, { method: 'OPTIONS', headers })
    expect([own.status, last()?.method, own.headers.get('access-control-allow-origin')]).toEqual([
      204,
      'OPTIONS',
      'https://app.example',
    ])
    expect((await fetch(`${gate.url}/own-cors`)).status).toBe(402)
    const without = await fetch(`${gate.url}/data`, { method: 'OPTIONS' })
    expect([without.status, without.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
    const unsold = { Origin: 'https://app.example', 'Access-Control-Request-Method': 'PUT' }
    expect((await fetch(`${gate.url}/data`, { method: 'OPTIONS', headers: unsold })).status).toBe(405)
  })

  it('distinguishes preflights from other requests, and charges for OPTIONS if it is sold', async () => {
    const asked = { 'Access-Control-Request-Method': 'GET' }
    expect((await ask(gate.url, 'GET /own-cors HTTP/1.1', ['Access-Control-Request-Method: GET'])).status).toBe(402)
    expect((await ask(gate.url, 'DELETE /own-cors HTTP/1.1', ['Access-Control-Request-Method: GET'])).status).toBe(405)
    const sold = await fixture.open({
      routes: [{ path: '/a', price: 0.01, methods: ['GET', 'OPTIONS'], cors: false }],
    })
    expect((await fetch(`${sold.url}/a`, { method: 'OPTIONS', headers: asked })).status).toBe(402)
    expect(fixture.upstream.seen).toEqual([])
  })

  it('lets a free quota through without saying that something was paid', async () => {
    const first = await fetch(`${gate.url}/tried`)
    expect([first.status, first.headers.has('payment-receipt')]).toEqual([200, false])
    expect(Object.keys(last()?.headers ?? {}).filter((name) => name.startsWith('x-payment'))).toEqual([])
    expect((await fetch(`${gate.url}/tried`)).status).toBe(402)
  })
})

describe('the request to an upstream', () => {
  it('the provider’s own Host and Idempotency-Key, where there is one, and no second', async () => {
    const headers = { Host: 'inner.example', 'Idempotency-Key': 'ours' }
    const own = await fixture.open({ routes: [{ path: '/a', price: 0.01, headers, preserveHost: true }] })
    await own.claim(await own.buy('/a'), '/a', { headers: { 'Idempotency-Key': 'theirs' } })
    const raw = last()?.rawHeaders ?? []
    const valuesOf = (name: string) => raw.filter((_value, index) => raw[index - 1]?.toLowerCase() === name)
    expect([valuesOf('host'), valuesOf('idempotency-key')]).toEqual([['inner.example'], ['ours']])
  })

  it('another idempotency key for another method or path', async () => {
    const proof = await gate.buyClaimed('/hour/a')
    const keys: unknown[] = []
    for (const [method, path] of [
      ['GET', '/hour/a'],
      ['POST', '/hour/a'],
      ['GET', '/hour/b'],
      ['GET', '/hour/a?b'],
    ] as const) {
      await gate.claim(proof, path, { method, headers: { 'Idempotency-Key': 'mine' } })
      keys.push(last()?.headers['idempotency-key'])
    }
    expect([new Set(keys).size, keys.includes(undefined)]).toEqual([4, false])
  })

  it('T106: no headers of the connection, nor those that Connection names', async () => {
    await ask(gate.url, 'GET /free/a HTTP/1.1', [
      'Keep-Alive: timeout=5',
      'TE: trailers',
      'Trailer: X-End',
      'Proxy-Authorization: Basic x',
      'Proxy-Connection: keep-alive',
      'X-Kept: yes',
    ]).catch(() => {})
    const names = Object.keys(last()?.headers ?? {})
    expect(names.filter((name) => /^(te|trailer|keep-alive|proxy-.*|upgrade|expect)$/.test(name))).toEqual([])
    expect(last()?.headers['x-kept']).toBe('yes')
  })

  it('nothing that Connection names, and all that only the gateway says although it is named', async () => {
    const { hostname, port } = new URL(gate.url)
    const { request } = await import('node:http')
    await new Promise<void>((resolve, reject) => {
      const headers = { Connection: 'close, X-Hop, X-Forwarded-For', 'X-Hop': '1', 'X-Kept': '1' }
      request({ hostname, port, path: '/free/a', headers }, (response) => response.resume().on('end', resolve))
        .on('error', reject)
        .end()
    })
    expect(last()?.headers).toMatchObject({ 'x-kept': '1', 'x-forwarded-for': '127.0.0.1' })
    expect(last()?.headers['x-hop']).toBeUndefined()
  })

  it('T111: no header that would make it another request', async () => {
    const headers = {
      'X-HTTP-Method-Override': 'DELETE',
      'X-Method-Override': 'DELETE',
      'X-Original-URL': '/data',
      'X-Rewrite-URL': '/data',
    }
    await fetch(`${gate.url}/free/a`, { method: 'POST', headers })
    expect(last()).toMatchObject({ method: 'POST', url: '/free/a' })
    expect(JSON.stringify(last()?.headers)).not.toMatch(/override|x-original|x-rewrite/i)
  })

  it('T105: has the address of the client as the gateway sees it, regardless of its headers', async () => {
    const headers = {
      'X-Forwarded-For': '1.2.3.4',
      'X-Forwarded-Proto': 'https',
      'X-Forwarded-Host': 'evil.example',
      Forwarded: 'for=1.2.3.4',
      'X-Real-IP': '1.2.3.4',
    }
    await fetch(`${gate.url}/free/a`, { headers })
    expect(last()?.headers).toMatchObject({
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-proto': 'http',
      'x-forwarded-host': new URL(gate.url).host,
      host: new URL(fixture.upstream.url).host,
    })
    expect(JSON.stringify(last()?.headers)).not.toMatch(/1\.2\.3\.4|evil/)
    await fetch(`${gate.url}/hosted`)
    expect(last()?.headers.host).toBe(new URL(gate.url).host)
  })

  it('T105: the chain of addresses where proxies in front are trusted, and our public name', async () => {
    const behind = await fixture.open({
      trustProxy: 1,
      publicUrl: 'https://api.example.com',
      routes: [{ path: '/free', free: true }],
    })
    const headers = { 'X-Forwarded-For': '9.9.9.9', 'X-Forwarded-Host': 'evil.example', 'X-Real-IP': '9.9.9.9' }
    await fetch(`${behind.url}/free`, { headers })
    expect(last()?.headers).toMatchObject({
      'x-forwarded-for': '9.9.9.9, 127.0.0.1',
      'x-forwarded-proto': 'https',
      'x-forwarded-host': 'api.example.com',
      'x-real-ip': '9.9.9.9',
    })
  })

  it('T144: no credentials of a caller, unless the route asks for them', async () => {
    const headers = { Authorization: 'Bearer caller', Cookie: 'session=caller', 'X-Api-Key': 'caller', 'X-Model': 'm' }
    const names = ['Remote-User', 'X-Remote-User', 'X-WebAuth-User', 'X-Auth-Request-Email', 'SSL-Client-S-DN']
    const claims = Object.fromEntries(names.map((name) => [name, 'caller']))
    await fetch(`${gate.url}/free/a`, { headers: { ...headers, ...claims } })
    expect(JSON.stringify(last()?.headers)).not.toContain('caller')
    expect(last()?.headers['x-model']).toBe('m')
    const Cookie = `${headers.Cookie}; __Host-paystile_${'a'.repeat(16)}=r.${'s'.repeat(32)}`
    await fetch(`${gate.url}/cookie`, { headers: { ...headers, Cookie } })
    expect(last()?.headers).toMatchObject({ authorization: 'Bearer caller', cookie: 'session=caller' })
    expect(last()?.headers['x-api-key']).toBeUndefined()
  })

  it('T144: has, beside a key of the provider, no header of the caller that could change its use', async () => {
    const headers = {
      Authorization: 'Bearer caller',
      X_Org: 'caller',
      'X-Org': 'caller',
      'Stripe-Account': 'caller',
      'OpenAI-Organization': 'caller',
      'X-Model': 'm',
      'Accept-Language': 'de',
    }
    await fetch(`${gate.url}/keyed`, { headers })
    expect(last()?.headers).toMatchObject({
      authorization: 'Bearer provider',
      'x-org': 'ours',
      'x-model': 'm',
      'accept-language': 'de',
    })
    expect(JSON.stringify(last()?.headers)).not.toContain('caller')
  })

  it('the body as it comes, with its length or in chunks', async () => {
    fixture.upstream.answer(async (_request, response, body) => response.end(`got ${(await body).length}`))
    const long = 'x'.repeat(300_000)
    expect(await (await fetch(`${gate.url}/free/a`, { method: 'POST', body: long })).text()).toBe('got 300000')
    expect(last()?.headers['content-length']).toBe('300000')
    let parts = 0
    const stream = new ReadableStream({
      pull: async (controller) => {
        await new Promise((resolve) => setTimeout(resolve, 5))
        controller.enqueue(new TextEncoder().encode('abc'))
        if (++parts === 3) controller.close()
      },
    })
    const init = { method: 'POST', body: stream, duplex: 'half' } as RequestInit
    expect(await (await fetch(`${gate.url}/free/a`, init)).text()).toBe('got 9')
    expect(last()?.headers['transfer-encoding']).toBe('chunked')
  })

  it('the query as it came, byte by byte', async () => {
    await ask(gate.url, 'GET /free/a?x=%2f..%2F;\\|"<>^`{}&y=1 HTTP/1.1')
    expect(last()?.url).toBe('/free/a?x=%2f..%2F;\\|"<>^`{}&y=1')
  })
})

describe('the response to a client', () => {
  it('headers of the upstream, without those of its connection and those that are ours to say', async () => {
    fixture.upstream.answer((_request, response) => {
      response.writeHead(200, [
        ...['Set-Cookie', 'a=1', 'Set-Cookie', 'b=2', 'X-Own', 'yes', 'Connection', 'keep-alive, X-Hop', 'X-Hop', '1'],
        ...[
          'Payment-Receipt',
          'forged',
          'Payment-Allowance',
          'forged',
          'Payment-Status',
          'forged',
          'X-Payment-Tx',
          'forged',
        ],
        ...['Alt-Svc', 'h3=":443"', 'ETag', '"v1"'],
      ])
      response.end('x')
    })
    const response = await fetch(`${gate.url}/free/a`)
    expect(response.headers.getSetCookie()).toEqual(['a=1', 'b=2'])
    expect([response.headers.get('x-own'), response.headers.get('etag')]).toEqual(['yes', '"v1"'])
    const said = JSON.stringify([...response.headers])
    expect(said).not.toMatch(/forged|x-hop|alt-svc/)
    const paid = await gate.claim(await gate.buy('/data'), '/data')
    expect(JSON.stringify([...paid.headers])).not.toContain('forged')
    expect(parseReceipt(paid.headers.get('payment-receipt') ?? '')).toBeDefined()
  })

  it('T143: a redirect, which is not followed', async () => {
    fixture.upstream.answer((_request, response) =>
      response.writeHead(302, { Location: 'http://169.254.169.254/' }).end(),
    )
    const response = await fetch(`${gate.url}/free/a`, { redirect: 'manual' })
    expect([response.status, response.headers.get('location')]).toEqual([302, 'http://169.254.169.254/'])
    expect(fixture.upstream.seen).toHaveLength(1)
  })

  it('a 304 that says how long the body is which it does not have', async () => {
    fixture.upstream.answer((_request, response) =>
      response.writeHead(304, { 'Content-Length': '200', ETag: '"a"' }).end(),
    )
    const headers = { 'If-None-Match': '"a"' }
    for (const response of [
      await fetch(`${gate.url}/free/a`, { headers }),
      await gate.claim(await gate.buy('/data'), '/data', { headers }),
    ])
      expect([response.status, response.headers.get('etag')]).toEqual([304, '"a"'])
  })

  it('T114: is 502 for an upstream that ends early, and later the paid response', async () => {
    fixture.upstream.answer((request) => request.socket.destroy())
    const proof = await gate.buy('/data')
    const broken = await gate.claim(proof, '/data')
    expect(broken.headers.get('payment-status')).toBe('retry')
    expect(await broken.json()).toMatchObject({ status: 502, code: 'handler_failed', paid: true, retryable: true })
    fixture.upstream.answer((_request, response) => response.end('at last'))
    expect(await (await gate.claim(proof, '/data')).text()).toBe('at last')
  })

  it('T114: 504 for one that does not answer in time, with the payment kept', async () => {
    fixture.upstream.answer(() => {})
    const proof = await gate.buy('/quick')
    const late = await gate.claim(proof, '/quick')
    expect([late.status, await late.json()]).toMatchObject([504, { status: 504, code: 'handler_failed', paid: true }])
    expect(fixture.logged.at(-1)).toMatch(/"handler.failed".*did not respond within [\d.]+ s"/)
    const free = await fetch(`${gate.url}/quick-free`)
    expect([free.status, await free.json()]).toMatchObject([504, { code: 'upstream_failed' }])
    fixture.upstream.answer((_request, response) => response.end('at last'))
    await eventually(
      async () => (await fetch(`${gate.url}/quick`)).status,
      (status) => status === 402,
    )
    expect(await (await gate.claim(proof, '/quick')).text()).toBe('at last')
  })

  it('T114: is 502 without a listener, and does not reveal the address', async () => {
    const gone = await fixture.startUpstream()
    const nowhere = await fixture.open({
      upstream: gone.url,
      probe: { seconds: 600 },
      routes: [
        { path: '/a', price: 0.01 },
        { path: '/b', free: true },
      ],
    })
    const proof = await nowhere.buy('/a')
    gone.close()
    const paid = await nowhere.claim(proof, '/a')
    const text = await paid.text()
    expect([paid.status, JSON.parse(text).paid]).toEqual([502, true])
    const free = await (await fetch(`${nowhere.url}/b`)).text()
    expect(JSON.parse(free)).toMatchObject({ status: 502, code: 'upstream_failed' })
    expect(JSON.parse(free)).not.toHaveProperty('paid')
    expect(text + free).not.toContain('127.0.0.1')
  })

  it('T123: 5xx of the upstream costs nothing, 4xx gives back, at most three times', async () => {
    fixture.upstream.answer((_request, response) => response.writeHead(500).end('sorry'))
    const proof = await gate.buy('/data')
    for (let turn = 0; turn < 5; turn += 1) {
      const answer = await gate.claim(proof, '/data')
      expect([answer.status, await answer.text(), answer.headers.get('payment-status')]).toEqual([
        500,
        'sorry',
        'retry',
      ])
    }
    fixture.upstream.answer((_request, response) => response.writeHead(422).end('bad input'))
    const codes = []
    for (let turn = 0; turn < 4; turn += 1) codes.push((await gate.claim(proof, '/data')).status)
    expect(codes).toEqual([422, 422, 422, 409])
  })

  it('half an answer is never a whole one: the connection breaks, and the payment goes back', async () => {
    fixture.upstream.answer((_request, response) => {
      response.writeHead(200)
      response.write('half of it')
      setTimeout(() => response.destroy(), 20)
    })
    const proof = await gate.buy('/data')
    const broken = await gate.claim(proof, '/data')
    await expect(broken.text()).rejects.toThrow()
    await eventually(
      () => gate.events.at(-1),
      (event) => event?.kind === 'ended' && event.outcome === 'partial',
    )
    fixture.upstream.answer((_request, response) => response.end('all of it'))
    expect(await (await gate.claim(proof, '/data')).text()).toBe('all of it')
  })

  it('an answer that came before its body was sent, and a connection that goes on', async () => {
    fixture.upstream.answer((_request, response) => response.writeHead(413).end('too long'))
    const response = await fetch(`${gate.url}/free/a`, { method: 'POST', body: 'x'.repeat(5_000_000) })
    expect([response.status, await response.text()]).toEqual([413, 'too long'])
  })

  it('the next answer over the same connection, although the upstream did not want the body before it', async () => {
    fixture.upstream.answer((request, response) => {
      if (request.method === 'GET') return response.end('the next')
      return response.writeHead(413).end('too long')
    })
    const body = 'x'.repeat(3_000_000)
    const first = `POST /free/a HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`
    const answers = await sendRaw(gate.url, `${first}GET /free/b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
    expect(answers.match(/HTTP\/1\.1 \d{3}|the next/g)).toEqual(['HTTP/1.1 413', 'HTTP/1.1 200', 'the next'])
  })
})

describe('addresses', () => {
  it('are 404 where no route names them, as problem+json', async () => {
    const response = await fetch(`${gate.url}/nothing`)
    expect([response.status, response.headers.get('content-type')]).toEqual([404, 'application/problem+json'])
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.headers.get('x-content-type-options')).toBe('nosniff')
    expect(await response.json()).toMatchObject({ status: 404, code: 'not_found' })
  })

  it('are 405 with the allowed methods if only the method has no route, and the upstream gets no request', async () => {
    const response = await fetch(`${gate.url}/data?x`, { method: 'POST', body: 'x' })
    expect([response.status, response.headers.get('content-type')]).toEqual([405, 'application/problem+json'])
    expect(response.headers.get('allow')).toBe('GET, HEAD')
    expect(await response.json()).toMatchObject({ status: 405, code: 'method_not_allowed' })
    const allowed = async (method: string, path: string) =>
      (await fetch(`${gate.url}${path}`, { method })).headers.get('allow')
    expect(await allowed('PUT', '/things/1')).toBe('GET, HEAD, POST, DELETE')
    expect(await allowed('OPTIONS', '/things/1')).toBe('GET, HEAD, POST, DELETE')
    expect(fixture.upstream.seen).toEqual([])
  })

  it('T97: are 404 for any method if an upstream may read them differently, or they belong to the service', async () => {
    const many = await fixture.open({
      routes: [
        { path: '/api/weather', price: 0.01, methods: ['GET'] },
        { path: '/*', free: true, methods: ['GET'] },
      ],
    })
    const status = async (line: string) => (await ask(many.url, `${line} HTTP/1.1`)).status
    expect(await status('POST /API/Weather')).toBe(404)
    expect(await status('POST /other/../api/weather')).toBe(404)
    expect(await status('POST /other')).toBe(405)
    expect(await status('POST /other?x#x')).toBe(404)
    const free = await fixture.open({ routes: [{ path: '/*', free: true }] })
    expect((await ask(free.url, 'POST /metrics HTTP/1.1')).status).toBe(404)
    expect(fixture.upstream.seen).toEqual([])
  })

  it.each([
    '/DATA',
    '/data/',
    '//data',
    '/./data',
    '/free/../data',
    '/free/%2e%2e/data',
    '/free/..%2fdata',
    '/free/..\\data',
    '/free/%5c..%5cdata',
    '/free/x;/../data',
    '/free//../data',
    '/free/%252e%252e/data',
    '/data%00',
    '/data%20',
    '/data#x',
    '/data;x=1',
  ])('T97: %s is no way to /data', async (target) => {
    expect((await ask(gate.url, `GET ${target} HTTP/1.1`)).status).toBe(404)
    expect(fixture.upstream.seen).toEqual([])
  })

  it('T97: an encoded alias and an absolute target are the route itself', async () => {
    expect((await ask(gate.url, 'GET /%64ata HTTP/1.1')).status).toBe(402)
    expect((await ask(gate.url, 'GET http://evil.example/data HTTP/1.1')).status).toBe(402)
    expect((await ask(gate.url, 'GET http://evil.example/free/a HTTP/1.1')).status).toBe(200)
    expect(last()?.url).toBe('/free/a')
    expect(last()?.headers.host).toBe(new URL(fixture.upstream.url).host)
  })

  it('of the service come first, also before a route that takes all', async () => {
    const all = await fixture.open({ routes: [{ path: '/*', free: true }] })
    expect(await (await fetch(`${all.url}/healthz`)).json()).toEqual({ status: 'ok' })
    const ready = await fetch(`${gate.url}/readyz`)
    expect([ready.status, await ready.json()]).toMatchObject([200, { ready: true }])
    expect((await fetch(`${all.url}/metrics`)).status).toBe(404)
    expect(await (await fetch(`${gate.url}/api/analytics`)).json()).toHaveProperty('totalRevenue')
    expect((await fetch(`${all.url}/anything`)).status).toBe(200)
  })

  it('come first if another server has the paths of the service', async () => {
    const { createGateway } = await import('../../src/gateway/gateway.ts')
    let isClosed = false
    const gateway = createGateway(
      { upstream: fixture.upstream.url, listen: { port: 0 }, routes: [{ path: '/*', free: true }] },
      {
        routes: {
          owns: (path) => path === '/dashboard',
          listener: (_request, response) => void response.end('ours'),
          close: async () => {
            isClosed = true
          },
        },
      },
    )
    const url = await gateway.listen()
    expect(await (await fetch(`${url}/dashboard?x`)).text()).toBe('ours')
    expect(await (await fetch(`${url}/other`)).text()).toBe('the secret')
    await gateway.close()
    expect(isClosed).toBe(true)
  })

  it('may have something before them at the upstream', async () => {
    const prefixed = await fixture.open({
      upstream: `${fixture.upstream.url}/v1/`,
      routes: [{ path: '/a/*', free: true }],
    })
    await fetch(`${prefixed.url}/a/%62?c`)
    expect(last()?.url).toBe('/v1/a/%62?c')
  })
})
