/** The front page and the error pages, of a gateway and of an application's own routes. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openRoutes } from '../../src/compose/api.ts'
import { createGatewayFixture, type Gate, type GatewayFixture } from '../gateway/gateway-fixture.ts'
import { openBrowser } from '../harness/browser.ts'
import { nextThemes } from '../harness/length.ts'

const person = { headers: { Accept: 'text/html,*/*;q=0.8' } }
const seller = {
  name: 'Moon Almanac',
  colour: '#f5d90a',
  support: 'help@moon.example',
  terms: 'https://moon.example/t',
}
const routes = [
  { path: '/api/moon', price: '1234.5', description: 'The moon now', reopen: { minutes: 10 } },
  { path: '/users/:id', price: 1 },
  { path: '/orders', methods: ['POST'] as const, price: 1 },
]
const typeOf = (response: Response) => response.headers.get('content-type')

let fixture: GatewayFixture
let gate: Gate
beforeAll(async () => {
  fixture = await createGatewayFixture()
  fixture.upstream.answer((request, response) => response.end(`the upstream's ${request.url}`))
  gate = await fixture.open({ seller, routes })
})
afterAll(() => fixture?.close())

describe('a gateway', () => {
  it('shows people the items for sale at /, and programs the same list', async () => {
    const page = await fetch(`${gate.url}/`, person)
    const text = await page.text()
    expect([page.status, typeOf(page), page.headers.get('vary')]).toEqual([
      200,
      'text/html; charset=utf-8',
      'Accept, Accept-Language, Accept-Encoding',
    ])
    for (const part of [
      'Moon Almanac',
      '1,234.5</b> USDC',
      'Buys 10 minutes of access',
      'href="/api/moon"',
      'mailto:help@moon.example',
    ])
      expect(text).toContain(part)
    expect(text.match(/class="button"/g)).toHaveLength(1)
    expect(text.match(/For programs<\/p>/g)).toHaveLength(2)
    const list = await fetch(`${gate.url}/`)
    expect([list.status, typeOf(list)]).toEqual([200, 'application/json'])
    expect((await list.json()).endpoints).toHaveLength(3)
    expect(page.headers.get('content-encoding')).toBe('gzip')
    const head = await fetch(`${gate.url}/`, { ...person, method: 'HEAD' })
    expect([head.status, typeOf(head)]).toEqual([200, 'text/html; charset=utf-8'])
    expect([head.headers.get('content-encoding'), await head.text()]).toEqual(['gzip', ''])
  })

  it('lists the items in the order of the configuration, those for people first, in the language of the browser', async () => {
    const items = [
      { path: '/z', price: '1234.5' },
      { path: '/orders', methods: ['POST'] as const, price: 1 },
      { path: '/a', price: 1 },
    ]
    const { url, gateway } = await fixture.open({ routes: items })
    const page = await fetch(`${url}/`, { headers: { ...person.headers, 'Accept-Language': 'de-DE,de;q=0.9' } })
    const text = await page.text()
    expect([...text.matchAll(/<bdi>(\/\w+)<\/bdi>/g)].map(([, name]) => name)).toEqual(['/z', '/a', '/orders'])
    expect(page.headers.get('content-language')).toBe('de')
    for (const part of ['<html lang="de">', '1.234,5</b> USDC', 'Kaufen<span', 'Sie kaufen: eine Anfrage'])
      expect(text).toContain(part)
    const missing = await fetch(`${url}/nowhere`, { headers: { ...person.headers, 'Accept-Language': 'es' } })
    expect(await missing.text()).toContain('<h1>P&#xe1;gina no encontrada</h1>')
    await gateway.close()
  })

  it.each([
    ['/nowhere', 'GET', 404, 'not_found'],
    ['/orders', 'GET', 405, 'method_not_allowed'],
    ['/pay/wrong', 'GET', 404, 'not_found'],
    ['/analytics?limit=x', 'GET', 400, 'query_invalid'],
  ])('answers %s with a page to people and with a problem to programs', async (path, method, status, code) => {
    const page = await fetch(`${gate.url}${path}`, { ...person, method })
    expect([page.status, typeOf(page)]).toEqual([status, 'text/html; charset=utf-8'])
    expect(page.headers.get('cache-control')).toBe('no-store')
    const text = await page.text()
    for (const part of [`${status} ${code}`, 'Moon Almanac', 'href="/">Go to the front page'])
      expect(text).toContain(part)
    const problem = await fetch(`${gate.url}${path}`, { method })
    expect([problem.status, typeOf(problem)]).toEqual([status, 'application/problem+json'])
    expect((await problem.json()).code).toBe(code)
  })

  it('leaves / to the upstream where a route has this path', async () => {
    const { url } = await fixture.open({ routes: [...routes, { path: '/', free: true }] })
    expect(await (await fetch(`${url}/`, person)).text()).toBe("the upstream's /")
  })

  it('shows the front page at another path, or not at all', async () => {
    const moved = await fixture.open({ frontPage: '/shop', routes: [...routes, { path: '/', free: true }] })
    expect(await (await fetch(`${moved.url}/shop`, person)).text()).toContain('The moon now')
    const checkout = await (await fetch(`${moved.url}/api/moon`, person)).text()
    expect(checkout).toContain('<p class="seller"><a href="/shop">')
    expect(await (await fetch(`${moved.url}/`, person)).text()).toBe("the upstream's /")
    const without = await fixture.open({ frontPage: false, routes })
    const page = await fetch(`${without.url}/`, person)
    expect([page.status, (await page.text()).includes('front page')]).toEqual([404, false])
  })

  it('sends JSON to everybody where checkout is off', async () => {
    const { url } = await fixture.open({ checkout: false, routes })
    expect(typeOf(await fetch(`${url}/nowhere`, person))).toBe('application/problem+json')
    expect(await (await fetch(`${url}/`, person)).text()).not.toContain('class="button"')
  })

  it('tells people of an upstream that failed on a page', async () => {
    const broken = await fixture.startUpstream()
    const { url } = await fixture.open({ upstream: broken.url, routes: [...routes, { path: '/free', free: true }] })
    broken.close()
    const page = await fetch(`${url}/free`, person)
    expect([page.status, typeOf(page)]).toEqual([502, 'text/html; charset=utf-8'])
    expect(await page.text()).toContain('Try again')
    const paused = await fetch(`${url}/api/moon`, person)
    expect(typeOf(paused)).toBe('text/html; charset=utf-8')
    // The visitor has paid nothing, and can go on.
    const text = await paused.text()
    for (const part of ['Nothing is sold until it is back.', 'href="/">Go to the front page'])
      expect(text).toContain(part)
    const front = await (await fetch(`${url}/`, person)).text()
    expect([front.includes('disabled>Buy'), front.includes('href="/api/moon"')]).toEqual([true, false])
    expect(front).toContain('Not available at the moment')
  })
})

