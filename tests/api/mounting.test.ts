/** `createPaystileRoutes` beside paywalls in every framework, from signing in to `getAnalytics`. */
import { createServer, type RequestListener, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { create402Middleware } from '../../src/adapters/node.ts'
import { createPaystileRoutes, type PaystileRoutes, sendResponse } from '../../src/adapters/routes.ts'
import { getAnalytics, SignInError, signInWith } from '../../src/client/index.ts'
import { openRoutes } from '../../src/compose/api.ts'
import { ConfigurationError } from '../../src/core/errors/configuration-error.ts'
import { proofOf } from '../harness/localnet-fixture.ts'
import { createShopFixture, type ShopFixture } from '../harness/shop-fixture.ts'

let fixture: ShopFixture

beforeAll(async () => {
  fixture = await createShopFixture()
})
afterAll(async () => {
  await fixture.close()
})

type Mount = (routes: PaystileRoutes, rest: RequestListener) => RequestListener | Promise<RequestListener>

const mounts: readonly (readonly [string, Mount])[] = [
  [
    'node:http',
    (routes, rest) => (request, response) => routes.listener(request, response, () => rest(request, response)),
  ],
  [
    'Express, behind a body parser',
    (routes, rest) => {
      const app = express()
      app.use(express.json())
      app.use(routes.listener)
      app.use(rest)
      return app as RequestListener
    },
  ],
  [
    'Fastify',
    async (routes, rest) => {
      const app = fastify()
      app.addHook('onRequest', (request, reply, done) => {
        if (!routes.owns(request.url.split('?')[0] ?? '')) return done()
        reply.hijack()
        routes.listener(request.raw, reply.raw)
      })
      app.all('/*', (request, reply) => {
        reply.hijack()
        rest(request.raw, reply.raw as never)
      })
      await app.ready()
      return (request, response) => app.routing(request, response)
    },
  ],
  [
    'Hono',
    (routes, rest) => {
      const app = new Hono()
      app.use(async (context, next) => {
        if (!routes.owns(context.req.path)) return next()
        return routes.fetch(context.req.raw, context.env as never)
      })
      const listener = getRequestListener((request, env) => app.fetch(request, env))
      return (request, response) => {
        const path = request.url?.split('?')[0] ?? '/'
        return routes.owns(path) ? void listener(request, response) : rest(request, response)
      }
    },
  ],
]

async function open(mount: Mount, host = '127.0.0.1') {
  const { world, log } = fixture
  const shared = { network: 'localnet', rpc: world.localnet.rpcUrl, ledger: 'memory:', watch: false, log } as const
  const routes = createPaystileRoutes(shared)
  const recipient = world.recipient.address
  const paid = create402Middleware({ ...shared, price: 0.01, token: 'USDC', recipient, waitSeconds: 0 })
  await paid.ready()
  const listener = await mount(routes, (request, response) => paid(request, response, () => response.end('the secret')))
  const server: Server = createServer(listener)
  server.listen(0, host)
  await new Promise((resolve) => server.once('listening', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    buy: async () => {
      const challenge = await (await fetch(`${url}/report?size=1`)).json()
      const proof = proofOf(await world.pay(challenge, fixture.payer), challenge, fixture.payer)
      return { proof, challenge, answer: await fetch(`${url}/report?size=1`, { headers: { 'Payment-Proof': proof } }) }
    },
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      await routes.close()
      await paid.close()
    },
  }
}

describe.each(mounts)('on %s', (_name, mount) => {
  it('runs beside the paywall and counts its sales', async () => {
    const shop = await open(mount)
    const { answer, proof, challenge } = await shop.buy()
    expect([answer.status, await answer.text()]).toEqual([200, 'the secret'])
    expect(await getAnalytics({ url: shop.url })).toMatchObject({
      totalRevenue: '0.01',
      topEndpoints: [{ path: '/report', calls: 1 }],
    })
    const verified = await fetch(`${shop.url}/verify-payment`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ tx: /tx=([^;]+)/.exec(proof)?.[1], requestId: challenge.requestId }),
    })
    expect([verified.status, await verified.json()]).toMatchObject([200, { valid: false, code: 'payment_replay' }])
    expect((await fetch(`${shop.url}/healthz`)).status).toBe(200)
    const csv = await fetch(`${shop.url}/api/analytics/export?format=csv`)
    // Nobody is signed in here, so no transaction is named.
    expect([csv.status, (await csv.text()).split('\r\n')[0]]).toEqual([
      200,
      expect.stringMatching(/,recipient,splits,collected,shared,refundedAt,refunded,revenue$/),
    ])
    const { paths } = await (await fetch(`${shop.url}/openapi.json`)).json()
    expect(Object.keys(paths)).toEqual(
      expect.arrayContaining(['/verify-payment', '/analytics', '/api/analytics/export', '/sign-in']),
    )
    await shop.close()
  })

  it('ignores unexpected input of a client', async () => {
    const shop = await open(mount)
    const { port } = new URL(shop.url)
    const heads = [
      'TRACE /analytics HTTP/1.1\r\nHost: localhost',
      'GET /analytics HTTP/1.1\r\nHost: a b',
      'GET /analytics HTTP/1.1\r\nHost: localhost:99999',
      'GET http://evil.example/healthz HTTP/1.1\r\nHost: localhost',
      'GET //evil.example/analytics HTTP/1.1\r\nHost: localhost',
      'POST /verify-payment HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{',
    ]
    for (const head of heads) {
      await new Promise<void>((resolve) => {
        const socket = connect(Number(port), '127.0.0.1', () => socket.end(`${head}\r\nConnection: close\r\n\r\n`))
        socket.on('error', () => {})
        socket.on('close', () => resolve())
        socket.resume()
      })
    }
    expect((await fetch(`${shop.url}/healthz`)).status).toBe(200)
    await shop.close()
  })

  it('streams, and lets go when the reader leaves', async () => {
    const shop = await open(mount)
    const leaving = new AbortController()
    const response = await fetch(`${shop.url}/analytics/stream`, { signal: leaving.signal })
    const reader = response.body?.getReader()
    const first = new TextDecoder().decode((await reader?.read())?.value)
    expect([response.status, first]).toEqual([200, expect.stringContaining('retry:')])
    leaving.abort()
    await shop.close()
  })

  it('T136: is closed to clients without a session if the server listens on all addresses', async () => {
    const shop = await open(mount, '0.0.0.0')
    expect((await fetch(`${shop.url}/api/analytics`)).status).toBe(401)
    await shop.close()
  })
})

