/** What a payment buys, over every adapter: bundles, windows, bytes ahead, files, prices by request, bodies, free requests. */
import { createHash } from 'node:crypto'
import type { KeyPairSigner } from '@solana/kit'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { decodeSignature } from '../../src/core/encoding/base58.ts'
import type { Challenge } from '../../src/core/protocol/challenge.ts'
import { openLedger } from '../../src/ledger/open.ts'
import type { ProviderOptions } from '../../src/paywall/config/options.ts'
import { adapters, type Handler } from '../harness/adapters.ts'
import { cells } from '../harness/length.ts'
import { createLocalnetFixture, type LocalnetFixture, proofOf } from '../harness/localnet-fixture.ts'
import { sendRaw } from '../harness/raw.ts'
import type { Shop } from '../harness/shop.ts'
import { codeOf, eventually, openShop, readAndReset, useTemporaryHome } from '../harness/shop.ts'
import { txOf } from '../harness/shop-fixture.ts'

const secret = 'a-secret-of-the-client-0123456789'
const accept = `claim=${createHash('sha256').update(secret).digest('base64url')}`
const home = useTemporaryHome()
let world: LocalnetFixture
let payer: KeyPairSigner

beforeAll(async () => {
  world = await createLocalnetFixture()
  payer = await world.person()
})
afterAll(async () => {
  await world.close()
  home.remove()
})

async function pay(challenge: Challenge): Promise<string> {
  return proofOf(await world.pay(challenge, payer), challenge, payer, `; claim=${secret}`)
}

const allowanceOf = (response: Response) => response.headers.get('payment-allowance') ?? ''

