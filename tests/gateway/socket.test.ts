/** HTTP as bytes: smuggling, slow clients, and the end of a server. */
import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { ask, readAnswer, sendRaw } from '../harness/raw.ts'
import { eventually } from '../harness/shop.ts'
import { createGatewayFixture, type Gate, type GatewayFixture } from './gateway-fixture.ts'

let fixture: GatewayFixture
let gate: Gate
beforeAll(async () => {
  fixture = await createGatewayFixture()
  gate = await fixture.open({
    routes: [
      { path: '/data', price: 0.01 },
      { path: '/free', free: true, methods: ['GET', 'POST'] },
    ],
  })
})
afterAll(() => fixture.close())
beforeEach(() => {
  fixture.upstream.seen.length = 0
})

const socketTo = async (url: string): Promise<Socket> => {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  await new Promise((resolve) => socket.once('connect', resolve))
  return socket
}

describe('T106: smuggling', () => {
  const inner = 'GET /data HTTP/1.1\r\nHost: x\r\n\r\n'
  it.each<[string, string]>([
    ['a length and chunks', `Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${inner}`],
    ['chunks and a length', `Transfer-Encoding: chunked\r\nContent-Length: 6\r\n\r\n0\r\n\r\n${inner}`],
    ['two lengths', `Content-Length: 0\r\nContent-Length: ${inner.length}\r\n\r\n${inner}`],
    ['a list of lengths', `Content-Length: 0, ${inner.length}\r\n\r\n${inner}`],
    ['a length with a sign', `Content-Length: +5\r\n\r\nhello`],
    ['chunks that are not the last coding', `Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n${inner}`],
    ['a coding that is none', `Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n${inner}`],
    ['a folded coding', `Transfer-Encoding:\r\n chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n${inner}`],
    ['a space before the colon', `Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n${inner}`],
    ['bare line feeds', `X: y\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${inner}`],
    ['a size that is no number', `Transfer-Encoding: chunked\r\n\r\n0x5\r\nhello\r\n0\r\n\r\n`],
    ['a NUL in a value', `X-A: a\0b\r\n\r\n`],
  ])('by %s is a 400 at the most, and the connection ends', async (_name, rest) => {
    const answers = await sendRaw(gate.url, `POST /free HTTP/1.1\r\nHost: x\r\n${rest}`)
    expect(answers.match(/HTTP\/1\.1 /g)).toHaveLength(1)
    expect(readAnswer(answers).status).toBe(400)
    expect(fixture.upstream.seen.filter(({ url }) => url !== '/free')).toEqual([])
  })

  it('the upstream gets one length, which is that of the body', async () => {
    const body = 'a=1\r\n\r\nGET /data HTTP/1.1\r\nHost: x\r\n\r\n'
    const bytes = `POST /free HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`
    await sendRaw(gate.url, bytes)
    await eventually(
      () => fixture.upstream.seen,
      (seen) => seen.at(-1)?.body === body,
    )
    expect(fixture.upstream.seen).toHaveLength(1)
  })

  it('requests one after the other over one connection each have to be paid for', async () => {
    const one = 'GET /data HTTP/1.1\r\nHost: x\r\n\r\n'
    const last = 'GET /data HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'
    const answers = await sendRaw(gate.url, one + one + last)
    expect(answers.match(/HTTP\/1\.1 402/g)).toHaveLength(3)
    expect(fixture.upstream.seen).toEqual([])
  })
})

