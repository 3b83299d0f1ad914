/** A response and its lease: bytes flow while it is held, and not a moment longer. */
import { get, type IncomingMessage } from 'node:http'
import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest'
import { create402Middleware as nextMiddleware } from '../../src/adapters/next.ts'
import type { Challenge } from '../../src/core/protocol/challenge.ts'
import { adapters, type Content, type Handler, type Serve } from '../harness/adapters.ts'
import { postgresServer } from '../harness/database.ts'
import { cells, size } from '../harness/length.ts'
import { proofOf } from '../harness/localnet-fixture.ts'
import { codeOf, eventually, type Shop, standStill } from '../harness/shop.ts'
import { createShopFixture, type ShopFixture, txOf } from '../harness/shop-fixture.ts'
import { createWire } from '../harness/wire.ts'

const secret = `1:${'a'.repeat(32)}`
/** In the short form, one adapter of each kind: on Node's response, with hooks of its own, on a fetch Response. */
const chosen = cells(adapters, 3, 2).map(([name, serve], row) => [name, serve, row] as const)
let fixture: ShopFixture
beforeAll(async () => {
  fixture = await createShopFixture()
})
afterAll(() => fixture.close())

const breathe = (ms = 10) => new Promise((resolve) => setTimeout(resolve, ms))
const bytes = (text: string) => new TextEncoder().encode(text)

/** A body in two halves, of which the second waits until it is asked for. */
function halves(): { readonly content: () => Content; readonly goOn: () => void } {
  let goOn = () => {}
  const asked = new Promise<void>((resolve) => {
    goOn = resolve
  })
  async function* body() {
    yield bytes('the first half, ')
    await asked
    yield bytes('the second half')
  }
  return { content: () => ({ body: body() }), goOn: () => goOn() }
}

async function readOne(response: Response) {
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  const first = new TextDecoder().decode((await reader.read()).value)
  const rest = async (): Promise<string> => {
    const { done, value } = await reader.read()
    return done ? '' : new TextDecoder().decode(value) + (await rest())
  }
  return { first, rest }
}

const endings = (shop: Shop, proof: string) =>
  eventually(
    () => shop.events.flatMap((event) => (event.kind === 'ended' && event.tx === txOf(proof) ? [event.outcome] : [])),
    (all) => all.length > 0,
  )

describe.each(chosen)('%s', (_name, serve) => {
  it('sends the first part while the rest is still being produced', async () => {
    const { content, goOn } = halves()
    const shop = await fixture.open({}, serve, content)
    const { first, rest } = await readOne(await shop.claim(await shop.buy(fixture.payer)))
    expect(first).toBe('the first half, ')
    goOn()
    expect(await rest()).toBe('the second half')
  })

  it('keeps the lease of a response that outlasts it, so no other request is served', async () => {
    const { content, goOn } = halves()
    const shop = await fixture.open({ leaseSeconds: 0.6 }, serve, content)
    const proof = await shop.buy(fixture.payer)
    const { rest } = await readOne(await shop.claim(proof))
    const began = performance.now()
    while (performance.now() - began < 1_500) {
      expect(await codeOf(await shop.claim(proof))).toBe('409 payment_in_progress')
      await breathe(40)
    }
    goOn()
    expect(await rest()).toBe('the second half')
    expect(await endings(shop, proof)).toEqual(['delivered'])
  })
})

async function* stopsInTheMiddle() {
  yield bytes('the first half, ')
  standStill(150)
  yield bytes('the secret')
}

describe.each(chosen)('%s', (_name, serve) => {
  it.each<[string, Handler]>([
    [
      'before it answered',
      () => {
        standStill(150)
        return { body: 'the secret' }
      },
    ],
    ['in the middle of an answer', () => ({ body: stopsInTheMiddle() })],
  ])('sends nothing after its process stood still for longer than the lease, %s', async (_when, handler) => {
    const shop = await fixture.open({ leaseSeconds: 0.1 }, serve, handler)
    const proof = await shop.buy(fixture.payer)
    const { got, over } = await read(shop, proof).catch(() => ({ got: [], over: 'broken' }))
    await over
    expect(Buffer.concat(got).toString()).not.toContain('the secret')
    expect(await endings(shop, proof)).toEqual(['not_started'])
  })
})

describe('Next', () => {
  it('sends nothing that a stream was making while its lease ran out', async () => {
    const paid = nextMiddleware({
      price: 0.01,
      token: 'USDC',
      recipient: fixture.world.recipient.address,
      network: 'localnet',
      rpc: fixture.world.localnet.rpcUrl,
      ledger: 'memory:',
      log: fixture.log,
      // Long enough for a busy machine to begin the response.
      leaseSeconds: 0.5,
    })
    fixture.defer(() => paid.close())
    const pull = (controller: ReadableStreamDefaultController<Uint8Array>) => {
      standStill(600)
      controller.enqueue(bytes('the secret'))
    }
    const route = paid(() => new Response(new ReadableStream({ pull }, { highWaterMark: 0 })))
    const ask = (headers: HeadersInit = {}) => route(new Request('https://a.example/x', { headers }))
    const challenge = (await (await ask()).json()) as Challenge
    const proof = proofOf(await fixture.world.pay(challenge, fixture.payer), challenge, fixture.payer)
    const response = await ask({ 'Payment-Proof': proof })
    expect(response.status).toBe(200)
    const reader = (response.body as ReadableStream<Uint8Array>).getReader()
    await expect(reader.read()).rejects.toThrow('the lease on this payment was lost')
  })
})

/** Longer in the full form, where many adapters share the processor: a lease must not end before the cut. */
const leaseMs = size(1_500, 4_000)

