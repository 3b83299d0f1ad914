/** `createPaystile` in every adapter: routes that are charged, the service's own endpoints, and one end for all of them. */
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import express from 'express'
import express4 from 'express4'
import fastify from 'fastify'
import { Hono } from 'hono'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { drain } from '../../src/adapters/drain.ts'
import * as expressAdapter from '../../src/adapters/express.ts'
import * as fastifyAdapter from '../../src/adapters/fastify.ts'
import * as honoAdapter from '../../src/adapters/hono.ts'
import * as nextAdapter from '../../src/adapters/next.ts'
import * as nodeAdapter from '../../src/adapters/node.ts'
import {
  type ChargeOptions,
  chargeOptions,
  endpointOptions,
  type PaystileOptions,
  readSharedOptions,
  serviceOptions,
} from '../../src/api/factory-options.ts'
import { listOpen } from '../../src/compose/open-paywalls.ts'
import { ConfigurationError } from '../../src/core/errors/configuration-error.ts'
import type { Challenge } from '../../src/core/protocol/challenge.ts'
import { paymentOf } from '../../src/index.ts'
import { providerSchema } from '../../src/paywall/config/options.ts'
import { proofOf } from '../harness/localnet-fixture.ts'
import { createShopFixture, type ShopFixture } from '../harness/shop-fixture.ts'

let stand: ShopFixture
beforeAll(async () => {
  stand = await createShopFixture()
})
afterAll(() => stand.close())

const shared = (): PaystileOptions => ({
  recipient: stand.world.recipient.address,
  network: 'localnet',
  rpc: stand.world.localnet.rpcUrl,
  ledger: 'memory:',
  watch: false,
  log: stand.log,
})

interface App {
  readonly listener: RequestListener
  readonly paystile: { close(): Promise<void> }
}

/** Each sells `/report` for 0.01 USDC and `/picture` for 0.02, and answers with the payment of the request. */
type Build = (options: PaystileOptions) => App | Promise<App>

const apps: readonly (readonly [name: string, build: Build])[] = [
  ['Express 5', (options) => buildExpress(express, options)],
  ['Express 4', (options) => buildExpress(express4 as never, options)],
  [
    'Fastify 5',
    async (options) => {
      const paystile = fastifyAdapter.createPaystile(options)
      const app = fastify()
      app.addHook('onRequest', paystile.routes())
      app.get('/report', { onRequest: paystile.charge({ price: 0.01 }) }, async (request) => paymentOf(request))
      app.get('/picture', { preHandler: paystile.charge({ price: 0.02 }) }, async (request) => paymentOf(request))
      await app.ready()
      return { listener: app.routing, paystile }
    },
  ],
  [
    'Hono 4',
    (options) => {
      const paystile = honoAdapter.createPaystile(options)
      const app = new Hono()
      app.use(paystile.routes())
      app.get('/report', paystile.charge({ price: 0.01 }), (context) => context.json(paymentOf(context)))
      app.get('/picture', paystile.charge({ price: 0.02 }), (context) => context.json(paymentOf(context.req)))
      return { listener: getRequestListener(app.fetch), paystile }
    },
  ],
  [
    'Next',
    (options) => {
      const paystile = nextAdapter.createPaystile(options)
      const answer = async (request: Request) => Response.json(paymentOf(request))
      const pages = new Map([
        ['/report', paystile.charge({ price: 0.01 })(answer)],
        ['/picture', paystile.charge({ price: 0.02 })(answer)],
      ])
      const rest = paystile.routes()
      const listener = getRequestListener((request) => (pages.get(new URL(request.url).pathname) ?? rest)(request))
      return { listener, paystile }
    },
  ],
  [
    'node:http',
    (options) => {
      const paystile = nodeAdapter.createPaystile(options)
      const [routes, report] = [paystile.routes(), paystile.charge({ price: 0.01 })]
      const picture = paystile.charge({ price: 0.02 })
      const listener: RequestListener = (request, response) =>
        routes(request, response, () =>
          (request.url === '/report' ? report : picture)(request, response, () =>
            response.setHeader('Content-Type', 'application/json').end(JSON.stringify(paymentOf(request))),
          ),
        )
      return { listener, paystile }
    },
  ],
]

function buildExpress(create: typeof express, options: PaystileOptions): App {
  const paystile = expressAdapter.createPaystile(options)
  const app = create()
  app.use(paystile.routes())
  app.get('/report', paystile.charge({ price: 0.01 }), (request, response) => {
    response.json(paymentOf(Object.assign(request, { raw: 'of the application' })))
  })
  app.get('/picture', paystile.charge({ price: 0.02 }), (request, response) => void response.json(paymentOf(request)))
  return { listener: app as RequestListener, paystile }
}

