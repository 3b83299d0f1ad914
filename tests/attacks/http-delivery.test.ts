/** 1F: what a connection does to a delivery: pipelines, clients that leave, caches, validators, listeners that throw. */
import { connect } from 'node:net'
import type { KeyPairSigner } from '@solana/kit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Challenge } from '../../src/core/protocol/challenge.ts'
import { adapters, type Content } from '../harness/adapters.ts'
import { cells } from '../harness/length.ts'
import { type LocalnetFixture, proofOf } from '../harness/localnet-fixture.ts'
import { sendRaw } from '../harness/raw.ts'
import { eventually, type Shop } from '../harness/shop.ts'
import { createShopFixture, expectRefused, expectServed, type ShopFixture, txOf } from '../harness/shop-fixture.ts'

let fixture: ShopFixture
let world: LocalnetFixture
let payer: KeyPairSigner
/** What `/slow` waits for. */
let open: (value?: unknown) => void = () => {}
let gate: Promise<unknown>

beforeAll(async () => {
  fixture = await createShopFixture()
  ;({ world, payer } = fixture)
})
afterAll(() => fixture.close())

const targeted = {
  'cache-control': 'public, max-age=600',
  expires: 'Thu, 01 Dec 2094 16:00:00 GMT',
  'cdn-cache-control': 'max-age=600',
  'cloudflare-cdn-cache-control': 'max-age=600',
  'surrogate-control': 'max-age=600',
  'x-accel-expires': '600',
}

async function handler(target: string): Promise<Content> {
  if (target === '/slow') await gate
  if (target === '/unchanged') return { status: 304, headers: { etag: '"1"' } }
  return { ...(target === '/cached' && { headers: targeted }), body: 'the secret' }
}

const closeGate = () => {
  gate = new Promise((resolve) => {
    open = resolve
  })
}

