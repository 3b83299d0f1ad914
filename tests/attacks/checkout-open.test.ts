/** A bought JSON resource that the page shows itself: for the browser that paid, once, and nothing else is used up. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { formatOrder } from '../../src/core/checkout/messages.ts'
import { maxFreeUses } from '../../src/core/payment/delivery.ts'
import { adapters, type Content, type Handler } from '../harness/adapters.ts'
import { payFromPhone } from '../harness/purchase.ts'
import { codeOf } from '../harness/shop.ts'
import { createShopFixture, type ShopFixture, serveNode } from '../harness/shop-fixture.ts'
import { createVisitor, type Visitor } from '../harness/visitor.ts'

const json = { 'Content-Type': 'application/geo+json; charset=utf-8' }
const contents: Readonly<Record<string, Content>> = {
  '/json': { headers: json, body: '{"a":"</script>"}' },
  '/page': { headers: { 'Content-Type': 'text/html' }, body: '<p>a page</p>' },
  '/failing': { status: 404, headers: json, body: '{"why":"gone"}' },
  '/long': { headers: { ...json, 'Content-Length': '400002' }, body: `"${'x'.repeat(400_000)}"` },
}
/** One that observes the socket, and one that does not. */
const both = adapters.filter(([name]) => name === 'node:http' || name === 'Next')
let calls = 0
const handler: Handler = (target) => {
  calls += 1
  return contents[target.split('?')[0] ?? ''] ?? { status: 404 }
}

let fixture: ShopFixture
beforeAll(async () => {
  fixture = await createShopFixture()
})
afterAll(() => fixture.close())

const open = (serve = serveNode) => fixture.open({ watch: true, maxUnfinalized: '1000' }, serve, handler)

async function buy(url: string, path: string): Promise<{ readonly visitor: Visitor; readonly requestId: string }> {
  const visitor = createVisitor(url)
  const facts = (await visitor.go(path)).facts()
  await payFromPhone(fixture.world, fixture.payer, facts)
  await visitor.until(facts.requestId, 'paid', path)
  return { visitor, requestId: facts.requestId }
}

/** Asks as the script of the page does. */
function openHere(url: string, path: string, visitor: Visitor, requestId: string): Promise<Response> {
  const cookie = [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  const order = formatOrder({ kind: 'open', requestId })
  const headers = { Accept: 'text/html', 'Sec-Fetch-Dest': 'empty', 'Payment-Checkout': order, Cookie: cookie }
  return fetch(`${url}${path}`, { headers })
}

describe('T187: the page opens a purchase', () => {
  it.each(both)('that is JSON with %s: unchanged, with its receipt, and once', async (_name, serve) => {
    const { url } = await open(serve)
    const { visitor, requestId } = await buy(url, '/json')
    const served = await openHere(url, '/json', visitor, requestId)
    expect([served.status, await served.text()]).toEqual([200, '{"a":"</script>"}'])
    expect(served.headers.get('payment-receipt')).toMatch(/^[\w-]+$/)
    expect(served.headers.get('cache-control')).toBe('private, no-store')
    const again = await openHere(url, '/json', visitor, requestId)
    expect(await codeOf(again)).toBe('403 claim_required')
  })

  it.each(both)('of another kind with %s: nothing is sent or used, and a visit gets it', async (_name, serve) => {
    const { url } = await open(serve)
    for (const path of ['/page', '/failing', '/long']) {
      const { visitor, requestId } = await buy(url, path)
      const refused = await openHere(url, path, visitor, requestId)
      expect([path, refused.status, await refused.text()]).toEqual([path, 204, ''])
      expect((await visitor.go(path)).text).toBe(contents[path]?.body)
    }
  })

  it('in the browser that paid only, and at the address that was paid only', async () => {
    const { url } = await open()
    const { visitor, requestId } = await buy(url, '/json')
    const before = calls
    const stranger = createVisitor(url)
    await stranger.go('/json')
    for (const [who, path] of [
      [stranger, '/json'],
      [visitor, '/json?more'],
    ] as const) {
      const refused = await openHere(url, path, who, requestId)
      expect(await codeOf(refused)).toBe('403 claim_required')
    }
    const other = (await createVisitor(url).go('/json')).facts().requestId
    expect((await openHere(url, '/json', visitor, other)).status).toBe(403)
    expect(calls).toBe(before)
    expect((await openHere(url, '/json', visitor, requestId)).status).toBe(200)
  })

  it('without working for nothing: the attempts that use nothing up are limited', async () => {
    const { url } = await open()
    const { visitor, requestId } = await buy(url, '/page')
    const before = calls
    const statuses: number[] = []
    for (let turn = 0n; turn < maxFreeUses + 3n; turn += 1n)
      statuses.push((await openHere(url, '/page', visitor, requestId)).status)
    expect(calls - before).toBeLessThanOrEqual(Number(maxFreeUses))
    expect(statuses.at(-1)).not.toBe(204)
  })
})

it("T214: limits each client's requests to open a purchase from the checkout page", async () => {
  const { url } = await open()
  const visitor = createVisitor(url)
  const { requestId } = (await visitor.go('/json')).facts()
  const codes = new Set<string>()
  for (let turn = 0; turn < 20; turn += 1) {
    const answers = Array.from({ length: 10 }, () => openHere(url, '/json', visitor, requestId))
    for (const answer of answers) codes.add(await codeOf(await answer))
  }
  expect(codes).toEqual(new Set(['403 claim_required', '429 rate_limited']))
})

describe('a person who comes back', () => {
  const coming = (site: string) => ({ 'Sec-Fetch-Site': site })

  it('finds JSON on the page, and the resource itself behind a link of the page', async () => {
    const { url } = await open()
    const first = await buy(url, '/json')
    // Nobody knows yet that it is JSON.
    expect((await first.visitor.go('/json', coming('none'))).text).toBe('{"a":"</script>"}')
    const { visitor, requestId } = await buy(url, '/json?again')
    for (const site of ['none', 'cross-site', 'same-site']) {
      const { standing, isReadable, requestId: shown } = (await visitor.go('/json?again', coming(site))).facts()
      expect([standing.state, isReadable, shown]).toEqual(['paid', true, requestId])
    }
    // A reload of a page that a link of the same host opened.
    const other = { ...coming('same-origin'), Referer: `${url}/shop` }
    for (const headers of [coming('same-origin'), other])
      expect((await visitor.go('/json?again', headers)).facts().standing.state).toBe('paid')
    const own = { ...coming('same-origin'), Referer: `${url}/json?again` }
    expect((await visitor.go('/json?again', own)).text).toBe('{"a":"</script>"}')
  })

  it('finds any other resource at once, and the page does not offer to show it', async () => {
    const { url } = await open()
    const first = await buy(url, '/page')
    expect((await first.visitor.go('/page', coming('none'))).text).toBe('<p>a page</p>')
    const { visitor } = await buy(url, '/page?again')
    expect((await visitor.go('/page?again', coming('none'))).text).toBe('<p>a page</p>')
    expect((await createVisitor(url).go('/page')).facts().isReadable).toBeUndefined()
  })
})
