/** One behaviour, every adapter: what a payer meets does not depend on the framework. */
import { join } from 'node:path'
import type { KeyPairSigner } from '@solana/kit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseReceipt } from '../../src/core/protocol/receipt.ts'
import { adapters, type Content } from '../harness/adapters.ts'
import { cells, isLong, itInFull } from '../harness/length.ts'
import { createLocalnetFixture, type LocalnetFixture, memo, proofOf } from '../harness/localnet-fixture.ts'
import { codeOf, eventually, openShop, readAndReset, type Shop, useTemporaryHome } from '../harness/shop.ts'

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

/** More than any socket buffer on the way holds. */
const chunk = new Uint8Array(64 * 1024).fill(65)
async function* muchData(): AsyncGenerator<Uint8Array> {
  for (let index = 0; index < 512; index += 1) yield chunk
}

const validators = { etag: '"v1"', 'last-modified': 'Mon, 01 Jan 2024 00:00:00 GMT', 'accept-ranges': 'bytes' }
async function* streamedJson(): AsyncGenerator<Uint8Array> {
  yield new TextEncoder().encode('{"secret":')
  yield new TextEncoder().encode('42}')
}

let broken = 0
const contents: Readonly<Record<string, () => Content>> = {
  '/data': () => ({ headers: { 'content-type': 'application/json' }, body: '{"secret":42}' }),
  '/large': () => ({ body: muchData() }),
  '/dated': () => ({ headers: { 'content-type': 'application/json', ...validators }, body: streamedJson() }),
  '/empty': () => ({ status: 204 }),
  '/missing': () => ({ status: 404, body: 'no such thing' }),
  '/moved': () => ({ status: 302, headers: { location: '/elsewhere' } }),
  '/unchanged': () => ({ status: 304 }),
  '/cached': () => ({ headers: { 'cache-control': 'public, max-age=600', vary: 'Accept-Language' }, body: 'x' }),
  '/null': () => ({ headers: { 'content-type': 'application/json' }, body: '' }),
  '/throws': () => ({ throws: true }),
  '/flaky': () => {
    broken += 1
    return broken % 2 === 1 ? { status: 503, body: 'not now' } : { body: 'at last' }
  },
}
const handler = (target: string): Content => (contents[target.split('?')[0] ?? ''] ?? (() => ({ body: 'other' })))()

const ledgers: readonly (readonly [name: string, url: () => string])[] = [
  ['memory', () => 'memory:'],
  ['SQLite', () => `sqlite:${join(home.path, `${crypto.randomUUID()}.sqlite`)}`],
]
/** In the short form, these have all tests, one for each way to answer. The others have one test. */
const whole: readonly string[] = ['Express 5', 'Fastify 5', 'Hono 4']
// In the short form, every adapter on one of the ledgers in turn.
const places = adapters.flatMap(([adapter, serve], row) =>
  ledgers
    .filter((_ledger, column) => isLong || (row + column) % ledgers.length === 0)
    .map(([ledger, url]) => [`${adapter} on the ${ledger} ledger`, serve, url, whole.includes(adapter)] as const),
)

