/**
 * What an adapter guards against in the application around it: responses that nobody waits for, paywalls mounted twice,
 * handlers that throw, heads written by hand.
 */
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import type { KeyPairSigner } from '@solana/kit'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Lifecycle } from '../../src/adapters/lifecycle.ts'
import { create402Middleware as nextMiddleware } from '../../src/adapters/next.ts'
import { create402Middleware as nodeMiddleware } from '../../src/adapters/node.ts'
import type { RefusalCode } from '../../src/core/payment/refusals.ts'
import type { Challenge } from '../../src/core/protocol/challenge.ts'
import type { ProviderOptions } from '../../src/paywall/config/options.ts'
import { adapters, listen, type Serve } from '../harness/adapters.ts'
import { cells } from '../harness/length.ts'
import { proofOf } from '../harness/localnet-fixture.ts'
import { eventually, readAndReset, type Shop } from '../harness/shop.ts'
import { createShopFixture, expectRefused, expectServed, type ShopFixture, txOf } from '../harness/shop-fixture.ts'
import { stacks } from '../harness/stacks.ts'

let fixture: ShopFixture
let payer: KeyPairSigner

beforeAll(async () => {
  fixture = await createShopFixture()
  ;({ payer } = fixture)
})
beforeEach(() => {
  fixture.logged.length = 0
})
afterAll(() => fixture.close())

/** More than any socket buffer on the way holds. */
const large = 'A'.repeat(32 * 1024 * 1024)

/** How the deliveries of a payment ended, once there are as many. */
const endings = (shop: Shop, proof: string, times = 1) =>
  eventually(
    () => shop.events.flatMap((event) => (event.kind === 'ended' && event.tx === txOf(proof) ? [event.outcome] : [])),
    (all) => all.length >= times,
  )

const onNode =
  (handler: (...args: Parameters<RequestListener>) => unknown): Serve =>
  (options) => {
    const paid = nodeMiddleware(options)
    const listener: RequestListener = (request, response) => paid(request, response, () => handler(request, response))
    return listen(createServer(listener), paid)
  }

/** Like Next itself, it makes an answer of what a handler threw. */
const onNext =
  (handler: () => Response | Promise<Response>): Serve =>
  (options) => {
    const paid = nextMiddleware(options)
    const route = paid(handler)
    const answer = (request: Request) =>
      route(request).catch((error: { readonly digest: string }) => new Response(error.digest, { status: 418 }))
    return listen(createServer(getRequestListener(answer)), paid)
  }

describe.each(cells(adapters, adapters.length, 4))('%s', (_name, serve) => {
  it('uses up no payment when the whole response was written and the client broke off in the middle', async () => {
    const shop = await fixture.open({}, serve, () => ({ body: large }))
    const proof = await shop.buy(payer)
    await readAndReset(`${shop.url}/data`, { 'Payment-Proof': proof }, 1_000_000)
    expect(await endings(shop, proof)).toEqual(['partial'])
    const again = await shop.claim(proof)
    expect([again.status, (await again.text()).length]).toEqual([200, large.length])
    expect(await endings(shop, proof, 2)).toEqual(['partial', 'delivered'])
  })
})

describe.each(cells(stacks, 3))('%s', (_name, stack) => {
  it('takes one payment once where the same paywall is mounted twice', async () => {
    const shop = await fixture.open({}, stack())
    const proof = await shop.buy(payer)
    await expectServed(shop.claim(proof))
    expect(await endings(shop, proof)).toEqual(['delivered'])
    await expectRefused(shop.claim(proof), 'payment_replay')
    expect(fixture.logged).toEqual([])
  })

  it('keeps a payment that meets a second paywall, and logs that there are two', async () => {
    const shop = await fixture.open({}, stack({ scope: 'inner' }))
    const proof = await shop.buy(payer)
    await expectRefused(shop.claim(proof), 'handler_failed')
    expect(fixture.logged).toEqual([expect.stringContaining('paywall.nested')])
    expect(await endings(shop, proof)).toEqual(['not_started'])
  })
})