// In the short form, Hono: most other suites sell with node:http.
describe.each(cells(adapters, adapters.length, 3))('%s', (_name, serve) => {
  const hello: Handler = () => ({ body: 'hello' })
  const open = async (options: Partial<ProviderOptions>, handler: Handler = hello): Promise<Shop> => {
    const shop = await openShop(world, serve, handler, { watch: false, ...options })
    onTestFinished(() => shop.close())
    return shop
  }
  const buy = async (shop: Shop, path?: string, more = ''): Promise<string> =>
    pay(await shop.challenge(path, { 'Payment-Accept': `${accept}${more}` }))

  describe('a bundle', () => {
    it('opens its path as often as it says, and no other', async () => {
      const shop = await open({ price: 0.5, per: { requests: 3 } })
      const challenge = await shop.challenge('/data?day=1', { 'Payment-Accept': accept })
      expect(challenge).toMatchObject({ amount: '0.5', allowance: { unit: 'request', amount: '3' }, proof: ['claim'] })
      const proof = await pay(challenge)
      const lefts = []
      for (const day of [1, 2, 3]) {
        const response = await shop.claim(proof, `/data?day=${day}`)
        expect([response.status, await response.text()]).toEqual([200, 'hello'])
        lefts.push(/remaining=(\d+)/.exec(allowanceOf(response))?.[1])
        if (day === 1) expect(await codeOf(await shop.claim(proof, '/other'))).toBe('403 binding_mismatch')
      }
      expect(lefts).toEqual(['2', '1', '0'])
      expect(await codeOf(await shop.claim(proof))).toBe('409 payment_replay')
    })

    it('is shared by all routes of its scope', async () => {
      const shop = await open({ price: 0.5, per: { requests: 2 }, scope: 'all' })
      const [one, two] = await Promise.all(
        ['/a', '/b'].map((path) => shop.challenge(path, { 'Payment-Accept': accept })),
      )
      expect(one?.scope).toMatch(/^[\w-]{16}$/)
      expect(two?.scope).toBe(one?.scope)
      const proof = await buy(shop, '/a')
      for (const path of ['/a', '/b?x=1']) expect((await shop.claim(proof, path)).status).toBe(200)
    })

    it('is used in parallel, up to the remaining amount', async () => {
      const shop = await open({ price: 0.5, per: { requests: 4 } })
      const proof = await buy(shop)
      const answers = await Promise.all(Array.from({ length: 9 }, () => shop.claim(proof)))
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(4)
      expect(answers.filter(({ status }) => status === 409)).toHaveLength(5)
    })

    it('T79, T166: is not opened by data that the chain shows', async () => {
      const shop = await open({ price: 0.5, per: { requests: 3 } })
      const bare = await shop.challenge()
      expect(bare.proof).toEqual(['sig'])
      const stolen = proofOf(await world.pay(bare, payer), bare, payer)
      expect(await codeOf(await shop.claim(stolen))).toBe('403 signature_required')
      const claimed = (await buy(shop)).replace(/; claim=.*/, '')
      expect(await codeOf(await shop.claim(claimed))).toBe('403 claim_required')
    })
  })

  it('T55: a window runs from its first use, holds nothing, and ends', async () => {
    const shop = await open({ price: 0.5, per: { seconds: 3_600 } })
    const proof = await buy(shop)
    const first = await shop.claim(proof)
    expect(allowanceOf(first)).toMatch(/^unit=second; remaining=3600; until=\d{4}-/)
    const answers = await Promise.all(Array.from({ length: 12 }, () => shop.claim(proof)))
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 12 }, () => 200))
    // All of them say the same end.
    const ends = new Set(answers.map((answer) => Date.parse(/until=(.*)/.exec(allowanceOf(answer))?.[1] ?? '')))
    expect(ends.size).toBe(1)
    expect(Math.abs(([...ends][0] ?? 0) - world.localnet.now() - 3_600_000)).toBeLessThan(60_000)
    world.localnet.advance(3_590)
    await eventually(
      async () => allowanceOf(await shop.claim(proof)),
      (left) => /^unit=second; remaining=\d; /.test(left),
    )
    world.localnet.advance(15)
    const after = await eventually(
      () => shop.claim(proof),
      ({ status }) => status !== 200,
    )
    expect(await codeOf(after)).toBe('409 payment_replay')
  })

  it('T105: a window opens no other path by a Host that looks like one', async () => {
    const shop = await open({ price: 0.5, per: { seconds: 60 } })
    const proof = await buy(shop, '/data')
    const { host } = new URL(shop.url)
    const asAt = (name: string, path: string) =>
      sendRaw(shop.url, `GET ${path} HTTP/1.1\r\nHost: ${name}\r\nConnection: close\r\nPayment-Proof: ${proof}\r\n\r\n`)
    await asAt(host, '/data')
    // From its second use on a window is remembered, under whatever it was asked for by.
    await asAt(`${host}/other?`, '/data')
    expect(await asAt(host, '/other?/data')).toMatch(/^HTTP\/1.1 403 /)
  })

  describe('responses that began in a window', () => {
    async function* forever() {
      for (;;) {
        yield new Uint8Array(10)
        await new Promise((resolve) => setTimeout(resolve, 10))
      }
    }
    const handler: Handler = () => ({ body: forever() })
    const window = { price: 0.5, per: { seconds: 600 } }

    it('T55: end with it', async () => {
      const shop = await open({ ...window, leaseSeconds: 1 }, handler)
      const proof = await buy(shop)
      const streams = [await shop.claim(proof), await shop.claim(proof)]
      const seen = streams.map(readAll)
      world.localnet.advance(605)
      for (const { whole } of await Promise.all(seen)) expect(whole).toBe(false)
      expect(await codeOf(await shop.claim(proof))).toBe('409 payment_replay')
    })

    it('T208: end soon after the chain reverted the payment', async () => {
      const clock = { now: world.localnet.now, monotonic: () => performance.now() }
      const identity = { network: 'localnet', service: 'default', fingerprint: 'any', reportToken: 'USDC' } as const
      const ledger = await openLedger('memory:', { clock, identity })
      onTestFinished(() => ledger.close())
      // Otherwise the payment may become final first.
      const journal = { ...ledger.journal, unfinal: async () => [] }
      const shop = await open({ ...window, leaseSeconds: 0.3, ledger: { ...ledger, journal } }, handler)
      const proof = await buy(shop)
      const streams = [await shop.claim(proof), await shop.claim(proof)]
      const seen = streams.map(readAll)
      const tx = decodeSignature(txOf(proof)) ?? new Uint8Array()
      expect(await journal.conclude([{ tx, finality: 'reverted' }])).toHaveLength(1)
      for (const { whole } of await Promise.all(seen)) expect(whole).toBe(false)
    })
  })

  describe('bytes ahead', () => {
    const chunk = new Uint8Array(10_000).fill(7)
    const stream = (chunks: number): Handler => {
      async function* body() {
        for (let sent = 0; sent < chunks; sent += 1) yield chunk
      }
      return () => ({ body: body() })
    }

    async function* slowly() {
      for (let sent = 0; sent < 50; sent += 1) {
        yield chunk
        if (sent > 5) await new Promise((resolve) => setTimeout(resolve, 10))
      }
    }
    const slow: Handler = () => ({ body: slowly() })

    it('T54: are counted as they are sent, shared, and end in the middle', async () => {
      const shop = await open({ price: 1, per: 'megabyte', prepay: 0.25 }, stream(10))
      const challenge = await shop.challenge('/data', { 'Payment-Accept': accept })
      expect(challenge).toMatchObject({ amount: '0.25', allowance: { unit: 'byte', amount: '250000' } })
      const proof = await pay(challenge)
      for (const left of [250_000, 150_000]) {
        const response = await shop.claim(proof)
        expect(allowanceOf(response)).toContain(`unit=byte; remaining=${left}; `)
        expect((await response.arrayBuffer()).byteLength).toBe(100_000)
      }
      const last = await eventually(
        () => shop.claim(proof),
        (response) => allowanceOf(response).includes('remaining=50000;'),
      )
      const seen = await readAll(last)
      expect(seen).toEqual({ bytes: 50_000, whole: false })
      expect(await codeOf(await shop.claim(proof))).toBe('409 payment_replay')
    })

    it('T54: end as 206 where the length is known', async () => {
      const body = 'x'.repeat(3_000)
      const handler: Handler = () => ({ body, headers: { 'Content-Length': '3000' } })
      const shop = await open({ price: 1, per: 'megabyte', prepay: 0.002 }, handler)
      const response = await shop.claim(await buy(shop))
      expect(response.status).toBe(206)
      expect(Object.fromEntries(response.headers)).toMatchObject({
        'content-range': 'bytes 0-1999/3000',
        'content-length': '2000',
        'payment-status': 'partial',
      })
      expect(await readAll(response)).toEqual({ bytes: 2_000, whole: true })
    })

    it('are bought as the client wishes', async () => {
      const shop = await open({ price: 0.01, per: 'megabyte' }, stream(1))
      const challenge = await shop.challenge('/data', { 'Payment-Accept': `${accept}; bytes=5000000` })
      expect(challenge).toMatchObject({ amount: '0.05', allowance: { unit: 'byte', amount: '5000000' } })
    })

    it('are gone when they were sent, though the client broke off', async () => {
      const shop = await open({ price: 0.5, per: 'megabyte', prepay: 1, scope: 'all' }, slow)
      const proof = await buy(shop)
      const seen = await readAndReset(`${shop.url}/data`, { 'Payment-Proof': proof }, 30_000)
      await eventually(
        () => shop.events.at(-1)?.kind,
        (kind) => kind === 'ended',
      )
      const next = await shop.claim(proof, '/data', { method: 'HEAD' })
      const left = Number(/remaining=(\d+)/.exec(allowanceOf(next))?.[1])
      expect(left).toBeLessThanOrEqual(1_000_000 - seen)
      expect(left).toBeGreaterThanOrEqual(500_000)
      expect(left % 10_000).toBe(0)
    })

    it('are not used up by an answer without a body', async () => {
      const shop = await open({ price: 1, per: 'megabyte', prepay: 0.1 }, () => ({ status: 204 }))
      const proof = await buy(shop)
      for (let time = 0; time < 4; time += 1) {
        const response = await shop.claim(proof)
        expect([response.status, allowanceOf(response)]).toEqual([204, expect.stringContaining('remaining=100000;')])
        await eventually(
          () => shop.events.filter(({ kind }) => kind === 'ended').length,
          (ended) => ended > time,
        )
      }
    })

    it('flow on beyond the slice that is held', async () => {
      const shop = await open({ price: 0.3, per: 'megabyte', prepay: 3 }, stream(250))
      const response = await shop.claim(await buy(shop))
      expect(await readAll(response)).toEqual({ bytes: 2_500_000, whole: true })
    })
  })

  describe('a file', () => {
    const size = 300_000
    const content = Buffer.from(Array.from({ length: size }, (_, index) => index % 251))
    async function* slowly(from: number) {
      for (let at = from; at < size; at += 10_000) {
        yield new Uint8Array(content.subarray(at, at + 10_000))
        // Time for a client to break off in the middle.
        if (at > from + 100_000 && at < from + 150_000) await new Promise((resolve) => setTimeout(resolve, 20))
      }
    }
    const file: Handler = (_target, visit) => {
      const from = Number(/^bytes=(\d+)-$/.exec(visit.header('range') ?? '')?.[1] ?? 0)
      const headers = { 'Content-Length': String(size - from), ETag: '"one"', 'Content-Type': 'application/x-test' }
      if (from === 0) return { body: slowly(0), headers }
      return {
        status: 206,
        body: slowly(from),
        headers: { ...headers, 'Content-Range': `bytes ${from}-${size - 1}/${size}` },
      }
    }
    const sell = () => open({ price: 1, per: 'megabyte', size: () => size }, file)

    it('T117: costs its size, and is sent three times at most, because it may be lost on its way', async () => {
      const shop = await sell()
      const challenge = await shop.challenge('/data', { 'Payment-Accept': accept })
      expect(challenge).toMatchObject({ amount: '0.3', allowance: { unit: 'file', amount: '300000' } })
      expect(challenge).not.toHaveProperty('scope')
      const proof = await pay(challenge)
      expect(await codeOf(await shop.claim(proof, '/data?x'))).toBe('403 binding_mismatch')
      for (const missing of [size, 0, 0]) {
        const response = await shop.claim(proof)
        expect([response.status, allowanceOf(response)]).toEqual([
          200,
          expect.stringContaining(`unit=file; remaining=${missing}; `),
        ])
        expect(Buffer.from(await response.arrayBuffer()).equals(content)).toBe(true)
      }
      expect(await codeOf(await shop.claim(proof))).toBe('409 payment_replay')
    })

    it('T124: goes on where it broke off', async () => {
      const shop = await sell()
      const proof = await buy(shop)
      await readAndReset(`${shop.url}/data`, { 'Payment-Proof': proof }, 100_000)
      const rest = await shop.claim(proof, '/data', { headers: { Range: 'bytes=100000-' } })
      expect(rest.status).toBe(206)
      expect(Buffer.from(await rest.arrayBuffer()).equals(content.subarray(100_000))).toBe(true)
      // What came before it broke off may not have arrived, so it is still there.
      const again = await shop.claim(proof)
      expect([again.status, allowanceOf(again)]).toEqual([200, expect.stringContaining('remaining=100000; ')])
      expect(Buffer.from(await again.arrayBuffer()).equals(content)).toBe(true)
    })

    it('T117: is sent three times at the most, position by position', async () => {
      const shop = await sell()
      const proof = await buy(shop)
      for (let time = 0; time < 3; time += 1) {
        await eventually(
          () => readAndReset(`${shop.url}/data`, { 'Payment-Proof': proof }, 20_000).catch(() => 0),
          (seen) => seen > 0,
        )
      }
      await eventually(
        async () => (await shop.claim(proof, '/data')).status,
        (status) => status === 409,
      )
      expect(await codeOf(await shop.claim(proof, '/data'))).toMatch(/^409 payment_(replay|in_progress)$/)
      const tail = await shop.claim(proof, '/data', { headers: { Range: 'bytes=299000-' } })
      expect([tail.status, (await tail.arrayBuffer()).byteLength]).toEqual([206, 1_000])
    })

    it('is not sent as another part than was asked for', async () => {
      const whole: Handler = () => ({ body: 'x'.repeat(size), headers: { ETag: '"one"' } })
      const shop = await open({ price: 1, per: 'megabyte', size: () => size }, whole)
      const proof = await buy(shop)
      const wrong = await shop.claim(proof, '/data', { headers: { Range: 'bytes=1000-' } })
      expect(await codeOf(wrong)).toBe('409 range_mismatch')
      const right = await shop.claim(proof)
      expect([right.status, (await right.text()).length]).toEqual([200, size])
    })

    it('T256: is refused as another part for free 19 times, so that the handler does not work without limit', async () => {
      let calls = 0
      const whole: Handler = () => {
        calls += 1
        return { body: 'x'.repeat(size) }
      }
      const shop = await open({ price: 1, per: 'megabyte', size: () => size }, whole)
      const proofs = [await buy(shop), await buy(shop)] as const
      const ask = async (proof: string) =>
        codeOf(await shop.claim(proof, '/data', { headers: { Range: 'bytes=1000-' } }))
      for (const proof of proofs)
        for (let time = 0; time < 19; time += 1) expect(await ask(proof)).toBe('409 range_mismatch')
      const right = await shop.claim(proofs[0])
      expect([right.status, (await right.text()).length]).toEqual([200, size])
      calls = 0
      for (let time = 0; time < 20; time += 1) await ask(proofs[1])
      expect([calls, await ask(proofs[1])]).toEqual([3, '409 payment_replay'])
    })

    it('has arrived when it comes whole, though shorter than it was said to be', async () => {
      const warned: unknown[] = []
      const log = { info: () => {}, warn: (...line: unknown[]) => void warned.push(line), error: () => {} }
      const whole: Handler = () => ({ body: 'hello', headers: { 'Content-Length': '5' } })
      const shop = await open({ price: 1, per: 'megabyte', size: 1_000, log }, whole)
      const proof = await buy(shop)
      for (const missing of [1_000, 0, 0]) {
        const response = await shop.claim(proof)
        expect([await response.text(), allowanceOf(response)]).toEqual([
          'hello',
          expect.stringContaining(`remaining=${missing};`),
        ])
      }
      expect(warned).toContainEqual(['delivery.size_mismatch', { size: 1_000, length: 5 }])
      expect(await codeOf(await shop.claim(proof))).toBe('409 payment_replay')
    })
  })

  describe('a price of the request', () => {
    it('T66, T84, T87: is honoured as quoted, for that request only', async () => {
      let dear = 0.5
      const shop = await open({ price: ({ query }) => (query('size') === 'large' ? dear : 0.1) })
      const [small, large] = [await shop.challenge('/data?size=small'), await shop.challenge('/data?size=large')]
      expect([small.amount, large.amount]).toEqual(['0.1', '0.5'])
      const cheap = proofOf(await world.pay(small, payer), small, payer)
      expect(await codeOf(await shop.claim(cheap, '/data?size=large'))).toBe('403 binding_mismatch')
      dear = 2
      expect((await shop.challenge('/data?size=large')).amount).toBe('2')
      const quoted = proofOf(await world.pay(large, payer), large, payer)
      expect((await shop.claim(quoted, '/data?size=large')).status).toBe(200)
    })

    it('may depend on headers and bodies that are bound, and the handler reads the body all the same', async () => {
      const shop = await open(
        {
          price: async ({ header, bodyBytes }) => (header('X-Model') === 'large' ? 0.5 : 0.001 * bodyBytes),
          bind: { headers: ['X-Model'], body: true },
        },
        async (_target, visit) => ({ body: `read ${await visit.text()}` }),
      )
      const ask = (body: string, headers: Record<string, string> = {}) =>
        fetch(`${shop.url}/data`, { method: 'POST', body, headers: { 'Content-Type': 'text/plain', ...headers } })
      const challenge = (await (await ask('ten bytes!')).json()) as Challenge
      expect(challenge.amount).toBe('0.01')
      expect(await (await ask('ten bytes!', { 'X-Model': 'large' })).json()).toMatchObject({ amount: '0.5' })
      const proof = { 'Payment-Proof': proofOf(await world.pay(challenge, payer), challenge, payer) }
      expect(await codeOf(await ask('other text', proof))).toBe('403 binding_mismatch')
      expect(await codeOf(await ask('ten bytes!', { ...proof, 'X-Model': 'large' }))).toBe('403 binding_mismatch')
      const served = await ask('ten bytes!', proof)
      expect([served.status, await served.text()]).toEqual([200, 'read ten bytes!'])
    })

    it('that is no price is the provider’s mistake, and nothing is sold', async () => {
      const logged: string[] = []
      const note = (event: string, facts?: unknown) => void logged.push(`${event} ${JSON.stringify(facts)}`)
      const log = { info: note, warn: note, error: note }
      const shop = await open({ price: ({ header }) => Number(header('x-tier')), log })
      const response = await fetch(`${shop.url}/data`)
      expect(await codeOf(response)).toBe('503 not_priced')
      expect(logged.join('\n')).toContain("bind: { headers: ['x-tier'] }")
    })
  })

  it('lets in for nothing as often as the provider says, and then asks for money', async () => {
    const shop = await open({ free: { requests: 2, per: 'hour' } })
    const ask = (address: string) => fetch(`${shop.url}/data`, { headers: { 'X-Forwarded-For': address } })
    const statuses = []
    for (let time = 0; time < 3; time += 1) statuses.push((await ask('10.0.0.1')).status)
    expect(statuses).toEqual([200, 200, 402])
    expect((await ask('10.0.0.2')).status).toBe(200)
    world.localnet.advance(3_600)
    await eventually(
      async () => (await ask('10.0.0.1')).status,
      (status) => status === 200,
    )
  })
})

/** How much of a body came, and whether it came to its end. */
async function readAll(response: Response): Promise<{ readonly bytes: number; readonly whole: boolean }> {
  let bytes = 0
  try {
    for await (const chunk of response.body ?? []) bytes += (chunk as Uint8Array).byteLength
    return { bytes, whole: true }
  } catch {
    return { bytes, whole: false }
  }
}