describe('proofs', () => {
  it('T101: two of them are none', async () => {
    const proof = await gate.buy('/data')
    const line = `Payment-Proof: ${proof}`
    const { status, body } = await ask(gate.url, 'GET /data HTTP/1.1', [line, line])
    expect([status, JSON.parse(body).code]).toEqual([403, 'proof_malformed'])
    expect(fixture.upstream.seen).toEqual([])
    expect((await ask(gate.url, 'GET /data HTTP/1.1', [line])).status).toBe(200)
  })

  it('T102: odd spellings of the header are Node’s 400, or no proof at all', async () => {
    const proof = await gate.buy('/data')
    const status = async (line: string) => (await ask(gate.url, 'GET /data HTTP/1.1', [line])).status
    expect(await status(`Payment_Proof: ${proof}`)).toBe(402)
    expect(await status(`Payment-Proof : ${proof}`)).toBe(400)
    expect(await status(`Payment-Proof:\r\n ${proof}`)).toBe(400)
    expect(await status(`Payment-Proof: ${proof}\0`)).toBe(400)
    expect(fixture.upstream.seen).toEqual([])
  })

  it('T103: of more than a kilobyte are refused, and heads of more than Node takes are 431', async () => {
    const { status, body } = await ask(gate.url, 'GET /data HTTP/1.1', [`Payment-Proof: ${'x'.repeat(2_000)}`])
    expect([status, JSON.parse(body).code]).toEqual([403, 'proof_malformed'])
    expect((await ask(gate.url, 'GET /data HTTP/1.1', [`Payment-Proof: ${'x'.repeat(17_000)}`])).status).toBe(431)
  })

  it.each(['tx=A; tx=B', '__proto__=1', 'tx=A', 'tx=; requestId=; payer=', 'tx="A"'])(
    'T104: %s is no proof',
    async (proof) => {
      const { status, body } = await ask(gate.url, 'GET /data HTTP/1.1', [`Payment-Proof: ${proof}`])
      expect([status, JSON.parse(body).code]).toEqual([403, 'proof_malformed'])
      expect(fixture.upstream.seen).toEqual([])
    },
  )
})

describe('T130: slow clients', () => {
  it('that never finish their head, or their body, are hung up on', async () => {
    const upstream = await fixture.startUpstream()
    upstream.answer(async (_request, response, body) => response.end(await body))
    const strict = await fixture.open({
      upstream: upstream.url,
      limits: { headSeconds: 1, requestSeconds: 1 },
      routes: [{ path: '/free', free: true, methods: ['POST'] }],
    })
    const patient = await fixture.open({
      limits: { headSeconds: 1, requestSeconds: 3600 },
      routes: [{ path: '/free', free: true }],
    })
    const head = await socketTo(patient.url)
    head.write('GET /free HTTP/1.1\r\nHost: x\r\nX-Slow: ')
    const body = await socketTo(strict.url)
    body.write('POST /free HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nslow')
    const closed = await Promise.all(
      [head, body].map(async (socket) => {
        let text = ''
        socket.on('data', (chunk) => {
          text += chunk
        })
        await new Promise((resolve) => socket.once('close', resolve))
        return text.slice(0, 12)
      }),
    )
    expect(closed).toEqual(['HTTP/1.1 408', 'HTTP/1.1 408'])
  })

  it('are only so many', async () => {
    const small = await fixture.open({ limits: { connections: 3 }, routes: [{ path: '/free', free: true }] })
    const held = await Promise.all(Array.from({ length: 3 }, () => socketTo(small.url)))
    await eventually(
      () => sendRaw(small.url, 'GET /free HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n').catch(() => ''),
      (answer) => answer === '',
    )
    for (const socket of held) socket.destroy()
    await eventually(
      () => sendRaw(small.url, 'GET /free HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n').catch(() => ''),
      (answer) => answer.startsWith('HTTP/1.1 200'),
    )
  })
})

describe('the end', () => {
  it('lets running responses end, and turns new proofs away', async () => {
    const upstream = await fixture.startUpstream()
    let finish = () => {}
    upstream.answer((_request, response) => {
      response.write('begun, ')
      finish = () => response.end('done')
    })
    const ending = await fixture.open({ upstream: upstream.url, routes: [{ path: '/data', price: 0.01 }] })
    const proof = await ending.buy('/data')
    const response = await ending.claim(proof, '/data')
    const closing = ending.gateway.close()
    finish()
    expect(await response.text()).toBe('begun, done')
    await closing
    await expect(fetch(`${ending.url}/data`)).rejects.toThrow()
  })

  it('is one sentence where the port is taken', async () => {
    const port = Number(new URL(gate.url).port)
    const { createGateway } = await import('../../src/gateway/gateway.ts')
    const second = createGateway({
      upstream: 'http://127.0.0.1:1',
      listen: { port },
      routes: [{ path: '/', free: true }],
    })
    await expect(second.listen()).rejects.toMatchObject({ code: 'EADDRINUSE' })
    expect(await second.readiness()).toMatchObject({ ready: false, why: 'the server is not listening' })
    await second.close()
  })
})