type Misfortune = () => Promise<never> | undefined
const broken = new Error('the handler broke')
const misfortunes: readonly (readonly [name: string, strike: () => Promise<never>])[] = [
  ['throws', () => raise(broken)],
  ['rejects', async () => raise(broken)],
  ['throws what is no error', () => raise('the handler broke')],
]
function raise(thrown: unknown): never {
  throw thrown
}

describe.each<[string, (strike: Misfortune) => Serve]>([
  ['node:http', (strike) => onNode((_request, response) => strike() ?? response.end('the secret'))],
  ['Next', (strike) => onNext(() => strike() ?? new Response('the secret'))],
])('%s', (_name, serveWith) => {
  it.each(cells(misfortunes, 2))(
    'answers for a handler that %s, logs why, and serves the same payment afterwards',
    async (_kind, strike) => {
      let strikes = 1
      const shop = await fixture.open(
        {},
        serveWith(() => (strikes-- > 0 ? strike() : undefined)),
      )
      const proof = await shop.buy(payer)
      await expectRefused(shop.claim(proof), 'handler_failed')
      expect(fixture.logged).toEqual([expect.stringMatching(/"handler.failed".*the handler broke/)])
      expect(await endings(shop, proof)).toEqual(['not_started'])
      await expectServed(shop.claim(proof))
    },
  )
})

describe('node:http', () => {
  it('lets a response that was ended arrive whole, though its handler throws then', async () => {
    const serve = onNode((_request, response) => {
      response.end(large)
      throw broken
    })
    const shop = await fixture.open({}, serve)
    const proof = await shop.buy(payer)
    const response = await shop.claim(proof)
    expect([response.status, (await response.text()).length]).toEqual([200, large.length])
    expect(await endings(shop, proof)).toEqual(['delivered'])
    expect(fixture.logged).toEqual([expect.stringContaining('handler.failed')])
  })

  it('breaks off a response that its handler began and did not end, and gives the payment back', async () => {
    const serve = onNode((_request, response) => {
      response.write('the first half')
      throw broken
    })
    const shop = await fixture.open({}, serve)
    const proof = await shop.buy(payer)
    await expect(shop.claim(proof).then((response) => response.text())).rejects.toThrow()
    expect(await endings(shop, proof)).toEqual(['partial'])
  })
})

describe('Next', () => {
  const throwing = (digest: string) => onNext(() => raise(Object.assign(new Error('thrown'), { digest })))

  it('ends the response to HEAD at once, without its body, and keeps the payment', async () => {
    const outcomes: string[] = []
    const paid = nextMiddleware({
      price: 0.01,
      token: 'USDC',
      recipient: fixture.world.recipient.address,
      network: 'localnet',
      rpc: fixture.world.localnet.rpcUrl,
      ledger: 'memory:',
      log: fixture.log,
      onEvent: (event) => event.kind === 'ended' && outcomes.push(event.outcome),
    })
    fixture.defer(() => paid.close())
    let cancelled = 0
    const route = paid(() => {
      const cancel = () => {
        cancelled += 1
      }
      return new Response(new ReadableStream({ cancel }), { headers: { 'Content-Length': '10' } })
    })
    const ask = (headers: HeadersInit = {}) => route(new Request('https://a.example/x', { method: 'HEAD', headers }))
    const challenge = (await (await ask()).json()) as Challenge
    const proof = proofOf(await fixture.world.pay(challenge, payer), challenge, payer)
    for (const times of [1, 2]) {
      const response = await ask({ 'Payment-Proof': proof })
      expect([response.status, response.body, response.headers.get('content-length')]).toEqual([200, null, '10'])
      expect(outcomes).toEqual(Array(times).fill('no_body'))
      expect(cancelled).toBe(times)
    }
  })

  it('takes redirect() for an answer that uses the payment, and passes it on', async () => {
    const digest = 'NEXT_REDIRECT;replace;/x;307;'
    const shop = await fixture.open({}, throwing(digest))
    const proof = await shop.buy(payer)
    const response = await shop.claim(proof)
    expect([response.status, await response.text()]).toEqual([418, digest])
    expect(await endings(shop, proof)).toEqual(['delivered'])
    await expectRefused(shop.claim(proof), 'payment_replay')
    expect(fixture.logged).toEqual([])
  })

  it.each(['NEXT_NOT_FOUND', 'NEXT_HTTP_ERROR_FALLBACK;404', 'NEXT_HTTP_ERROR_FALLBACK;403'])(
    'passes on %s and gives the payment back',
    async (digest) => {
      const shop = await fixture.open({}, throwing(digest))
      const proof = await shop.buy(payer)
      for (const time of [1, 2]) {
        const response = await shop.claim(proof)
        expect([time, response.status, await response.text()]).toEqual([time, 418, digest])
        expect(await endings(shop, proof, time)).toEqual(Array(time).fill('partial'))
      }
      expect(fixture.logged).toEqual([])
    },
  )

  it.each(['1234567890', 'NEXT_NOT_FOUNDED', 'NEXT_HTTP_ERROR_FALLBACK;40'])(
    'takes an error with the digest %s for a failure',
    async (digest) => {
      const shop = await fixture.open({}, throwing(digest))
      const proof = await shop.buy(payer)
      await expectRefused(shop.claim(proof), 'handler_failed')
      expect(await endings(shop, proof)).toEqual(['not_started'])
    },
  )
})

