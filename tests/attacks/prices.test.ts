/** Attacks on the prices in a gateway's file, through the page on which owners edit them. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { readPlanFile } from '../../src/gateway/config/file.ts'
import { type Gateway, openGateway } from '../../src/gateway/gateway.ts'
import { createPriceEditor } from '../../src/gateway/price-editor.ts'
import { createPerson, owner, signInAt, stranger } from '../api/people.ts'
import { createGatewayFixture, type GatewayFixture } from '../gateway/gateway-fixture.ts'

let fixture: GatewayFixture
beforeAll(async () => {
  fixture = await createGatewayFixture()
})
afterAll(() => fixture.close())

interface Served {
  readonly url: string
  readonly path: string
  readonly gateway: Gateway
  readonly logged: string[]
  /** What the next reload throws, if anything. */
  fault: Error | undefined
  text(): string
}

let count = 0

async function serve(edit: string): Promise<Served> {
  count += 1
  const path = join(fixture.directory, `shop-${count}.yaml`)
  const text = `# The shop
network: localnet
rpc: ${fixture.world.localnet.rpcUrl}
ledger: ${join(fixture.directory, `prices-${count}.sqlite`)}
recipient: ${fixture.world.recipient.address}
owners: [${owner.address}]
token: USDC
upstream: ${fixture.upstream.url}
listen: { port: 0 }
watch: false
${edit}
routes:
  - path: /weather
    price: 0.01 # per forecast
  - { path: /news, headers: { authorization: hidden-key }, price: '0.02' }
`
  writeFileSync(path, text)
  const logged: string[] = []
  const note = (event: string, facts?: unknown) => void logged.push(JSON.stringify({ event, facts }))
  const log = { info: note, warn: note, error: note }
  const read = async () => {
    const plan = await readPlanFile(path, process.env)
    const routes = plan.routes.map((route) => ({ ...route, config: route.config && { ...route.config, log } }))
    return { ...plan, routes, service: { ...plan.service, log } }
  }
  const served: Served = { url: '', path, logged, fault: undefined, text: () => readFileSync(path, 'utf8') } as never
  const prices = createPriceEditor({
    path,
    environment: process.env,
    plan: () => gateway.plan,
    reload: async () => {
      if (served.fault) throw served.fault
      await gateway.reload(await read())
    },
  })
  const gateway = openGateway(await read(), { prices })
  const url = await gateway.listen()
  fixture.defer(() => gateway.close())
  return Object.assign(served, { url, gateway })
}

interface PriceState {
  readonly file: { readonly version: string; readonly routes: readonly object[]; readonly why: string } | null
  readonly changes: readonly object[]
}

async function look(served: Served, headers: Record<string, string>): Promise<PriceState | null> {
  const response = await fetch(`${served.url}/api/service`, { headers })
  return ((await response.json()) as { readonly prices: PriceState | null }).prices
}

async function change(served: Served, headers: Record<string, string>, body: object) {
  const response = await fetch(`${served.url}/api/prices`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> & { code?: string } }
}

async function readPrice({ url }: Served, path: string): Promise<string> {
  const response = await fetch(`${url}${path}`, { headers: { accept: 'application/json' } })
  return ((await response.json()) as { readonly amount: string }).amount
}

