/** 1K: where a payment and its proof may go, and where they never do. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { fetchWith402 } from '../../src/client/index.ts'
import type { Shop } from '../harness/shop.ts'
import { type ClientFixture, challengeFor, createClientFixture, expectError, hasProof } from './client-fixture.ts'

let fixture: ClientFixture
let shop: Shop
/** Asks for money, and remembers the proofs it is shown. */
let evil: string
let proofs: string[] = []

beforeAll(async () => {
  fixture = await createClientFixture()
  shop = await fixture.open({ waitSeconds: 5 })
  evil = await fixture.host((request, response) => {
    if (hasProof(request)) proofs.push(String(request.headers['payment-proof']))
    response.writeHead(402, { 'content-type': 'application/json' })
    response.end(challengeFor(fixture, `http://${request.headers.host}${request.url}`))
  })
})
beforeEach(async () => {
  proofs = []
  await fixture.received()
})
afterAll(() => fixture.close())

describe('an address', () => {
  it.each([
    'http://api.example.com/data',
    'http://192.168.1.7/data',
    'http://127.0.0.1.example.com/data',
    'http://[::ffff:10.0.0.1]/data',
  ])('T161: %s is not paid over plain http', async (address) => {
    const fetched: typeof fetch = async () => new Response(challengeFor(fixture, address), { status: 402 })
    await expectError(fetchWith402(address, fixture.options({ fetch: fetched })), 'insecure_url', /not https/)
    expect(await fixture.received()).toBe(0)
  })

  it.each([
    'http://localhost:1/',
    'http://shop.localhost/',
    'http://[::1]:8/',
    'http://127.9.9.9/',
    'https://api.example.com/',
  ])('%s may be paid', async (address) => {
    const fetched: typeof fetch = async () => new Response(challengeFor(fixture, address), { status: 402 })
    const response = await fetchWith402(address, fixture.options({ fetch: fetched, dryRun: true }))
    expect(response.status).toBe(402)
  })

  it('T160: that sends us to another origin which asks for money is not paid', async () => {
    const away = await fixture.host((_request, response) => response.writeHead(302, { location: `${evil}/data` }).end())
    await expectError(
      fetchWith402(`${away}/data`, fixture.options()),
      'wrong_origin',
      /redirected to .*, which requires payment/,
    )
    expect([await fixture.received(), proofs]).toEqual([0, []])
  })

  it('of the same origin it sends us to is paid and shown the proof, and no other', async () => {
    const moved = await fixture.front(shop.url, (request, response) => {
      if (request.url !== '/moved') return false
      response.writeHead(302, { location: '/data' }).end()
      return true
    })
    expect(await (await fetchWith402(`${moved}/moved`, fixture.options())).text()).toBe('the secret')
    expect(await fixture.received()).toBe(1)
  })

  it.each([301, 302, 303, 307, 308])(
    'a POST that came there by a %i is not paid: it may be another request by now',
    async (status) => {
      const moved = await fixture.front(shop.url, (request, response) => {
        if (request.url !== '/moved') return false
        response.writeHead(status, { location: '/data' }).end()
        return true
      })
      const post = { method: 'POST', body: '{}' }
      await expectError(
        fetchWith402(`${moved}/moved`, post, fixture.options()),
        'redirect_refused',
        /POST was redirected to/,
      )
      expect(await fixture.received()).toBe(0)
    },
  )

  it('a caller that follows no redirects gets the redirect or its error', async () => {
    const away = await fixture.host((_request, response) => response.writeHead(302, { location: `${evil}/data` }).end())
    expect((await fetchWith402(away, { redirect: 'manual' }, fixture.options())).status).toBe(302)
    await expect(fetchWith402(away, { redirect: 'error' }, fixture.options())).rejects.toThrow('fetch failed')
    await expect(fetchWith402(new Request(away, { redirect: 'error' }), fixture.options())).rejects.toThrow(
      'fetch failed',
    )
  })
})

describe('T160: a paid answer that points elsewhere', () => {
  let status = 302
  let location = ''
  let seen: (string | undefined)[] = []
  let pointing: string
  beforeAll(async () => {
    pointing = await fixture.host((request, response) => {
      seen.push(`${request.method} ${request.url} ${request.headers['content-type'] ?? '-'} ${hasProof(request)}`)
      const url = `http://${request.headers.host}${request.url}`
      if (request.url === '/elsewhere') response.end('moved')
      else if (request.url === '/gone') response.destroy()
      else if (hasProof(request)) response.writeHead(status, { location }).end()
      else response.writeHead(402, { 'content-type': 'application/json' }).end(challengeFor(fixture, url))
    })
  })
  beforeEach(() => {
    seen = []
  })

  it.each(['https://elsewhere.example/', '//elsewhere.example/', 'http://127.0.0.1:1/'])(
    'to %s is not followed',
    async (to) => {
      ;[status, location] = [302, to]
      await expectError(fetchWith402(`${pointing}/data`, fixture.options()), 'redirect_refused', /redirects to/)
      expect(seen.filter((line) => line?.endsWith('true'))).toHaveLength(1)
    },
  )

  it.each([
    [301, 'POST', 'GET /elsewhere - false'],
    [302, 'POST', 'GET /elsewhere - false'],
    [303, 'POST', 'GET /elsewhere - false'],
    [303, 'PUT', 'GET /elsewhere - false'],
    [302, 'PUT', 'PUT /elsewhere application/json false'],
    [307, 'POST', 'POST /elsewhere application/json false'],
    [308, 'POST', 'POST /elsewhere application/json false'],
  ])(
    'within the origin, with %i after a %s, is followed without the proof, as fetch would',
    async (code, method, line) => {
      ;[status, location] = [code, '/elsewhere']
      const init = { method, body: '{}', headers: { 'content-type': 'application/json' } }
      expect(await (await fetchWith402(`${pointing}/data`, init, fixture.options())).text()).toBe('moved')
      expect(seen.at(-1)).toBe(line)
      expect(await fixture.received()).toBe(1)
    },
  )

  it('is returned or refused if the caller follows no redirects', async () => {
    ;[status, location] = [302, '/elsewhere']
    const moved = await fetchWith402(`${pointing}/data`, { redirect: 'manual' }, fixture.options())
    expect([moved.status, moved.headers.get('location')]).toEqual([302, '/elsewhere'])
    const refused = fetchWith402(`${pointing}/data`, { redirect: 'error' }, fixture.options())
    await expectError(refused, 'redirect_refused', /redirects to http:\S+\/elsewhere, but redirect is 'error'/)
    expect([seen.filter((line) => line?.includes('/elsewhere')), await fixture.received()]).toEqual([[], 2])
  })

  it('to an address that closes the connection is named, with the payment that was made', async () => {
    ;[status, location] = [302, '/gone']
    await expectError(
      fetchWith402(`${pointing}/data`, fixture.options()),
      'paid_not_delivered',
      /^The payment was made, and its response redirects to http:\S+\/gone, which cannot be reached \(\w+\)\./,
    )
    expect(await fixture.received()).toBe(1)
  })
})