/**
 * Two servers on one database, of which the first can be cut off from it. They end with their test: dozens of them, each
 * in search of its database, would keep the chain busy for the tests that follow.
 */
async function openPair({ onTestFinished }: TestContext, serve: Serve, first: Handler) {
  const postgres = postgresServer()
  const place = await postgres.place()
  const wire = await createWire(postgres.port)
  const common = { secret, leaseSeconds: leaseMs / 1000 }
  const cutOff = place.replace(`:${postgres.port}/`, `:${wire.port}/`)
  const one = await fixture.open({ ...common, ledger: cutOff }, serve, first)
  const other = await fixture.open({ ...common, ledger: place }, serve, () => ({ body: String(performance.now()) }))
  onTestFinished(async () => {
    // Closed before the servers, which then have no connection to wait for.
    await wire.close()
    await Promise.all([one.close(), other.close()])
  })
  /** What the other server answers as soon as it may. */
  const takeOver = async (proof: string) => {
    for (;;) {
      const response = await other.claim(proof)
      if (response.status === 200) return Number(await response.text())
      // A busy database may answer late.
      expect(['409 payment_in_progress', '503 ledger_unavailable']).toContain(await codeOf(response))
      await breathe(40)
    }
  }
  return { wire, one, other, takeOver }
}

/** A client that notes what it got, and reads only while it is told to. */
async function read(shop: Shop, proof: string) {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get(`${shop.url}/data`, { agent: false, headers: { 'Payment-Proof': proof } }, resolve).on('error', reject)
  })
  const got: Buffer[] = []
  response.on('data', (chunk: Buffer) => got.push(chunk))
  response.on('error', () => {})
  const over = new Promise<'whole' | 'broken'>((resolve) =>
    response.once('close', () => resolve(response.complete ? 'whole' : 'broken')),
  )
  return { got, over, pause: () => response.pause(), resume: () => response.resume() }
}

/** A stream of times that outlived its first lease. On a busy machine a lease can end before it is renewed. */
async function readRenewed(shop: Shop) {
  for (;;) {
    const proof = await shop.buy(fixture.payer)
    const { got, over } = await read(shop, proof)
    const written = () => Buffer.concat(got).toString().trim().split('\n').map(Number)
    let isOver = false
    void over.then(() => {
      isOver = true
    })
    const hasOutlived = () => (written().at(-1) ?? 0) - (written()[0] ?? 0) > leaseMs
    await eventually(() => isOver || hasOutlived(), Boolean)
    if (!isOver) return { proof, over, written }
  }
}

const lateAnswers: readonly (readonly [kind: string, content: Content])[] = [
  ['with a body', { body: 'the secret' }],
  ['without one', { status: 302, headers: { location: '/the-secret' } }],
]

// These wait for leases to end, so they wait together.
describe.concurrent.each(chosen)('%s, cut off from its database', (_name, serve, row) => {
  it('T119: writes nothing after its lease, and another server serves the payment then', async (context) => {
    // On a busy machine a lease can end right after the cut. Then the stream is cut once more.
    for (let hasGoneOn = false; !hasGoneOn; ) {
      let isOver = false
      async function* stamps() {
        for (; !isOver; await breathe()) yield bytes(`${performance.now()}\n`)
      }
      const { wire, one, other, takeOver } = await openPair(context, serve, () => ({ body: stamps() }))
      const { proof, over, written } = await readRenewed(one)
      wire.cut()
      const cutAt = performance.now()
      const begun = await takeOver(proof)
      expect(await over).toBe('broken')
      isOver = true
      const last = written().at(-1) ?? 0
      hasGoneOn = last > cutAt
      expect(last).toBeLessThan(Math.min(begun, cutAt + leaseMs))
      expect(await endings(one, proof)).toEqual(['not_started'])
      expect(await endings(other, proof)).toEqual(['delivered'])
    }
  })

  it('T119: nor bytes that wait for a slow client, with an idle handler and a silent database', async (context) => {
    // More than any socket buffer on the way holds.
    const [chunk, times] = [new Uint8Array(64 * 1024), 512]
    async function* muchData() {
      for (let index = 0; index < times; index += 1) yield chunk
    }
    const { wire, one, takeOver } = await openPair(context, serve, () => ({ body: muchData() }))
    const proof = await one.buy(fixture.payer)
    const { got, over, pause, resume } = await read(one, proof)
    await eventually(
      () => got.length,
      (count) => count > 0,
    )
    pause()
    wire.cut()
    const begun = await takeOver(proof)
    expect(await endings(one, proof)).toEqual(['not_started'])
    expect(begun).toBeGreaterThan(0)
    resume()
    expect(await over).toBe('broken')
    expect(Buffer.concat(got).length).toBeLessThan(chunk.length * times)
  })

  it.for(cells(lateAnswers, 2, row))(
    'T119: nor an answer that its handler has too late, %s',
    async ([, content], context) => {
      let answer = (_content: Content) => {}
      const answered = new Promise<Content>((resolve) => {
        answer = resolve
      })
      const { wire, one, takeOver } = await openPair(context, serve, () => answered)
      const proof = await one.buy(fixture.payer)
      const claim = one.claim(proof, '/data', { redirect: 'manual' }).catch(() => undefined)
      await eventually(() => one.events.some((event) => event.kind === 'verified'), Boolean)
      wire.cut()
      await takeOver(proof)
      answer(content)
      const response = await claim
      // The one that has no connection to break says it in words.
      if (response) expect([response.status, response.headers.get('payment-status')]).toEqual([503, 'retry'])
      expect(await response?.text()).not.toBe('the secret')
      expect(await endings(one, proof)).toEqual(['not_started'])
    },
  )
})