describe.each(places)('%s', (_name, serve, ledger, isWhole) => {
  const itOfWhole = isWhole ? it : itInFull
  let shop: Shop
  beforeAll(async () => {
    shop = await openShop(world, serve, handler, { ledger: ledger() })
  })
  afterAll(() => shop.close())

  itOfWhole('answers an unpaid request with a challenge that must not be cached', async () => {
    const response = await fetch(`${shop.url}/data?a=1`)
    expect(response.status).toBe(402)
    expect(response.headers.get('content-type')).toBe('application/json')
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.headers.get('vary')).toContain('Payment-Proof')
    expect(response.headers.get('x-content-type-options')).toBe('nosniff')
    expect(await response.json()).toMatchObject({
      status: 402,
      recipient: world.recipient.address,
      amount: '0.01',
      currency: 'USDC',
      acceptedMints: ['USDC'],
      network: 'localnet',
      resource: `${shop.url}/data?a=1`,
      proof: [],
    })
  })

  it('serves a paid request once, with a receipt, and answers the same proof with 409 afterwards', async () => {
    const proof = await shop.buy(payer)
    const response = await shop.claim(proof)
    expect(response.status).toBe(200)
    expect(await response.text()).toBe('{"secret":42}')
    expect(response.headers.get('cache-control')).toBe('private, no-store')
    expect(response.headers.get('vary')).toContain('Payment-Proof')
    expect(response.headers.get('payment-allowance')).toBe('unit=request; remaining=0')
    const receipt = parseReceipt(response.headers.get('payment-receipt') ?? '')
    expect(receipt).toMatchObject({ status: 'success', token: 'USDC', amount: '0.01', resource: `${shop.url}/data` })
    expect(JSON.stringify(receipt)).not.toContain(payer.address)
    const again = await eventually(
      async () => codeOf(await shop.claim(proof)),
      (code) => code !== '409 payment_in_progress',
    )
    expect(again).toBe('409 payment_replay')
  })

  itOfWhole(
    'serves a payment that pays every part of a split price, and refuses one that leaves a part out',
    async () => {
      const partner = await world.person()
      const splits = [{ recipient: partner.address, share: 10 }]
      const split = await openShop(world, serve, handler, { ledger: ledger(), splits })
      const pay = async (parts: readonly (readonly [string, bigint])[]) => {
        const challenge = await split.challenge()
        const transfers = await Promise.all(parts.map(([to, units]) => world.transfer(payer, to, 'USDC', units)))
        return proofOf(await world.send([memo(challenge.requestId), ...transfers], payer), challenge, payer)
      }
      const whole = await pay([[world.recipient.address, 10_000n]])
      expect(await codeOf(await split.claim(whole))).toBe('403 underpaid')
      const all = await pay([
        [world.recipient.address, 9_000n],
        [partner.address, 1_000n],
      ])
      const response = await split.claim(all)
      expect([response.status, await response.text()]).toEqual([200, '{"secret":42}'])
      expect(parseReceipt(response.headers.get('payment-receipt') ?? '')).toMatchObject({ amount: '0.01' })
      await split.close()
    },
  )

  itOfWhole(
    'T113: admits exactly one of twenty simultaneous uses of a proof, with at most two reads of the chain',
    async () => {
      const proof = await shop.buy(payer)
      let reads = 0
      world.localnet.faults.intercept((method, params, answer) => {
        // Of this payment: the watcher may still be reading those of the tests before.
        if (method === 'getTransaction' && proof.includes(`tx=${(params as readonly unknown[])[0]};`)) reads += 1
        return answer
      })
      const answers = await Promise.all(Array.from({ length: 20 }, () => shop.claim(proof)))
      world.localnet.faults.clear()
      const statuses = answers.map((answer) => answer.status)
      expect(statuses.filter((status) => status === 200)).toHaveLength(1)
      expect(statuses.filter((status) => status === 409)).toHaveLength(19)
      expect(reads).toBeLessThanOrEqual(2)
      await Promise.all(answers.map((answer) => answer.text()))
    },
  )

  itOfWhole(
    'T117: settles only when the whole response has left: a client that breaks off may come back, three times',
    async () => {
      const proof = await shop.buy(payer, '/large')
      for (let delivery = 1; delivery <= 3; delivery += 1) {
        await readAndReset(`${shop.url}/large`, { 'Payment-Proof': proof }, 1_000_000)
        await eventually(
          () => shop.events.filter((event) => event.kind === 'ended' && proof.includes(event.tx)),
          (ended) => ended.length === delivery,
        )
      }
      expect(shop.events.filter((event) => event.kind === 'ended' && proof.includes(event.tx))).toMatchObject(
        Array.from({ length: 3 }, () => ({ outcome: 'partial' })),
      )
      expect(await codeOf(await shop.claim(proof, '/large'))).toBe('409 payment_replay')
    },
  )

  itOfWhole('serves the whole of a large response after one that broke', async () => {
    const proof = await shop.buy(payer, '/large')
    await readAndReset(`${shop.url}/large`, { 'Payment-Proof': proof }, 1_000_000)
    const response = await eventually(
      () => shop.claim(proof, '/large'),
      (answer) => answer.status !== 409,
    )
    expect((await response.arrayBuffer()).byteLength).toBe(512 * chunk.length)
  })

  const endings = [
    ['/empty', 204, 'delivered'],
    ['/moved', 302, 'delivered'],
    ['/missing', 404, 'partial'],
    ['/unchanged', 304, 'no_body'],
  ] as const
  it.each(isLong || isWhole ? endings : [])('%s: a %i means %s', async (path, status, outcome) => {
    const proof = await shop.buy(payer, path)
    const response = await shop.claim(proof, path, { redirect: 'manual' })
    expect(response.status).toBe(status)
    await response.text()
    const ended = await eventually(
      () => shop.events.find((event) => event.kind === 'ended' && proof.includes(event.tx)),
      Boolean,
    )
    expect(ended).toMatchObject({ outcome })
  })

  itOfWhole('T114: keeps the payment when the handler breaks, and says that the same proof works again', async () => {
    const proof = await shop.buy(payer, '/throws')
    const response = await shop.claim(proof, '/throws')
    expect(response.status).toBeGreaterThanOrEqual(500)
    const body = await response.text()
    expect(response.headers.get('payment-status') ?? body).toMatch(/retry|handler_failed/)
    expect(response.headers.get('payment-receipt')).toBeNull()
    const again = await eventually(
      () => shop.claim(proof, '/throws'),
      (answer) => answer.status !== 409,
    )
    expect(again.status).toBe(response.status)
  })

  itOfWhole('T114: serves the same proof after a 503 of the handler', async () => {
    broken = 0
    const proof = await shop.buy(payer, '/flaky')
    const first = await shop.claim(proof, '/flaky')
    expect([first.status, first.headers.get('payment-status'), await first.text()]).toEqual([503, 'retry', 'not now'])
    const second = await eventually(
      () => shop.claim(proof, '/flaky'),
      (answer) => answer.status !== 409,
    )
    expect([second.status, await second.text()]).toEqual([200, 'at last'])
  })

  itOfWhole('T107: forbids caching regardless of the headers of the handler, and keeps its Vary', async () => {
    const response = await shop.claim(await shop.buy(payer, '/cached'), '/cached')
    expect(response.headers.get('cache-control')).toBe('private, no-store')
    expect(response.headers.get('vary')).toBe('Accept-Language, Payment-Proof')
  })

  itOfWhole('T99: an unpaid HEAD is a 402 that tells nothing about the resource', async () => {
    const response = await fetch(`${shop.url}/data`, { method: 'HEAD' })
    expect(response.status).toBe(402)
    expect(response.headers.get('etag')).toBeNull()
    expect(response.headers.get('content-length')).not.toBe('13')
  })

  itOfWhole('T100: a preflight is free and lets the payment headers through; the answer exposes ours', async () => {
    const preflight = await fetch(`${shop.url}/data`, {
      method: 'OPTIONS',
      headers: {
        Origin: 'https://app.example',
        'Access-Control-Request-Method': 'GET',
        'Access-Control-Request-Headers': 'payment-proof, x-trace',
      },
    })
    expect(preflight.status).toBe(204)
    expect(preflight.headers.get('access-control-allow-origin')).toBe('*')
    expect(preflight.headers.get('access-control-allow-headers')?.toLowerCase()).toContain('payment-proof')
    expect(preflight.headers.get('access-control-allow-headers')?.toLowerCase()).toContain('x-trace')
    const unpaid = await fetch(`${shop.url}/data`, { headers: { Origin: 'https://app.example' } })
    expect(unpaid.headers.get('access-control-allow-origin')).toBe('*')
    const paid = await shop.claim(await shop.buy(payer), '/data', { headers: { Origin: 'https://app.example' } })
    expect(paid.headers.get('access-control-allow-origin')).toBe('*')
    for (const name of ['Payment-Receipt', 'Payment-Allowance', 'Payment-Status', 'Content-Range'])
      expect(paid.headers.get('access-control-expose-headers')).toContain(name)
  })

  itOfWhole('refuses in problem+json with a stable code', async () => {
    const response = await shop.claim('tx=nonsense')
    expect(response.status).toBe(403)
    expect(response.headers.get('content-type')).toBe('application/problem+json')
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(await response.json()).toMatchObject({ status: 403, code: 'proof_malformed', retryable: false })
  })

  itOfWhole('binds a payment to method, path and query', async () => {
    const challenge = await shop.challenge('/data?size=1')
    const proof = proofOf(await world.pay(challenge, payer), challenge, payer)
    expect(await codeOf(await shop.claim(proof, '/data?size=9999'))).toBe('403 binding_mismatch')
    expect(await codeOf(await shop.claim(proof, '/other?size=1'))).toBe('403 binding_mismatch')
    expect(await codeOf(await shop.claim(proof, '/data?size=1', { method: 'POST' }))).toBe('403 binding_mismatch')
    expect((await shop.claim(proof, '/data?size=1')).status).toBe(200)
  })
})