describe.each(cells(adapters, 3, 1))('%s', (name, serve) => {
  let shop: Shop
  beforeAll(async () => {
    shop = await fixture.open({}, serve, handler)
  })
  const requestOf = (path: string, proof: string, method = 'GET') =>
    `${method} ${path} HTTP/1.1\r\nHost: ${new URL(shop.url).host}\r\nPayment-Proof: ${proof}\r\n`
  const ended = (proof: string) => shop.events.filter((event) => event.kind === 'ended' && event.tx === txOf(proof))

  it('T170: a 304 is free twenty times and not once more', async () => {
    const proof = await shop.buy(payer, '/unchanged')
    for (let time = 1; time <= 20; time += 1) {
      const answer = await shop.claim(proof, '/unchanged', { headers: { 'If-None-Match': '"1"' } })
      expect([time, answer.status]).toEqual([time, 304])
      await eventually(
        () => ended(proof).length,
        (times) => times === time,
      )
    }
    await expectRefused(shop.claim(proof, '/unchanged'), 'payment_replay')
  })

  it('T170: so is a HEAD that was paid for, and it opens no GET', async () => {
    await fetch(`${shop.url}/data`, { method: 'HEAD' })
    const asked = shop.events.findLast((event) => event.kind === 'challenged' && event.method === 'HEAD')
    const { requestId } = asked as { requestId: string }
    const challenge = { ...(await shop.challenge()), requestId } as Challenge
    const proof = proofOf(await world.pay(challenge, payer), challenge, payer)
    await expectRefused(shop.claim(proof), 'binding_mismatch')
    for (let time = 1; time <= 20; time += 1) {
      expect((await shop.claim(proof, '/data', { method: 'HEAD' })).status).toBe(200)
      await eventually(
        () => ended(proof).length,
        (times) => times === time,
      )
    }
    expect((await shop.claim(proof, '/data', { method: 'HEAD' })).status).toBe(409)
  })

  it('T100: a preflight with a proof uses nothing of it', async () => {
    const proof = await shop.buy(payer)
    const headers = { Origin: 'https://app.example', 'Access-Control-Request-Method': 'GET' }
    for (let time = 0; time < 25; time += 1) {
      expect((await shop.claim(proof, '/data', { method: 'OPTIONS', headers })).status).toBe(204)
    }
    await expectServed(shop.claim(proof))
  })

  it('T250: a preflight that is left to the application is not free behind the paywall', async () => {
    const own = await fixture.open({ cors: false }, serve, handler)
    const headers = { Origin: 'https://app.example', 'Access-Control-Request-Method': 'GET' }
    const answer = await fetch(`${own.url}/data`, { method: 'OPTIONS', headers })
    expect([answer.status, await answer.text()]).toEqual([402, expect.not.stringContaining('the secret')])
    await expectRefused(own.claim(await own.buy(payer), '/data', { method: 'OPTIONS', headers }), 'binding_mismatch')
  })

  it('T107: no header of the handler lets a cache keep a paid response', async () => {
    const response = await shop.claim(await shop.buy(payer, '/cached'), '/cached')
    expect(response.headers.get('cache-control')).toBe('private, no-store')
    for (const header of Object.keys(targeted).slice(2))
      expect([header, response.headers.get(header)]).toEqual([header, null])
  })

  it('T106: two paid requests in one pipeline are both served, in order', async () => {
    const [first, second] = [await shop.buy(payer), await shop.buy(payer)]
    const text = await sendRaw(
      shop.url,
      `${requestOf('/data', first)}\r\n${requestOf('/data', second)}Connection: close\r\n\r\n`,
    )
    expect(text.split('the secret')).toHaveLength(3)
  })

  it('T106: a paid request that waits in a pipeline when the client leaves can be claimed again', async () => {
    closeGate()
    const [slow, waiting] = [await shop.buy(payer, '/slow'), await shop.buy(payer)]
    const { hostname, port } = new URL(shop.url)
    const socket = connect(Number(port), hostname, () =>
      socket.write(`${requestOf('/slow', slow)}\r\n${requestOf('/data', waiting)}\r\n`),
    )
    socket.on('error', () => {})
    await eventually(
      () => shop.events.filter((event) => event.kind === 'verified' && [slow, waiting].map(txOf).includes(event.tx)),
      (verified) => verified.length === 2,
    )
    socket.resetAndDestroy()
    await eventually(
      () => ended(slow).length,
      (times) => times === 1,
    )
    open()
    await expectServed(shop.claim(slow, '/slow'))
    // Where the socket is hidden, a response counts as sent when the runtime has taken the last of it.
    if (name === 'Next') return
    const answer = await eventually(
      () => shop.claim(waiting),
      ({ status }) => status !== 409,
    )
    await expectServed(answer)
  })

  it('T+: a client that leaves while its payment is looked up has used nothing', async () => {
    const patient = await fixture.open({ waitSeconds: 5 }, serve, handler)
    const proof = await patient.buy(payer)
    const looked = new Promise<void>((resolve) => {
      world.localnet.faults.intercept((method, _params, answer) => {
        if (method === 'getTransaction') resolve()
        return answer
      })
    })
    world.localnet.faults.add({ methods: ['getTransaction'], lagSlots: 64, times: 2 })
    const { hostname, port, host } = new URL(patient.url)
    const socket = connect(Number(port), hostname, () =>
      socket.write(`GET /data HTTP/1.1\r\nHost: ${host}\r\nPayment-Proof: ${proof}\r\n\r\n`),
    )
    socket.on('error', () => {})
    await looked
    socket.resetAndDestroy()
    world.localnet.faults.clear()
    const answer = await eventually(
      () => patient.claim(proof),
      ({ status }) => status !== 409,
    )
    await expectServed(answer)
  })

  it('T+: so has one that leaves while it is looked up behind another in the pipeline', async () => {
    // Its runtime hides the socket, and a response that waits has none to hide.
    if (name === 'Next') return
    closeGate()
    const patient = await fixture.open({ waitSeconds: 5 }, serve, handler)
    const [slow, waiting] = [await patient.buy(payer, '/slow'), await patient.buy(payer)]
    const { hostname, port, host } = new URL(patient.url)
    const request = (path: string, proof: string) =>
      `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nPayment-Proof: ${proof}\r\n\r\n`
    const socket = connect(Number(port), hostname, () => socket.write(request('/slow', slow)))
    socket.on('error', () => {})
    const happened = (kind: string) => patient.events.some((event) => event.kind === kind)
    await eventually(() => happened('verified'), Boolean)
    const looked = new Promise<void>((resolve) => {
      world.localnet.faults.intercept((method, _params, answer) => {
        if (method === 'getTransaction') resolve()
        return method === 'getTransaction' ? { result: null } : answer
      })
    })
    socket.write(request('/data', waiting))
    await looked
    socket.resetAndDestroy()
    await eventually(() => happened('ended'), Boolean)
    world.localnet.faults.clear()
    open()
    const answer = await eventually(
      () => patient.claim(waiting),
      ({ status }) => status !== 409,
    )
    await expectServed(answer)
  })

  it.each([
    ['throws', (name: string) => fail(name)],
    ['rejects', async (name: string) => fail(name)],
  ])('T+: a listener that %s breaks no sale', async (_kind, listen) => {
    const heard: string[] = []
    // Listeners of earlier tests may still hear of theirs.
    const name = crypto.randomUUID()
    const onEvent = (event: { readonly kind: string }) => {
      heard.push(event.kind)
      return listen(name)
    }
    // A service of its own, which hears nothing of what became of the payments of others.
    const loud = await fixture.open({ onEvent, service: crypto.randomUUID() }, serve, handler)
    const proof = await loud.buy(payer)
    await expectRefused(loud.claim('tx=x'), 'proof_malformed')
    await expectServed(loud.claim(proof))
    await expectRefused(loud.claim(proof), 'payment_replay')
    expect(heard).toEqual(['challenged', 'refused', 'verified', 'ended', 'refused'])
    // What became of the payment on chain may be heard of meanwhile.
    expect(fixture.logged.filter((line) => line.includes(name)).length).toBe(heard.length)
  })
})

function fail(name: string): never {
  throw new Error(`the listener ${name} broke`)
}
