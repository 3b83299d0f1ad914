/** T250: preflights of a route with `cors: false`, which reach the upstream without payment. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { ask } from '../harness/raw.ts'
import { createGatewayFixture, type Gate, type GatewayFixture } from './gateway-fixture.ts'

const origin = 'https://app.example'
const preflight = [`Origin: ${origin}`, 'Access-Control-Request-Method: GET']
const policy = {
  'Access-Control-Allow-Origin': origin,
  'Access-Control-Allow-Headers': 'payment-proof',
  'Access-Control-Max-Age': '600',
  Vary: 'Origin',
}
let fixture: GatewayFixture
let gate: Gate
beforeAll(async () => {
  fixture = await createGatewayFixture()
  gate = await fixture.open({
    headers: { 'x-api-key': 'the key', 'x-other': 'other key', 'user-agent': 'paystile', host: 'api.example' },
    routes: [
      { path: '/report', price: 1, cors: false },
      { path: '/keyed', price: 1, cors: false },
      { path: '/keyed', methods: ['OPTIONS'], free: true },
      { path: '/slow', price: 1, cors: false, timeouts: { answerSeconds: 0.1 } },
    ],
  })
})
afterAll(() => fixture.close())
beforeEach(() => {
  fixture.upstream.seen.length = 0
  fixture.upstream.answer((_request, response) => {
    response.writeHead(200, { ...policy, 'X-Secret': 'the secret', 'Content-Type': 'text/plain' }).end('the secret')
  })
})

describe('T250: a preflight that the gateway leaves to the upstream', () => {
  it('returns the decision of an upstream that ignores the method, and nothing of the resource', async () => {
    const answer = await ask(gate.url, 'OPTIONS /report?size=large HTTP/1.1', preflight)
    expect([answer.status, answer.body]).toEqual([204, ''])
    const names = [...answer.headers.keys()].filter((name) => !/^(?:connection|date)$/.test(name))
    expect(names.sort()).toEqual(
      Object.keys(policy)
        .map((name) => name.toLowerCase())
        .sort(),
    )
    for (const [name, value] of Object.entries(policy)) expect(answer.headers.get(name)).toBe(value)
    expect(fixture.upstream.seen).toMatchObject([{ method: 'OPTIONS', url: '/report?size=large' }])
  })

  it('returns the decision also before a body without end', async () => {
    const closed = new Promise((resolve) =>
      fixture.upstream.answer((_request, response) => {
        response.writeHead(200, policy).on('close', resolve)
        const send = () => void (response.destroyed || response.write('the secret'.repeat(1_000), send))
        send()
      }),
    )
    const answer = await ask(gate.url, 'OPTIONS /report HTTP/1.1', preflight)
    expect([answer.status, answer.body]).toEqual([204, ''])
    await closed
  })

  it.each([301, 401, 403, 404, 500])('returns a %i without its body and location', async (status) => {
    fixture.upstream.answer((_request, response) =>
      response.writeHead(status, { ...policy, Location: '/the-secret' }).end('the secret'),
    )
    const answer = await ask(gate.url, 'OPTIONS /report HTTP/1.1', preflight)
    expect([answer.status, answer.headers.get('location'), answer.headers.get('vary')]).toEqual([
      status,
      null,
      'Origin',
    ])
    expect(answer.body).not.toContain('secret')
  })

  it('sends no keys of the provider, no credentials and no body to the upstream', async () => {
    const lines = ['Cookie: a=b', 'Authorization: Bearer c', 'X-Foreign: d', 'User-Agent: browser', 'Content-Length: 4']
    const answer = await ask(gate.url, 'OPTIONS /report HTTP/1.1', [...preflight, ...lines, '', 'body'])
    expect(answer.status).toBe(204)
    const [seen] = fixture.upstream.seen
    expect(seen?.body).toBe('')
    expect(seen?.headers).toMatchObject({
      ...{ origin, 'access-control-request-method': 'GET', 'user-agent': 'paystile', host: 'api.example' },
      'x-forwarded-for': '127.0.0.1',
    })
    const others = ['x-api-key', 'x-other', 'cookie', 'authorization', 'x-foreign', 'content-length']
    expect(Object.keys(seen?.headers ?? {}).filter((name) => others.includes(name))).toEqual([])
  })

  it.each([
    ['no Origin', preflight.slice(1)],
    ['no method that it asks for', preflight.slice(0, 1)],
    ['the method of no route', [`Origin: ${origin}`, 'Access-Control-Request-Method: PUT']],
  ])('is none with %s, and reaches nothing', async (_name, lines) => {
    const answer = await ask(gate.url, 'OPTIONS /report HTTP/1.1', lines)
    expect([answer.status, answer.headers.get('allow'), fixture.upstream.seen]).toEqual([405, 'GET, HEAD', []])
  })

  it('is forwarded whole where OPTIONS has a free route of its own', async () => {
    const answer = await ask(gate.url, 'OPTIONS /keyed HTTP/1.1', preflight)
    expect([answer.body, fixture.upstream.seen[0]?.headers['x-api-key']]).toEqual(['the secret', 'the key'])
  })

  it('gets an error if the upstream does not respond, which stops no sales', async () => {
    fixture.upstream.answer(() => {})
    expect((await ask(gate.url, 'OPTIONS /slow HTTP/1.1', preflight)).status).toBe(504)
    expect((await fetch(`${gate.url}/slow`)).status).toBe(402)
    fixture.upstream.answer((request) => request.socket.destroy())
    expect((await ask(gate.url, 'OPTIONS /report HTTP/1.1', preflight)).status).toBe(502)
  })
})