describe('the prices in the file of a gateway', () => {
  let served: Served
  let asOwner: Record<string, string>
  let version = ''
  const prices = [{ route: 0, price: '0.05' }]
  beforeEach(async () => {
    served = await serve('edit: true')
    asOwner = await signInAt(served.url, owner)
    version = (await look(served, asOwner))?.file?.version ?? ''
  })

  it('are shown as a change, then written, loaded and recorded', async () => {
    const before = served.text()
    expect((await look(served, asOwner))?.file?.routes).toEqual([
      { route: 0, name: 'GET /weather', price: '0.01', token: 'USDC', why: '' },
      { route: 1, name: 'GET /news', price: '0.02', token: 'USDC', why: '' },
    ])
    const lines = [{ route: 0, name: 'GET /weather', line: 14, before: '0.01', after: '0.05' }]
    expect(await change(served, asOwner, { version, prices, save: false })).toEqual({
      status: 200,
      body: { version, isSaved: false, lines },
    })
    expect(served.text()).toBe(before)
    expect(await readPrice(served, '/weather')).toBe('0.01')
    const saved = await change(served, asOwner, { version, prices, save: true })
    expect(saved).toMatchObject({ status: 200, body: { isSaved: true, lines } })
    expect(served.text()).toBe(before.replace('price: 0.01 #', 'price: 0.05 #'))
    expect(await readPrice(served, '/weather')).toBe('0.05')
    expect(await look(served, asOwner)).toMatchObject({
      file: { version: saved.body['version'], routes: [{ price: '0.05' }, { price: '0.02' }] },
      changes: [{ wallet: owner.address, name: 'GET /weather', before: '0.01', after: '0.05' }],
    })
    expect(served.logged.filter((line) => line.includes('price.changed'))).toEqual([
      JSON.stringify({
        event: 'price.changed',
        facts: { wallet: owner.address, route: 'GET /weather', before: '0.01', after: '0.05' },
      }),
    ])
  })

  it('T192: are changed by nobody who is not signed in, also on the machine itself', async () => {
    const before = served.text()
    expect(await look(served, {})).toEqual({ file: null, changes: [] })
    for (const save of [false, true])
      expect(await change(served, {}, { version, prices, save })).toMatchObject({
        status: 401,
        body: { code: 'sign_in_required' },
      })
    expect(served.text()).toBe(before)
  })

  it('T192: are not changed by a wallet that is no owner', async () => {
    const before = served.text()
    for (const person of [stranger, createPerson()]) {
      const headers = await signInAt(served.url, person)
      expect(await change(served, headers, { version, prices, save: true })).toMatchObject({ status: 401 })
      const outside = { ...headers, 'x-forwarded-for': '203.0.113.9' }
      expect(await change(served, outside, { version, prices, save: true })).toMatchObject({
        status: 403,
        body: { code: 'not_owner' },
      })
    }
    expect(served.text()).toBe(before)
  })

  it.each(['cross-site', 'same-site'])('T192: are not changed by a %s request', async (site) => {
    const before = served.text()
    const headers = { ...asOwner, 'sec-fetch-site': site }
    expect(await change(served, headers, { version, prices, save: true })).toMatchObject({
      status: 403,
      body: { code: 'cross_site' },
    })
    expect(served.text()).toBe(before)
  })

  it('T192: are not changed by another version of the file', async () => {
    const stale = { status: 409, body: { code: 'prices_stale' } }
    expect(await change(served, asOwner, { version: 'f'.repeat(32), prices, save: true })).toMatchObject(stale)
    // The operator edits the file by hand, and has not loaded it yet.
    const byHand = served.text().replace('/news', '/newspaper')
    writeFileSync(served.path, byHand)
    expect(await change(served, asOwner, { version, prices, save: true })).toMatchObject(stale)
    const now = await look(served, asOwner)
    expect(now?.file).toMatchObject({ routes: [], why: expect.stringContaining('has not loaded') })
    expect(await change(served, asOwner, { version: now?.file?.version, prices, save: true })).toMatchObject(stale)
    expect(served.text()).toBe(byHand)
  })

  it.each([
    ['zero', [{ route: 0, price: '0' }]],
    ['a negative number', [{ route: 0, price: '-1' }]],
    ['more digits than the token has', [{ route: 0, price: '0.0000001' }]],
    ['another line of the file', [{ route: 0, price: '1\n    free: true' }]],
    ['a variable of the environment', [{ route: 0, price: `\${HOME}` }]],
    ['a number in another form', [{ route: 0, price: '1e3' }]],
    ['a route that does not exist', [{ route: 7, price: '1' }]],
    ['one route twice', [...prices, ...prices]],
    ['no price', []],
  ])('T192: are not changed to %s', async (_, wrong) => {
    const before = served.text()
    expect(await change(served, asOwner, { version, prices: wrong, save: true })).toMatchObject({
      status: 400,
      body: { code: 'body_invalid' },
    })
    expect(served.text()).toBe(before)
    expect((await look(served, asOwner))?.changes).toEqual([])
  })

  it('T192: are the only thing that a request can name: no other file, and no other option', async () => {
    const before = served.text()
    const files = readdirSync(fixture.directory)
    for (const more of [{ file: '../../etc/passwd' }, { path: '/etc/passwd' }, { recipient: stranger.address }])
      expect(await change(served, asOwner, { version, prices, save: true, ...more })).toMatchObject({ status: 400 })
    const named = [{ route: 0, price: '0.05', path: '/news' }]
    expect(await change(served, asOwner, { version, prices: named, save: true })).toMatchObject({ status: 400 })
    expect(served.text()).toBe(before)
    expect(readdirSync(fixture.directory)).toEqual(files)
  })

  it('T192: come back with their reason if the gateway does not take the file', async () => {
    const before = served.text()
    served.fault = new Error('The routes were not ready in time.')
    expect(await change(served, asOwner, { version, prices, save: true })).toMatchObject({
      status: 500,
      body: {
        code: 'prices_not_saved',
        detail: expect.stringMatching(/not ready in time\. Its old text is restored\.$/),
      },
    })
    expect(served.text()).toBe(before)
    expect(await look(served, asOwner)).toMatchObject({ file: { version }, changes: [] })
  })

  it('T192: show no other value of the file, and no secret on the same line', async () => {
    const shown = await change(served, asOwner, { version, prices: [{ route: 1, price: '3' }], save: false })
    expect(shown.body['lines']).toEqual([{ route: 1, name: 'GET /news', line: 15, before: "'0.02'", after: "'3'" }])
    expect(JSON.stringify([shown.body, await look(served, asOwner)])).not.toContain('hidden-key')
  })

  it('lets one of two changes at the same time through', async () => {
    const wanted = ['0.06', '0.07'].map((price) => ({ version, prices: [{ route: 0, price }], save: true }))
    const results = await Promise.all(wanted.map((one) => change(served, asOwner, one)))
    expect(results.filter(({ status }) => status === 200)).toHaveLength(1)
    expect((await look(served, asOwner))?.changes).toHaveLength(1)
  })
})

it.each(['', 'edit: false'])('T192: a file with "%s" is not edited', async (edit) => {
  const served = await serve(edit)
  const headers = await signInAt(served.url, owner)
  const before = served.text()
  expect(await look(served, headers)).toBeNull()
  const version = served.gateway.plan.version
  expect(await change(served, headers, { version, prices: [{ route: 0, price: '1' }], save: true })).toMatchObject({
    status: 501,
    body: { code: 'edit_missing' },
  })
  expect(served.text()).toBe(before)
})