describe('a head written by hand', () => {
  const given = {
    'x-one': '1',
    'x-two': '2',
    'cache-control': 'public, max-age=600',
    'cdn-cache-control': 'max-age=600',
  }
  const pairs = Object.entries(given)
  const cookies = ['set-cookie', 'a=1', 'Set-Cookie', 'b=2']
  const set = (response: ServerResponse) => response.setHeaders(new Map(pairs))

  it.each<[string, (response: ServerResponse) => ServerResponse, string[]]>([
    ['as an object', (response) => response.writeHead(200, { ...given }), []],
    ['as an object after a reason', (response) => response.writeHead(200, 'Very well', { ...given }), []],
    ['as an object after no reason', (response) => response.writeHead(200, undefined, { ...given }), []],
    [
      'as an object with a list',
      (response) => response.writeHead(200, { ...given, 'set-cookie': ['a=1', 'b=2'] }),
      ['a=1', 'b=2'],
    ],
    ['as a flat list', (response) => response.writeHead(200, [...pairs.flat(), ...cookies]), ['a=1', 'b=2']],
    [
      'as a flat list after a reason',
      (response) => response.writeHead(200, 'Very well', [...pairs.flat(), ...cookies]),
      ['a=1', 'b=2'],
    ],
    [
      'as a list of pairs',
      (response) => response.writeHead(200, [...pairs, cookies.slice(0, 2), cookies.slice(2)]),
      ['a=1', 'b=2'],
    ],
    ['over headers set before', (response) => response.setHeader('x-one', '0').writeHead(200, pairs.flat()), []],
    ['as null, over headers set before', (response) => set(response).writeHead(200, null as never), []],
    ['as null after a reason', (response) => set(response).writeHead(200, 'Very well', null as never), []],
  ])('%s arrives with the receipt and without leave to cache', async (shape, write, setCookies) => {
    const shop = await fixture.open(
      {},
      onNode((_request, response) => write(response).end('the secret')),
    )
    const response = await shop.claim(await shop.buy(payer))
    const { headers } = response
    expect(['x-one', 'x-two', 'cache-control', 'cdn-cache-control'].map((name) => headers.get(name))).toEqual([
      '1',
      '2',
      'private, no-store',
      null,
    ])
    expect(headers.getSetCookie()).toEqual(setCookies)
    expect(headers.get('payment-receipt')).not.toBeNull()
    expect(response.statusText).toBe(shape.endsWith('after a reason') ? 'Very well' : 'OK')
    await expectServed(response)
  })
})