async function listen({ listener, paystile }: App) {
  const server = createServer(listener)
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, stop: () => drain(server, paystile) }
}

describe.each(apps)('%s', (_name, build) => {
  it('charges two routes, tells the handler its payment, answers at its endpoints, and ends with one close', async () => {
    const before = listOpen().length
    const { url, stop } = await listen(await build(shared()))
    expect(listOpen().length).toBe(before + 3)
    const ask = async (path: string) => (await (await fetch(`${url}${path}`)).json()) as Challenge
    const [report, picture] = [await ask('/report'), await ask('/picture')]
    expect([report.amount, report.currency, picture.amount]).toEqual(['0.01', 'USDC', '0.02'])
    for (const [path, challenge] of [['/report', report] as const, ['/picture', picture] as const]) {
      const tx = await stand.world.pay(challenge, stand.payer)
      const headers = { 'Payment-Proof': proofOf(tx, challenge, stand.payer) }
      const response = await fetch(`${url}${path}`, { headers })
      const payment = { tx, token: 'USDC', amount: challenge.amount, unit: 'request', isOnce: true }
      expect([response.status, await response.json()]).toEqual([200, expect.objectContaining(payment)])
    }
    expect((await fetch(`${url}/healthz`)).status).toBe(200)
    const dashboard = await fetch(`${url}/dashboard`)
    expect([dashboard.status, dashboard.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    const sold = (await (await fetch(`${url}/.well-known/paystile`)).json()) as { readonly recipients?: unknown }
    expect(JSON.stringify(sold)).toContain(stand.world.recipient.address)
    await stop()
    expect(listOpen().length).toBe(before)
  })
})

describe('options', () => {
  const create = (options: object) => nodeAdapter.createPaystile(options as PaystileOptions)
  const problemsOf = (call: () => unknown): readonly string[] => {
    try {
      call()
    } catch (error) {
      if (error instanceof ConfigurationError) return error.problems
      throw error
    }
    return []
  }

  it('all have a place, and only one', () => {
    const both = Object.keys(providerSchema.shape).filter(
      (name) => ![...serviceOptions, ...chargeOptions].includes(name as never),
    )
    expect([...serviceOptions, ...chargeOptions, ...both].sort()).toEqual(Object.keys(providerSchema.shape).sort())
    expect(both.sort()).toEqual([
      ...[
        'acceptedMints',
        'allowanceTtlSeconds',
        'challengeTtlSeconds',
        'checkout',
        'cors',
        'envelope',
        'leaseSeconds',
      ],
      ...['onEvent', 'proofBinding', 'proofTtlSeconds', 'reopen', 'retired', 'splits', 'token', 'verifyOnChain'],
      'waitSeconds',
    ])
    expect(endpointOptions.length).toBeGreaterThan(8)
  })

  it('are refused in another place, all at once, with the place where they belong', () => {
    expect(problemsOf(() => create({ ...shared(), price: 0.01, per: 'request', webhooks: [], netwrok: '' }))).toEqual([
      'price: belongs to charge, not to createPaystile; move it there',
      'per: belongs to charge, not to createPaystile; move it there',
      'webhooks: belongs to routes, not to createPaystile; move it there',
      'netwrok: is not an option; did you mean network?',
    ])
    const paystile = create(shared())
    const wrong = { price: 0.01, network: 'localnet', owners: [], cors: 'yes' }
    expect(problemsOf(() => paystile.charge(wrong as never))).toEqual([
      'network: belongs to createPaystile, not to charge; move it there',
      'owners: belongs to routes, not to charge; move it there',
      'cors: must be true or false, not "yes"',
    ])
    expect(problemsOf(() => paystile.routes({ ledger: 'memory:', price: 1, metrics: 'all' } as never))).toEqual([
      'ledger: belongs to createPaystile, not to routes; move it there',
      'price: belongs to charge, not to routes; move it there',
      'metrics: must be one of owners, open, not "all"',
    ])
  })

  it('do not compile in another place, nor does a paymentOf of something else than a request', () => {
    const paystile = nodeAdapter.createPaystile(shared())
    // @ts-expect-error price is an option of charge
    expect(() => nodeAdapter.createPaystile({ network: 'localnet', price: 0.01 })).toThrow(ConfigurationError)
    // @ts-expect-error webhooks is an option of routes
    expect(() => nodeAdapter.createPaystile({ network: 'localnet', webhooks: [] })).toThrow(ConfigurationError)
    // @ts-expect-error finalizedFrom counts in the token of a route
    expect(() => nodeAdapter.createPaystile({ network: 'localnet', finalizedFrom: 5 })).toThrow(ConfigurationError)
    // @ts-expect-error network is an option of createPaystile
    expect(() => paystile.charge({ price: 0.01, network: 'localnet' })).toThrow(ConfigurationError)
    // @ts-expect-error price is missing
    expect(() => paystile.charge({ token: 'USDC' })).toThrow(/price: is missing/)
    // @ts-expect-error rpc is an option of createPaystile
    expect(() => paystile.routes({ rpc: 'http://127.0.0.1:8899' })).toThrow(ConfigurationError)
    const response = new Response()
    // @ts-expect-error a response is no request
    expect(paymentOf(response)).toBeUndefined()
  })

  it('are checked before any route is charged, also where the environment gives them', () => {
    expect(problemsOf(() => create({ network: 'mainnet', recipient: 'me', netwrok: 1 })).join('\n')).toMatch(
      /recipient: [\s\S]*netwrok: is not an option; did you mean network\?/,
    )
    expect(problemsOf(() => create({ network: 'localnet' }))).toEqual([
      expect.stringMatching(/^recipient: is missing;/),
    ])
    vi.stubEnv('PAYSTILE_RECIPIENT', stand.world.recipient.address)
    onTestFinished(() => void vi.unstubAllEnvs())
    expect(problemsOf(() => create({ network: 'localnet', recipient: undefined }))).toEqual([])
  })

  it('of the service are the defaults of a route, which its own override', async () => {
    const paystile = nextAdapter.createPaystile({
      ...shared(),
      token: 'SOL',
      envelope: 'verified',
      retired: { recipients: [stand.payer.address] },
    })
    stand.defer(() => paystile.close())
    const ask = async (options: ChargeOptions) => {
      const route = paystile.charge(options)(async () => new Response('the secret'))
      return (await (await route(new Request('http://localhost/data'))).json()) as Challenge
    }
    expect(await ask({ price: 0.5, token: undefined as never })).toMatchObject({ amount: '0.5', currency: 'SOL' })
    expect(await ask({ price: 0.5, token: 'USDC' })).toMatchObject({ amount: '0.5', currency: 'USDC' })
    // What the envelope of the service would forbid.
    expect(() => paystile.charge({ price: 0.5, per: 'megabyte' })).toThrow(/envelope/)
    expect(await ask({ price: 0.5, per: 'megabyte', envelope: 'none' })).toMatchObject({ currency: 'SOL' })
  })

  it('of one service are joined: retired scopes of charge keep the retired recipients', () => {
    const options = readSharedOptions({ ...shared(), retired: { recipients: [stand.payer.address] } }, {})
    expect(options.forCharge({ price: 1, retired: { scopes: ['old'] } }).retired).toEqual({
      recipients: [stand.payer.address],
      scopes: ['old'],
    })
  })
})

it('gives the facilitator of its endpoints the sponsor of its routes', () => {
  const facilitator = { payTo: [stand.payer.address] }
  const { forRoutes } = readSharedOptions({ ...shared(), sponsor: true }, {})
  expect(forRoutes({ facilitator })).toMatchObject({ facilitator, sponsor: true })
  expect(() => readSharedOptions(shared(), {}).forRoutes({ facilitator })).toThrow('facilitator: needs a wallet')
})

it('charges nothing more once it is closed, and closes twice without harm', async () => {
  const paystile = nodeAdapter.createPaystile(shared())
  await paystile.charge({ price: 0.01 }).ready()
  await Promise.all([paystile.close(), paystile.close()])
  expect(() => paystile.charge({ price: 0.01 })).toThrow('this paystile is closed')
  expect(() => paystile.routes()).toThrow('this paystile is closed')
})

it('shares its service with create402Middleware of equal options: the endpoints list the routes of both', async () => {
  const options = shared()
  const paystile = nextAdapter.createPaystile(options)
  const single = nextAdapter.create402Middleware({ ...options, price: 0.03, token: 'USDC', endpoint: '/single' })
  const routes = paystile.routes()
  stand.defer(() => Promise.all([paystile.close(), single.close()]))
  await Promise.all([paystile.charge({ price: 0.01, endpoint: '/charged' }).ready(), single.ready()])
  const { paths } = (await (await routes(new Request('http://localhost/openapi.json'))).json()) as {
    readonly paths: object
  }
  expect(Object.keys(paths)).toEqual(expect.arrayContaining(['/charged', '/single']))
})

it('sends the dashboard uncompressed under Next, which compresses it and drops Content-Encoding', async () => {
  const paystile = nextAdapter.createPaystile(shared())
  stand.defer(() => paystile.close())
  const headers = { 'Accept-Encoding': 'gzip' }
  const response = await paystile.routes()(new Request('http://localhost/dashboard', { headers }))
  expect(response.headers.get('content-encoding')).toBeNull()
  expect(await response.text()).toContain('<!doctype html>')
})