describe.each(cells(adapters, 3))('%s with an envelope', (_name, serve) => {
  it.each([
    ['verified', { status: 'verified', message: expect.any(String), data: { secret: 42 } }],
    ['result', { result: expect.any(String), data: { secret: 42 } }],
  ] as const)('wraps JSON in the shape %s of the protocol', async (envelope, shape) => {
    const shop = await openShop(world, serve, handler, { envelope })
    const response = await shop.claim(await shop.buy(payer))
    const text = await response.text()
    expect(JSON.parse(text)).toEqual(shape)
    const length = response.headers.get('content-length')
    if (length !== null) expect(Number(length)).toBe(text.length)
    const bare = await shop.claim(await shop.buy(payer, '/cached'), '/cached')
    expect(await bare.text()).toBe('x')
    const empty = await shop.claim(await shop.buy(payer, '/null'), '/null')
    expect(await empty.json()).toEqual({ ...shape, data: null })
    const dated = await shop.claim(await shop.buy(payer, '/dated'), '/dated')
    expect(await dated.json()).toEqual(shape)
    // They describe the original body: a client would continue a broken download there, at a wrong position.
    for (const name of Object.keys(validators)) expect([name, dated.headers.get(name)]).toEqual([name, null])
    await shop.close()
  })
})

describe.each(cells(adapters, 3, 1))('%s with verifyOnChain: false', (_name, serve) => {
  it('believes the payment, but keeps seal, binding and once-only', async () => {
    const shop = await openShop(world, serve, handler, { verifyOnChain: false })
    const challenge = await shop.challenge()
    const tx = (await shop.buy(payer)).slice(3, 91).split(';')[0] ?? ''
    const proof = proofOf(tx, challenge, payer)
    expect(await codeOf(await shop.claim(proof, '/other'))).toBe('403 binding_mismatch')
    expect((await shop.claim(proof)).status).toBe(200)
    expect(
      await eventually(
        async () => codeOf(await shop.claim(proof)),
        (code) => code !== '409 payment_in_progress',
      ),
    ).toBe('409 payment_replay')
    await shop.close()
  })
})
