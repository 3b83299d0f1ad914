import { describe, expect, it } from 'vitest'
import { formatPlace } from './place.ts'
import { readPlan } from './plan.ts'

const recipient = '8g2uBvHYnLHwvy4xXZfaqHLBG2vFgSMVzSRcXdXzZSAi'
const base = { network: 'localnet', recipient, token: 'USDC', upstream: 'http://127.0.0.1:3000' }
const report = { path: '/api/report', price: 0.01 }

function problemsOf(config: unknown, environment: Record<string, string> = {}): readonly string[] {
  const reading = readPlan(config, environment)
  return reading.kind === 'plan' ? [] : reading.problems.map(({ place, why }) => `${formatPlace(place)}: ${why}`)
}
function planOf(config: unknown) {
  const reading = readPlan(config, {})
  if (reading.kind === 'problems') throw new Error(JSON.stringify(reading.problems))
  return reading.plan
}

const notFree = "frontPage: must be a path such as / or /shop that is none of the service's own endpoints, or false"

describe('a plan', () => {
  it('has defaults for everything but money, upstream and routes', () => {
    const plan = planOf({ ...base, routes: [report] })
    expect(plan).toMatchObject({
      host: '127.0.0.1',
      port: 8402,
      connections: 10_000,
      headMs: 10_000,
      requestMs: 30_000,
    })
    const [route] = plan.routes
    expect([...(route?.methods ?? [])]).toEqual(['GET', 'HEAD'])
    expect(route).toMatchObject({
      name: 'GET /api/report',
      isWebSocket: false,
      upstream: { origin: 'http://127.0.0.1:3000', prefix: '', connectMs: 10_000, answerMs: 60_000, idleMs: 300_000 },
      config: {
        service: { network: 'localnet' },
        route: { pricing: { price: 10_000n, token: 'USDC' }, recipient, scope: 'GET:/api/report' },
      },
    })
  })

  it.each([
    [undefined, [report], '/'],
    [undefined, [report, { path: '/', free: true }], false],
    [undefined, [report, { path: '/*', price: 1 }], '/'],
    [undefined, [report, { path: '/', price: 1 }], false],
    [undefined, [report, { path: '/', methods: ['POST'], price: 1 }], '/'],
    [false, [report], false],
    ['/shop', [report, { path: '/', free: true }], '/shop'],
  ])('with frontPage %j and the routes %j has its front page at %j', (frontPage, routes, path) => {
    expect(planOf({ ...base, frontPage, routes }).service.frontPage).toBe(path)
  })

  it.each([
    ['/shop', 'frontPage: is hidden by the route GET /*; choose another path, or false'],
    ['/dashboard', notFree],
    ['shop', notFree],
    ['/shop?x', notFree],
  ])('has no front page at %s', (frontPage, problem) => {
    expect(problemsOf({ ...base, frontPage, routes: [report, { path: '/*', free: true }] })).toEqual([problem])
  })

  it('takes defaults of a route from the top of the file', () => {
    const plan = planOf({
      ...base,
      envelope: 'verified',
      headers: { 'X-Key': 'k', 'X-Both': 'top' },
      timeouts: { answerSeconds: 5 },
      routes: [
        report,
        {
          path: '/own',
          price: '0.5',
          token: 'SOL',
          envelope: 'none',
          upstream: 'http://user:p%40ss@10.0.0.1:9000/v1/',
          headers: { 'x-both': 'route' },
          timeouts: { idleSeconds: 0 },
        },
      ],
    })
    expect(plan.routes[0]?.config?.route).toMatchObject({ envelope: 'verified', pricing: { token: 'USDC' } })
    expect(plan.routes[1]?.config?.route).toMatchObject({ envelope: 'none', pricing: { token: 'SOL' } })
    expect(plan.routes[1]?.upstream).toEqual({
      origin: 'http://10.0.0.1:9000',
      prefix: '/v1',
      headers: { authorization: `Basic ${btoa('user:p@ss')}`, 'x-key': 'k', 'x-both': 'route' },
      forward: [],
      preserveHost: false,
      connectMs: 10_000,
      answerMs: 5_000,
      idleMs: 0,
      probe: { path: undefined, everyMs: 5_000 },
    })
  })

  it('takes free routes, free quotas, functions and a port that is text', () => {
    const plan = planOf({
      ...base,
      listen: { port: '9402' },
      routes: [
        { path: '/health', free: true },
        { path: '/some', price: 0.01, free: { requests: 3, per: 'day' } },
        { path: '/dear', price: () => 0.5, methods: ['POST'], bind: { body: true } },
      ],
    })
    expect(plan.port).toBe(9402)
    expect(plan.routes.map(({ config }) => config?.route.free)).toEqual([
      undefined,
      { requests: 3, seconds: 86_400 },
      undefined,
    ])
    expect(plan.routes.map(({ readsBody }) => readsBody)).toEqual([false, false, true])
    expect(plan.routes[0]?.config).toBeUndefined()
  })

  it('gives long routes a scope that fits and is their own', () => {
    const long = (end: string) => ({ path: `/${'x'.repeat(80)}/${end}`, price: 1 })
    const scopes = planOf({ ...base, routes: [long('a'), long('b')] }).routes.map(
      ({ config }) => config?.route.scope ?? '',
    )
    expect(scopes[0]).not.toBe(scopes[1])
    expect(scopes.every((scope) => scope.length <= 64)).toBe(true)
  })
})