it("an application's routes have a front page only where they are told to", async () => {
  const { rpcUrl } = fixture.world.localnet
  const shared = { network: 'localnet', rpc: rpcUrl, ledger: 'memory:', watch: false } as const
  const visitor = { peer: undefined, isLoopback: false }
  const withPage = openRoutes({ ...shared, frontPage: '/', seller, publicUrl: 'https://moon.example/base' })
  const without = openRoutes(shared)
  expect([withPage.owns('/'), withPage.owns('/x'), without.owns('/')]).toEqual([true, false, false])
  const page = await withPage.handle(new Request('https://moon.example/', person), visitor)
  expect(await page.text()).toContain('href="/base/dashboard"')
  await Promise.all([withPage.close(), without.close()])
})

it('the pages are accessible and no wider than a phone', async () => {
  const browser = await openBrowser()
  const tab = await browser.page()
  for (const path of ['/', '/nowhere']) {
    await tab.page.goto(`${gate.url}${path}`)
    for (const colorScheme of nextThemes()) {
      await tab.page.emulateMedia({ colorScheme })
      expect(await tab.violations()).toEqual([])
    }
    await tab.page.setViewportSize({ width: 320, height: 640 })
    expect(await tab.page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(320)
  }
  expect(tab.complaints).toEqual([])
  await browser.close()
})
