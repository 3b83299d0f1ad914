/** 1F: the header and the bytes around it, as raw as a socket takes them, at every adapter. */
import type { KeyPairSigner } from '@solana/kit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Challenge } from '../../src/core/protocol/challenge.ts'
import { adapters } from '../harness/adapters.ts'
import { cells } from '../harness/length.ts'
import { type LocalnetFixture, proofOf } from '../harness/localnet-fixture.ts'
import { ask, readAnswer, sendRaw } from '../harness/raw.ts'
import type { Shop } from '../harness/shop.ts'
import { createShopFixture, expectServed, type ShopFixture } from '../harness/shop-fixture.ts'

let fixture: ShopFixture
let world: LocalnetFixture
let payer: KeyPairSigner

beforeAll(async () => {
  fixture = await createShopFixture()
  ;({ world, payer } = fixture)
})
afterAll(() => fixture.close())

const codeIn = (body: string) => (JSON.parse(body) as { code?: string }).code

describe.each(cells(adapters, 3))('%s', (_name, serve) => {
  let shop: Shop
  let proof: string
  beforeAll(async () => {
    shop = await fixture.open({}, serve)
    proof = await shop.buy(payer)
  })
  /** Whatever was tried before, the honest customer is served. */
  afterAll(() => expectServed(shop.claim(proof)))

  const get = (...headers: readonly string[]) => ask(shop.url, 'GET /data HTTP/1.1', headers)
  const parts = () => proof.split('; ') as [string, string, string]

  it.each<[string, () => readonly string[]]>([
    ['twice the same', () => [proof, proof]],
    ['good and bad', () => [proof, 'tx=x']],
    ['bad and good', () => ['tx=x', proof]],
    ['good and empty', () => [proof, '']],
    ['empty and good', () => ['', proof]],
    ['one proof in two halves', () => [`${parts()[0]}; ${parts()[1]}`, parts()[2]]],
  ])('T101: two headers, %s, are malformed', async (_kind, values) => {
    const answer = await get(...values().map((value) => `Payment-Proof: ${value}`))
    expect([answer.status, codeIn(answer.body)]).toEqual([403, 'proof_malformed'])
  })

  it.each<[string, () => string, readonly number[]]>([
    ['an underscore in its name', () => `Payment_Proof: ${proof}`, [402]],
    ['a space after its name', () => `Payment-Proof : ${proof}`, [400]],
    ['a folded line', () => `Payment-Proof: ${parts()[0]};\r\n ${parts()[1]}; ${parts()[2]}`, [400, 403]],
    ['a NUL in its value', () => `Payment-Proof: ${proof}\0`, [400]],
    ['a bare CR in its value', () => `Payment-Proof: ${parts()[0]};\r${parts()[1]}; ${parts()[2]}`, [400]],
    ['a bare LF in its value', () => `Payment-Proof: ${parts()[0]};\n${parts()[1]}; ${parts()[2]}`, [400, 403]],
    ['its name in another case and spaces around it', () => `pAYMENT-pROOF: \t ${parts()[0]}`, [403]],
    ['no value', () => 'Payment-Proof:', [403]],
    ['another name', () => `X-Payment-Proof: ${proof}`, [402]],
    ['its name only in a trailer', () => `Transfer-Encoding: chunked\r\n\r\n0\r\nPayment-Proof: ${proof}`, [402]],
  ])('T102: a header with %s opens nothing', async (_kind, line, statuses) => {
    const answer = await get(line())
    expect(statuses).toContain(answer.status)
    expect(answer.body).not.toContain('the secret')
  })

  it('T103: a header of more than 1 KiB is malformed, and one beyond all measure is not read at all', async () => {
    const padded = (length: number) => `${proof}; x=${'y'.repeat(length - proof.length - 4)}`
    const long = await get(`Payment-Proof: ${padded(1025)}`)
    expect([long.status, codeIn(long.body)]).toEqual([403, 'proof_malformed'])
    expect((await get(`Payment-Proof: ${padded(15_000)}`)).status).toBe(403)
    expect((await get(`Payment-Proof: ${padded(17_000)}`)).status).toBe(431)
    const start = performance.now()
    for (const hostile of ['a=', ' '.repeat(900), ';'.repeat(900), 'a=b; '.repeat(200), `${'a'.repeat(900)}=`]) {
      expect((await get(`Payment-Proof: x=${hostile}!`)).status).toBe(403)
    }
    expect(performance.now() - start).toBeLessThan(3_000)
  })

  it.each<[string, (good: string) => string]>([
    ['a key twice', (good) => `${good}; payer=x`],
    ['tx twice', (good) => `tx=x; ${good}`],
    ['an unknown key with capitals', (good) => `${good}; Tx=x`],
    ['__proto__', (good) => `${good}; __proto__=x`],
    ['a missing key', (good) => good.replace(/; payer=.*/, '')],
    ['an empty value', (good) => good.replace(/payer=.*/, 'payer=')],
    ['quotes', (good) => good.replace(/tx=([^;]*)/, 'tx="$1"')],
    ['a comma between the pairs', (good) => good.replaceAll(';', ',')],
    ['a semicolon at the end', (good) => `${good};`],
    ['an escaped letter', (good) => good.replace('tx=', 't%78=')],
    ['letters beyond ASCII', (good) => `${good}\u00e9`],
  ])('T104: %s is malformed', async (_kind, change) => {
    const answer = await get(`Payment-Proof: ${change(proof)}`)
    expect([answer.status, codeIn(answer.body)]).toEqual([403, 'proof_malformed'])
  })

  it('T104: an unknown key in small letters is ignored, and so is the order', async () => {
    const own = (await shop.buy(payer)).split('; ').reverse().join(';')
    await expectServed(shop.claim(`${own}; trace-id=1`))
  })

  it('T105: neither Host nor a forwarding header changes the sold resource, and neither is needed to claim it', async () => {
    const spoofed = ['X-Forwarded-Host: evil.example', 'X-Forwarded-Proto: https', 'Forwarded: host=evil.example']
    const asked = await sendRaw(
      shop.url,
      `GET /data HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n${spoofed.join('\r\n')}\r\n\r\n`,
    )
    const challenge = JSON.parse(readAnswer(asked).body) as Challenge
    expect(challenge.recipient).toBe(world.recipient.address)
    expect(JSON.parse((await get(...spoofed)).body)).toMatchObject({ resource: `${shop.url}/data` })
    await expectServed(shop.claim(proofOf(await world.pay(challenge, payer), challenge, payer)))
    const named = await fixture.open({ publicUrl: 'https://api.example.com/v1/' }, serve)
    for (const host of ['evil.example', 'localhost', 'a@b']) {
      const answer = readAnswer(
        await sendRaw(named.url, `GET /data HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`),
      )
      if (answer.status === 400) continue
      expect(JSON.parse(answer.body)).toMatchObject({ resource: 'https://api.example.com/v1/data' })
    }
  })

  it.each<[string, string]>([
    ['a length and chunks', 'Content-Length: 6\r\nTransfer-Encoding: chunked'],
    ['two lengths', 'Content-Length: 0\r\nContent-Length: 6'],
    ['a length with a sign', 'Content-Length: +6'],
    ['chunks that are not the last coding', 'Transfer-Encoding: chunked, identity'],
    ['chunks misspelled', 'Transfer-Encoding: xchunked'],
    ['chunks behind a space', 'Transfer-Encoding : chunked'],
  ])('T106: %s: refused, and the smuggled request behind it is ignored', async (_kind, framing) => {
    const smuggled = `GET /data HTTP/1.1\r\nHost: x\r\nPayment-Proof: ${proof}\r\n\r\n`
    const text = await sendRaw(shop.url, `POST /data HTTP/1.1\r\nHost: x\r\n${framing}\r\n\r\n0\r\n\r\n${smuggled}`)
    // A coding that nobody knows is found out only after the request was answered.
    expect(framing.includes('xchunked') ? [400, 402] : [400]).toContain(readAnswer(text).status)
    expect(text).not.toContain('the secret')
  })

  it.each([
    ['websocket', ['Upgrade: websocket', 'Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==']],
    ['h2c', ['Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAAQAAP__']],
  ] as const)('T110: an upgrade to %s pays like any other request', async (_kind, headers) => {
    const { host } = new URL(shop.url)
    const upgrade = ['Connection: close, Upgrade', ...headers].join('\r\n')
    const send = (more = '') =>
      sendRaw(shop.url, `GET /data HTTP/1.1\r\nHost: ${host}\r\n${upgrade}${more}\r\n\r\n`).then(readAnswer)
    expect((await send()).status).toBe(402)
    expect(await send(`\r\nPayment-Proof: ${await shop.buy(payer)}`)).toMatchObject({ status: 200, body: 'the secret' })
  })

  it('T112: parts of the request in a challenge are inert, as JSON and in the page', async () => {
    const line = 'GET /data?"></script><script>alert(1)</script> HTTP/1.1'
    const page = await ask(shop.url, line, ['Payment-Accept: <script>', 'Accept: text/html'])
    expect([page.status, page.headers.get('content-type')]).toEqual([402, 'text/html; charset=utf-8'])
    expect(page.headers.get('content-security-policy')).toMatch(/default-src 'none'; script-src 'nonce-/)
    expect(page.body).not.toContain('alert(1)')
    const answer = await ask(shop.url, line, ['Payment-Accept: <script>', 'Accept: text/html;q=0'])
    expect([answer.status, page.headers.get('x-content-type-options')]).toEqual([402, 'nosniff'])
    expect(answer.headers.get('content-type')).toBe('application/json')
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
    expect(JSON.parse(answer.body)).toMatchObject({ status: 402, recipient: world.recipient.address })
    const refusal = await get('Payment-Proof: tx=<script>')
    expect(refusal.headers.get('content-type')).toBe('application/problem+json')
    expect(refusal.body).not.toContain('<script>')
  })
})