describe('all problems are reported at once', () => {
  it('names that are not known, with the nearest that are', () => {
    const config = {
      ...base,
      recipent: 'x',
      listen: { prot: 1 },
      routes: [{ ...report, pirce: 1, timeouts: { idleSecond: 1 } }],
    }
    expect(problemsOf(config)).toEqual([
      'listen.prot: is not an option; did you mean port?',
      'routes[0].timeouts.idleSecond: is not an option; did you mean idleSeconds?',
      'routes[0].pirce: is not an option; did you mean price?',
      'recipent: is not an option; did you mean recipient?',
    ])
  })

  it.each<[string, object, string]>([
    ['no routes', { routes: [] }, 'routes: must have a route'],
    ['routes left out', {}, 'routes: is missing; list at least one path with its price'],
    ['no price', { routes: [{ path: '/a' }] }, 'routes[0]: has neither a price nor free: true'],
    [
      'price and free',
      { routes: [{ ...report, free: true }] },
      'routes[0].free: is true although the route has a price; remove one of the two',
    ],
    ['a bad price', { routes: [{ path: '/a', price: -1 }] }, 'routes[0].price: must be more than zero, not -1'],
    ['a price of a kind', { routes: [{ path: '/a', price: [] }] }, 'routes[0].price: must be a number or decimal text'],
    [
      'a method',
      { routes: [{ ...report, methods: ['get'] }] },
      'routes[0].methods[0]: must be one of GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS; did you mean GET?',
    ],
    ['a pattern', { routes: [{ path: 'x', price: 1 }] }, 'routes[0].path: must begin with a slash'],
    [
      'a scheme',
      { upstream: 'ftp://x', routes: [report] },
      'upstream: must be an http or https address such as http://127.0.0.1:3000',
    ],
    [
      'a file',
      { upstream: 'file:///etc/passwd', routes: [report] },
      'upstream: must be an http or https address such as http://127.0.0.1:3000',
    ],
    ['a query', { upstream: 'http://x/?a', routes: [report] }, 'upstream: must not have a query'],
    [
      'a header of ours',
      { routes: [{ ...report, headers: { 'X-Payment-Tx': '1' } }] },
      'routes[0].headers.X-Payment-Tx: is a header that the gateway sets itself',
    ],
    [
      'a header of the connection',
      { headers: { Connection: 'x' }, routes: [report] },
      'headers.Connection: is a header that the gateway sets itself',
    ],
    [
      'a header in two lines',
      { headers: { 'X-A': 'a\r\nb' }, routes: [report] },
      'headers.X-A: must be one line of text',
    ],
    [
      'a websocket without GET',
      { routes: [{ ...report, methods: ['POST'], websocket: true }] },
      'routes[0].websocket: needs GET among the methods, because a WebSocket starts with GET',
    ],
    [
      'its own address',
      { routes: [{ path: '/api/analytics', price: 1 }] },
      'routes[0].path: is reserved for the service itself; choose another path than /api/analytics',
    ],
    [
      'below one',
      { routes: [{ path: '/pay/:id', price: 1 }] },
      'routes[0].path: is reserved for the service itself; choose another path than /pay/:id',
    ],
    [
      'encoded',
      { routes: [{ path: '/%64ashboard', price: 1 }] },
      'routes[0].path: is reserved for the service itself; choose another path than /%64ashboard',
    ],
    [
      'twice',
      { routes: [report, { path: '/api/repor%74', price: 2 }] },
      'routes[1].path: is a duplicate: routes[0] (/api/report) already has it',
    ],
    [
      'twice by a method',
      {
        routes: [
          { ...report, methods: ['GET', 'POST'] },
          { ...report, methods: ['POST', 'PUT'] },
        ],
      },
      'routes[1].path: is a duplicate: routes[0] (/api/report) already has POST',
    ],
    [
      'hidden',
      { routes: [{ path: '/api/*', price: 1 }, report] },
      'routes[1].path: is never reached: routes[0] (/api/*) comes first and matches it; put the narrower route first',
    ],
    [
      'a webhook',
      { webhooks: [{ url: 'ftp://x', secret: 's' }], routes: [report] },
      'webhooks[0].url: must be an address such as https://example.com/hook',
    ],
    [
      'a secret of a webhook',
      { webhooks: [{ url: 'https://example.com/hook', secret: 'abc' }], routes: [report] },
      'webhooks[0].secret: must be whsec_ and 24 to 64 bytes in base64; create one with: ' +
        'echo "whsec_$(openssl rand -base64 32)"',
    ],
    [
      'a shared option that does not suit two of the routes',
      {
        reopen: { minutes: 10 },
        routes: [
          report,
          { path: '/bundle', price: 1, per: { requests: 5 } },
          { path: '/window', price: 1, per: 'hour' },
        ],
      },
      "reopen: works only with per: 'request' (routes GET /bundle, GET /window)",
    ],
    [
      'a shared option that suits no route',
      {
        reopen: { minutes: 10 },
        routes: [
          { path: '/bundle', price: 1, per: { requests: 5 } },
          { path: '/open', free: true },
        ],
      },
      "reopen: works only with per: 'request'",
    ],
  ])('%s', (_name, part, problem) => {
    expect(problemsOf({ ...base, ...part })).toEqual([problem])
  })

  it('the tokens of the file belong to all routes', () => {
    const EURC = { mint: 'HzwqbKZw8HxMN6bF2yFZNrht3c2iXXzpKcFu7uBEDKtr', decimals: 6 }
    const file = { ...base, tokens: { EURC }, rates: { EURC: '1.08' } }
    const accepting = { path: '/euro', price: 1, acceptedMints: ['USDC', 'EURC'] }
    expect(problemsOf({ ...file, routes: [report, accepting, { path: '/b', price: 1, token: 'EURC' }] })).toEqual([])
    expect(problemsOf({ ...base, routes: [accepting] }).join()).toContain('EURC is not a token of this service')
  })

  it('T98: a resource named analytics is refused', () => {
    expect(problemsOf({ ...base, routes: [{ path: '/api/analytics', price: 1 }] })).toHaveLength(1)
    expect(problemsOf({ ...base, routes: [{ path: '/api/:resource', price: 1 }] })).toEqual([])
  })

  it('a file without a token prices in USDC, and a route can choose another one', () => {
    const { token: _, ...without } = base
    const { routes } = planOf({ ...without, routes: [report, { path: '/b', price: 1, token: 'SOL' }] })
    expect(routes.map(({ config }) => config?.route.pricing.token)).toEqual(['USDC', 'SOL'])
  })

  it('shared options are set once, with their place in the file', () => {
    const { recipient: _, ...without } = base
    const config = { ...without, routes: [report, { path: '/b', price: 0 }, { path: '/c', price: 1, token: 'usdt' }] }
    expect(problemsOf({ ...config, routes: config.routes.slice(0, 1) })).toEqual([
      'recipient: is missing; set it, or PAYSTILE_RECIPIENT, to the address of your wallet',
    ])
    expect(problemsOf(config)).toEqual(['routes[2].token: must be one of NATIVE, USDC, SOL, or a code of tokens'])
    expect(
      problemsOf({ ...without, routes: [report, { path: '/b', price: 1 }] }, { PAYSTILE_RECIPIENT: 'nobody' }),
    ).toEqual([expect.stringMatching(/^recipient: \(from PAYSTILE_RECIPIENT\) /)])
    expect(problemsOf({ ...base, network: 'mainnet', routes: [report, { path: '/b', price: 1 }] })).toEqual([
      expect.stringMatching(/^rpc: mainnet needs/),
      expect.stringMatching(/^secret: mainnet needs/),
    ])
  })
})