describe('getAnalytics', () => {
  const [, mount] = mounts[0] as (typeof mounts)[number]

  it('signs in with the owner’s wallet where it has to', async () => {
    const shop = await open(mount, '0.0.0.0')
    const summary = await getAnalytics({ url: shop.url, wallet: fixture.world.recipient as never })
    expect(summary).toMatchObject({ totalRevenue: '0', revenueToken: 'USDC' })
    const wallet = fixture.payer as never
    await expect(getAnalytics({ url: shop.url, wallet })).rejects.toMatchObject({
      name: 'AnalyticsError',
      refusal: 'not_owner',
    })
    await shop.close()
  })

  it('asks PAYSTILE_URL, and says so where it is not set', async () => {
    const shop = await open(mount)
    process.env['PAYSTILE_URL'] = shop.url
    expect(await getAnalytics()).toMatchObject({ totalRevenue: '0' })
    delete process.env['PAYSTILE_URL']
    await expect(getAnalytics()).rejects.toThrow('Set url, or PAYSTILE_URL')
    await shop.close()
    await expect(getAnalytics({ url: shop.url })).rejects.toThrow('cannot be reached')
  })

  it('takes no option that it does not know for nothing', async () => {
    const misspelt = { url: 'http://127.0.0.1:1', form: '2026-01-01' }
    await expect(getAnalytics(misspelt)).rejects.toThrow('form is not an option of getAnalytics; did you mean from?')
    const from = new Date(Number.NaN)
    await expect(getAnalytics({ url: 'http://127.0.0.1:1', from })).rejects.toThrow('from is not a valid Date.')
  })

  it('tells a service that is none from one that refuses', async () => {
    const server = createServer((_request, response) => response.end('<html>hello</html>'))
    server.listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    await expect(getAnalytics({ url })).rejects.toThrow('is not a paystile service')
    await new Promise((resolve) => server.close(resolve))
    const shop = await open(mount)
    await expect(getAnalytics({ url: shop.url, from: 'yesterday' })).rejects.toMatchObject({ refusal: 'query_invalid' })
    await shop.close()
  })

  it('a signed-in payer learns whether the payment was used', async () => {
    const shop = await open(mount, '0.0.0.0')
    const { proof, challenge, answer } = await shop.buy()
    await answer.text()
    const { token, isOwner } = await signInWith(fixture.payer as never, shop.url)
    expect(isOwner).toBe(false)
    const ask = async (headers: Record<string, string>) => {
      const body = JSON.stringify({ tx: /tx=([^;]+)/.exec(proof)?.[1], requestId: challenge.requestId })
      const init = { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body }
      return (await (await fetch(`${shop.url}/verify-payment`, init)).json()) as { code?: string; valid: boolean }
    }
    expect(await ask({ authorization: `Bearer ${token}` })).toMatchObject({ valid: false, code: 'payment_replay' })
    expect(await ask({})).toMatchObject({ valid: true })
    expect(SignInError.name).toBe('SignInError')
    await shop.close()
  })
})