describe('a status', () => {
  it.each<[string, (response: ServerResponse) => unknown]>([
    ['with the head', (response) => response.writeHead('304' as never)],
    ['before it', (response) => Object.assign(response, { statusCode: '304' })],
  ])('given as text %s counts as the number', async (_when, write) => {
    const shop = await fixture.open(
      {},
      onNode((_request, response) => {
        write(response)
        response.end()
      }),
    )
    const proof = await shop.buy(payer)
    expect((await shop.claim(proof)).status).toBe(304)
    expect(await endings(shop, proof)).toEqual(['no_body'])
  })

  it.each<[string, (response: ServerResponse) => unknown]>([
    ['status', (response) => response.writeHead(Number.NaN)],
    ['reason', (response) => response.writeHead(200, 'Very\nwell')],
    ['reason, set before', (response) => Object.assign(response, { statusMessage: 'Very\nwell' }).end('the secret')],
  ])('with a %s that Node refuses to send uses up no payment, and gets no receipt', async (_part, write) => {
    const shop = await fixture.open(
      {},
      onNode((_request, response) => {
        try {
          write(response)
        } catch (error) {
          response.statusMessage = ''
          throw error
        }
      }),
    )
    const proof = await shop.buy(payer)
    const response = await shop.claim(proof)
    expect(response.headers.get('payment-receipt')).toBeNull()
    await expectRefused(response, 'handler_failed')
    expect(await endings(shop, proof)).toEqual(['not_started'])
  })
})

describe('two paywalls of one ledger', () => {
  const [root, one, two] = ['root', 'one', 'two'].map((name) => name.padEnd(32, '.'))

  it.each<[string, Partial<ProviderOptions>, RefusalCode]>([
    ['the same keys are one service', {}, 'payment_replay'],
    ['another key under the same id are two', { secret: `root:${root},1:${two}` }, 'unknown_request'],
    ['another root are two', { secret: `root:${two},1:${one}` }, 'route_unknown'],
    ['another name are two', { service: 'other' }, 'unknown_request'],
  ])('and %s', async (_what, other, code) => {
    const common = { secret: `root:${root},1:${one}` }
    const [first, second] = [await fixture.open(common), await fixture.open({ ...common, ...other })]
    const proof = await first.buy(payer)
    await expectServed(first.claim(proof))
    await expectRefused(second.claim(proof), code)
  })
})

describe('T177: a paywall that its owner has paused', () => {
  type Pausable = Pick<Lifecycle, 'pause' | 'resume' | 'readiness' | 'metrics'>
  const pausable = (keep: (paid: Pausable) => void): Record<string, Serve> => ({
    'node:http': (options) => {
      const paid = nodeMiddleware(options)
      keep(paid)
      const listener: RequestListener = (request, response) => paid(request, response, () => response.end('the secret'))
      return listen(createServer(listener), paid)
    },
    Next: (options) => {
      const paid = nextMiddleware(options)
      keep(paid)
      return listen(createServer(getRequestListener(paid(() => new Response('the secret')))), paid)
    },
  })

  it.each(['node:http', 'Next'])('sells nothing and uses no payment, until it is resumed: %s', async (name) => {
    let paid: Pausable | undefined
    const shop = await fixture.open(
      { endpoint: 'GET /data', free: { requests: 1, per: 'day' } },
      pausable((found) => {
        paid = found
      })[name],
    )
    const first = { headers: { 'X-Forwarded-For': '203.0.113.9' } }
    const proof = await (async () => {
      await fetch(`${shop.url}/data`)
      return shop.buy(payer)
    })()
    paid?.pause('the database is out of reach')
    await expectRefused(fetch(`${shop.url}/data`), 'resource_unavailable')
    await expectRefused(fetch(`${shop.url}/data`, first), 'resource_unavailable')
    await expectRefused(shop.claim(proof), 'resource_unavailable')
    const draft = { method: 'POST', headers: { 'Payment-Checkout': 'submit; requestId=x; transaction=x' } }
    expect((await fetch(`${shop.url}/data`, draft)).status).toBe(503)
    const report = { ready: false, isPaused: true, offered: [], why: 'the database is out of reach' }
    expect(await paid?.readiness()).toMatchObject(report)
    expect(await paid?.metrics()).toContain('paystile_paused{route="GET /data"} 1')
    paid?.resume()
    await expectServed(shop.claim(proof))
    // What is free was not counted meanwhile.
    await expectServed(fetch(`${shop.url}/data`, first))
    expect((await paid?.readiness())?.ready).toBe(true)
    await eventually(
      () => shop.metrics(),
      (text) => text.includes('paystile_paused{route="GET /data"} 0'),
    )
  })
})
