/** 1F: other spellings of a path. What a router lets through to the handler has passed the paywall; the rest is nobody's. */
import type { KeyPairSigner } from '@solana/kit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Challenge } from '../../src/core/protocol/challenge.ts'
import { cells } from '../harness/length.ts'
import { type LocalnetFixture, proofOf } from '../harness/localnet-fixture.ts'
import { ask } from '../harness/raw.ts'
import { type App, routers } from '../harness/routers.ts'
import { createShopFixture, type ShopFixture } from '../harness/shop-fixture.ts'

let shop: ShopFixture
let world: LocalnetFixture
let payer: KeyPairSigner

beforeAll(async () => {
  shop = await createShopFixture()
  ;({ world, payer } = shop)
})
afterAll(() => shop.close())

const aliases = [
  '/API/DATA',
  '/api/data/',
  '/api/data//',
  '//api/data',
  '/api//data',
  '/api/%64ata',
  '/%61pi/data',
  '/api/data%2f',
  '/api%2fdata',
  '/api/data;x',
  '/api/data%00',
  '/api/data%20',
  '/api/data%E2%80%8B',
  '/api/data\\',
  '/api\\data',
  '/api/./data',
  '/api/x/../data',
  '/api/x/%2e%2e/data',
  '/api/data/.',
  '/api/data/x/..',
  '/api/data#f',
  '/api/data?',
  '/api/data?x=%ff',
  '/api/data/x',
  'http://127.0.0.1/api/data',
  'http://evil.example/api/data?x=1',
  'HTTPS://user@evil.example/api/data',
]

describe.each(routers)('%s', (name, build) => {
  let app: App
  beforeAll(async () => {
    app = await build({
      price: 0.01,
      token: 'USDC',
      recipient: world.recipient.address,
      network: 'localnet',
      rpc: world.localnet.rpcUrl,
      ledger: 'memory:',
      waitSeconds: 0,
      log: shop.log,
    })
  })
  afterAll(() => app.close())

  const buy = async (target: string, method = 'GET', headers: readonly string[] = []) => {
    const asked = await ask(app.url, `${method} ${target} HTTP/1.1`, headers)
    if (asked.status !== 402) return { status: asked.status, body: asked.body, challenge: undefined, proof: '' }
    const challenge = JSON.parse(asked.body) as Challenge
    const proof = `Payment-Proof: ${proofOf(await world.pay(challenge, payer), challenge, payer)}`
    return { status: 402, body: asked.body, challenge, proof }
  }

  // The short form tries every spelling with a third of the routers.
  const some = cells(
    aliases,
    3,
    routers.findIndex(([router]) => router === name),
  )
  it.each(some)('T97: %s is paid for, or is not there', async (target) => {
    const { status, body, proof } = await buy(target)
    expect(body).not.toContain('the secret')
    expect([402, 404, 400]).toContain(status)
    if (status !== 402) return
    const claimed = await ask(app.url, `GET ${target} HTTP/1.1`, [proof])
    // Mounted before paths, it also asks for what then turns out not to be there.
    if (name.includes('before paths') && claimed.status === 404) return
    expect(claimed).toMatchObject({ status: 200, body: 'the secret' })
    expect((await ask(app.url, `GET ${target} HTTP/1.1`, [proof])).status).toBe(409)
  })

  it('T252: no spelling of a path has a price of its own', async () => {
    const { world, log } = shop
    const byPath = await build({
      price: ({ path }) => (path.toLowerCase() === '/api/data' ? 1 : 0.01),
      token: 'USDC',
      recipient: world.recipient.address,
      network: 'localnet',
      rpc: world.localnet.rpcUrl,
      ledger: 'memory:',
      log,
    })
    const cheap: string[] = []
    const others = ['/api/data/x', '/api/data%20', '/api/data%E2%80%8B']
    for (const target of aliases.filter((alias) => !others.includes(alias))) {
      const { status, body } = await ask(byPath.url, `GET ${target} HTTP/1.1`)
      if (status === 402 && (JSON.parse(body) as Challenge).amount !== '1') cheap.push(target)
    }
    await byPath.close()
    expect(cheap).toEqual([])
  })

  it('T97: an absolute address is the same request as its path, and the challenge names our own address', async () => {
    const { challenge, proof, status } = await buy('http://evil.example/api/data')
    if (status === 404) return
    if (name !== 'Next') expect(challenge?.resource).toBe(`${app.url}/api/data`)
    expect(await ask(app.url, 'GET /api/data HTTP/1.1', [proof])).toMatchObject({ status: 200, body: 'the secret' })
  })

  it('T111: a header that changes the method changes the price only if it changes the handler', async () => {
    const { proof } = await buy('/api/data')
    const forged = await ask(app.url, 'POST /api/data HTTP/1.1', [
      proof,
      'X-HTTP-Method-Override: GET',
      'Content-Length: 0',
    ])
    const asked = await ask(app.url, 'GET /api/data HTTP/1.1', ['X-HTTP-Method-Override: DELETE'])
    expect(asked.status).toBe(402)
    const isOverridden = name.startsWith('Express')
    expect(forged.status).toBe(isOverridden ? 200 : 403)
    if (!isOverridden) expect((await ask(app.url, 'GET /api/data HTTP/1.1', [proof])).status).toBe(200)
  })

  it('T99: an unpaid HEAD, and one with a validator, tell nothing of the resource', async () => {
    for (const more of [
      [],
      ['If-None-Match: *'],
      ['If-Modified-Since: Sun, 06 Nov 2094 08:49:37 GMT'],
      ['Range: bytes=0-0'],
    ]) {
      const answer = await ask(app.url, 'HEAD /api/data HTTP/1.1', more)
      expect([402, 404]).toContain(answer.status)
      expect(answer.headers.has('etag')).toBe(false)
      expect(answer.headers.get('content-length')).not.toBe('10')
      expect(answer.body).toBe('')
    }
  })
})