describe('options', () => {
  it('are read whole, and all that is wrong is told at once', () => {
    const wrong = { network: 'devnet', ownerz: [], owners: ['me'], metrics: 'all', origins: ['x'] }
    try {
      createPaystileRoutes(wrong as never)
      expect.unreachable()
    } catch (error) {
      expect(error).toBeInstanceOf(ConfigurationError)
      expect((error as ConfigurationError).problems.map((problem) => problem.split(':')[0])).toEqual([
        'owners.0',
        'metrics',
        'origins.0',
        'ownerz',
      ])
    }
  })

  it('need the usual options of their network', () => {
    expect(() => createPaystileRoutes({ network: 'mainnet' })).toThrow(/rpc: mainnet needs[\s\S]*secret: mainnet needs/)
  })
})

it('tells health, and nothing else, while the service cannot start', async () => {
  const { log } = fixture
  const routes = openRoutes({ network: 'localnet', rpc: 'http://127.0.0.1:9', ledger: 'memory:', log })
  const ask = (path: string) => routes.handle(new Request(`http://localhost${path}`), { isLoopback: false })
  expect((await ask('/healthz')).status).toBe(200)
  const ready = await ask('/readyz')
  expect([ready.status, await ready.json()]).toEqual([503, { ready: false, why: ['not_started'] }])
  const summary = await ask('/api/analytics')
  expect([summary.status, await summary.json()]).toMatchObject([503, { code: 'not_started' }])
  await routes.close()
})

it('releases a response if its reader left before it began', async () => {
  let isLetGo = false
  const over = new Promise<void>((resolve) => {
    const server = createServer((_request, response) => {
      response.once('close', async () => {
        const body = new ReadableStream({
          pull: (controller) => controller.enqueue(new TextEncoder().encode('a row\n')),
          cancel: () => {
            isLetGo = true
          },
        })
        await sendResponse(response, new Response(body))
        server.close(() => resolve())
      })
    })
    server.listen(0, '127.0.0.1', () => {
      const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
      socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n', () => setTimeout(() => socket.destroy(), 20))
    })
  })
  await over
  expect(isLetGo).toBe(true)
})
