/** The client as a page has it: bundled without anything of Node, paying a shop of another origin in a real browser. */
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { Keypair } from '@solana/web3.js'
import type { Page } from 'playwright-core'
import { build } from 'vite'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { parseReceipt } from '../../src/core/protocol/receipt.ts'
import { type Chromium, launchChromium } from '../harness/chromium.ts'
import { unhurried } from '../harness/localnet-fixture.ts'
import type { Shop } from '../harness/shop.ts'
import { serveNode } from '../harness/shop-fixture.ts'
import { type ClientFixture, createClientFixture } from './client-fixture.ts'

let fixture: ClientFixture
let shop: Shop
let bundle: string
let chromium: Chromium
let page: Page
const html =
  '<!doctype html><title>page</title><script type="module">import * as client from "/client.js"; window.client = client</script>'
const key = [...Keypair.generate().secretKey]

beforeAll(async () => {
  fixture = await createClientFixture(unhurried)
  const wallet = Keypair.fromSecretKey(Uint8Array.from(key)).publicKey.toBase58()
  await fixture.world.localnet.fund(wallet, { SOL: 1_000_000_000n, USDC: 1_000_000n })
  shop = await fixture.open({ waitSeconds: 5 }, serveNode, (target) =>
    target === '/moved' ? { status: 302, headers: { location: '/data' } } : { body: 'the secret' },
  )
  bundle = await bundleOf('../../src/client/browser.ts')
  const site = await fixture.host((request, response) => {
    const isScript = request.url === '/client.js'
    response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html')
    response.end(isScript ? bundle : html)
  })
  chromium = await launchChromium()
  page = await (await chromium.newContext()).newPage()
  await page.goto(site)
})
beforeEach(async () => {
  await fixture.received()
})
afterAll(async () => {
  await chromium?.close()
  await fixture.close()
})

/** As a site would build it for its visitors; a library is left to ask for NODE_ENV itself, an application is not. */
async function bundleOf(entry: string): Promise<string> {
  const result = await build({
    configFile: false,
    logLevel: 'silent',
    define: { 'process.env.NODE_ENV': '"production"' },
    build: {
      write: false,
      target: 'es2023',
      lib: { entry: fileURLToPath(new URL(entry, import.meta.url)), formats: ['es'], fileName: 'client' },
    },
  })
  const outputs = Array.isArray(result) ? result : [result]
  const chunks = outputs.flatMap((output) => ('output' in output ? output.output : []))
  expect(chunks).toHaveLength(1)
  const [chunk] = chunks
  return chunk && 'code' in chunk ? chunk.code : ''
}

interface Told {
  readonly status: number
  readonly text: string
  readonly url: string
  readonly receipt: string | null
  readonly events: readonly string[]
  readonly error: string
}

/** Buys something in the page, and brings back what the page could see of it. */
function buy(path: string, more: Readonly<Record<string, unknown>> = {}): Promise<Told> {
  const order = {
    url: `${shop.url}${path}`,
    key,
    options: { rpc: fixture.world.localnet.rpcUrl, timeoutMs: 50_000, ...more },
  }
  return page.evaluate(async ({ url, key: bytes, options }) => {
    const events: string[] = []
    const told = { status: 0, text: '', url: '', receipt: null as string | null, events, error: '' }
    try {
      const { fetchWith402 } = (window as unknown as { client: typeof import('../../src/client/browser.ts') }).client
      const onEvent = (event: { kind: string }) => events.push(event.kind)
      const response = await fetchWith402(url, { ...options, wallet: Uint8Array.from(bytes), onEvent })
      const receipt = response.headers.get('payment-receipt')
      return { ...told, status: response.status, text: await response.text(), url: response.url, receipt }
    } catch (error) {
      return { ...told, error: `${(error as { code?: string }).code}: ${(error as Error).message}` }
    }
  }, order)
}

it('the bundle holds nothing of Node, and is small', () => {
  expect(bundle).not.toMatch(/["'`]node:/)
  expect(bundle).not.toMatch(/\brequire\(|\bprocess\.(env|versions|platform)/)
  expect(bundle.match(/\bimport\s*(\(|\{|\*|["'])/g)).toBeNull()
  const bytes = gzipSync(bundle).length
  process.stdout.write(`browser client: ${(bytes / 1000).toFixed(1)} kB gzip\n`)
  expect(bytes).toBeLessThan(200_000)
})

it.each(['claim', 'sig'])('pays a shop of another origin, proves it by %s, and can read the receipt', async (proof) => {
  const told = await buy('/data', { proof })
  expect(told).toMatchObject({ status: 200, text: 'the secret', url: `${shop.url}/data`, error: '' })
  expect(told.events).toEqual(['paying', 'sent', 'confirmed', 'delivered'])
  expect(parseReceipt(told.receipt ?? '')).toMatchObject({ status: 'success', amount: '0.01', token: 'USDC' })
  expect(await fixture.received()).toBe(1)
})

it.each<[string, string, Record<string, unknown>, RegExp]>([
  ['a price above the limit', '/data', { maxPrice: { USDC: '0.001' } }, /^price_too_high: 0\.01 USDC is more/],
  ['no node of a local chain', '/data', { rpc: undefined }, /^chain_unavailable: .*Pass its node as rpc/],
  [
    'a node that is not there',
    '/data',
    { rpc: 'http://127.0.0.1:1' },
    /^chain_unavailable: No Solana node can be reached/,
  ],
])('%s: the page is told in a sentence, and nothing is paid', async (_name, path, more, words) => {
  expect((await buy(path, more)).error).toMatch(words)
  expect(await fixture.received()).toBe(0)
})

it('a paid answer that points elsewhere cannot be looked into by a page, and is refused', async () => {
  expect((await buy('/moved')).error).toMatch(/^redirect_refused: /)
  expect(await fixture.received()).toBe(1)
})
