/** WebSockets through a gateway: paid for at the handshake, and ended where the payment ends. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { parseReceipt } from '../../src/core/protocol/receipt.ts'
import { ask, sendRaw } from '../harness/raw.ts'
import { eventually } from '../harness/shop.ts'
import { txOf } from '../harness/shop-fixture.ts'
import { createGatewayFixture, type Gate, type GatewayFixture } from './gateway-fixture.ts'

let fixture: GatewayFixture
let gate: Gate
/** Handshakes as the upstream saw them. */
const shaken: { readonly url: string; readonly headers: Readonly<Record<string, unknown>> }[] = []
let closed = 0

beforeAll(async () => {
  fixture = await createGatewayFixture()
  const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: true })
  fixture.upstream.server.on('upgrade', (request, socket, head) => {
    shaken.push({ url: request.url ?? '', headers: request.headers })
    if (request.url?.startsWith('/refuse'))
      return void socket.end(
        'HTTP/1.1 403 No\r\nContent-Length: 2\r\nConnection: close, X-Hop\r\nX-Hop: 1\r\nAlt-Svc: x\r\nX-Payment-Tx: forged\r\nX-Why: not you\r\n\r\nno',
      )
    if (request.url?.startsWith('/half'))
      return void socket.write('HTTP/1.1 403 No\r\nContent-Length: 10\r\n\r\nno', () => socket.destroy())
    if (request.url?.startsWith('/broken')) return void socket.destroy()
    if (request.url?.startsWith('/odd')) return void socket.end('HTTP/1.1 099 What\r\nContent-Length: 0\r\n\r\n')
    if (request.url?.startsWith('/silent')) return undefined
    return sockets.handleUpgrade(request, socket, head, (webSocket) => {
      webSocket.send('welcome')
      webSocket.on('message', (data, isBinary) => {
        if (String(data) === 'close') webSocket.close(4001, 'as asked')
        else webSocket.send(data, { binary: isBinary })
      })
      webSocket.on('close', () => {
        closed += 1
      })
    })
  })
  fixture.upstream.answer((request, response) => (request.url === '/silence' ? undefined : response.end('in HTTP')))
  gate = await fixture.open({
    routes: [
      { path: '/echo', price: 0.01, websocket: true },
      { path: '/window', price: 0.01, per: { seconds: 2 }, websocket: true, leaseSeconds: 0.5 },
      { path: '/bytes', price: 0.01, per: 'megabyte', websocket: true },
      { path: '/open', free: true, websocket: true },
      { path: '/refuse', price: 0.01, websocket: true },
      { path: '/broken', price: 0.01, websocket: true },
      { path: '/odd', price: 0.01, websocket: true },
      { path: '/half', free: true, websocket: true },
      { path: '/silent', price: 0.01, websocket: true, timeouts: { answerSeconds: 0.2 } },
      { path: '/http', price: 0.01 },
      { path: '/plain', free: true },
      { path: '/silence', free: true },
      { path: '/keyed', free: true, websocket: true, headers: { Authorization: 'Bearer ours' } },
    ],
  })
})
afterAll(() => fixture.close())

/** A client, with what came of its handshake. */
async function open(path: string, headers: Readonly<Record<string, string>> = {}, url = gate.url) {
  const socket = new WebSocket(`${url.replace('http', 'ws')}${path}`, { headers })
  fixture.defer(() => socket.terminate())
  const messages: string[] = []
  socket.on('message', (data) => messages.push(String(data).slice(0, 100)))
  socket.on('error', () => {})
  const ended = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  const status = await new Promise<number>((resolve) => {
    socket.once('upgrade', (response) => resolve(response.statusCode ?? 0))
    socket.once('unexpected-response', (_request, response) => {
      response.resume()
      resolve(response.statusCode ?? 0)
    })
    socket.once('error', () => resolve(0))
  })
  return { socket, status, messages, ended }
}
const handshake = ['Upgrade: websocket', 'Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==']
/** The handshake in bytes, with what came back before the connection ended. */
const shake = (path: string, headers: readonly string[] = []) =>
  ask(gate.url, `GET ${path} HTTP/1.1`, ['Connection: Upgrade', ...handshake, ...headers])

describe('T110: a WebSocket', () => {
  it('costs the price of its handshake, and the upstream sees none before the payment', async () => {
    const before = shaken.length
    const unpaid = await shake('/echo')
    expect([unpaid.status, JSON.parse(unpaid.body).amount, unpaid.headers.get('connection')]).toEqual([
      402,
      '0.01',
      'close',
    ])
    expect((await shake('/echo', ['Payment-Proof: tx=1'])).status).toBe(403)
    expect(shaken).toHaveLength(before)
  })

  it('is an echo of the upstream once it is paid, with a receipt, and one payment opens one', async () => {
    const proof = await gate.buy('/echo')
    const receipts: (string | undefined)[] = []
    const socket = new WebSocket(`${gate.url.replace('http', 'ws')}/echo`, { headers: { 'Payment-Proof': proof } })
    socket.on('upgrade', ({ headers }) => receipts.push(headers['payment-receipt']?.toString()))
    const [welcome] = await once(socket, 'message')
    expect(String(welcome)).toBe('welcome')
    for (const text of ['one', 'ä'.repeat(70_000)]) {
      socket.send(text)
      expect(String((await once(socket, 'message'))[0])).toBe(text)
    }
    expect(parseReceipt(receipts[0] ?? '')).toMatchObject({ reference: txOf(proof) })
    expect(shaken.at(-1)?.headers).toMatchObject({ 'x-payment-tx': txOf(proof), 'x-forwarded-for': '127.0.0.1' })
    expect(shaken.at(-1)?.headers['payment-proof']).toBeUndefined()
    const second = await shake('/echo', [`Payment-Proof: ${proof}`])
    expect([second.status, JSON.parse(second.body).code]).toEqual([409, 'payment_replay'])
    socket.send('close')
    expect((await once(socket, 'close')).map(String)).toEqual(['4001', 'as asked'])
  })

  it.each(['HEAD', 'OPTIONS'])('is not opened by %s, which would use up nothing', async (method) => {
    const proof = await gate.buyClaimed('/bytes')
    const before = shaken.length
    const lines = ['Connection: Upgrade', ...handshake, `Payment-Proof: ${proof}`, 'Access-Control-Request-Method: GET']
    const { status } = await ask(gate.url, `${method} /bytes HTTP/1.1`, lines)
    expect([status, shaken.length]).toEqual([method === 'HEAD' ? 200 : 204, before])
  })

  it('with an upstream that responds with an invalid status returns the payment, and the gateway continues', async () => {
    const proof = await gate.buy('/odd')
    for (const _time of [1, 2]) expect((await open('/odd', { 'Payment-Proof': proof })).status).toBe(502)
  })

  it.each(['/open', '/echo', '/plain'])(
    'asked for at %s behind a request that waits for its answer ends that connection, and no other',
    async (path) => {
      const { host } = new URL(gate.url)
      const lines = [`GET ${path} HTTP/1.1`, `Host: ${host}`, 'Connection: Upgrade', ...handshake]
      const waiting = `GET /silence HTTP/1.1\r\nHost: ${host}\r\n\r\n`
      expect(await sendRaw(gate.url, `${waiting}${lines.join('\r\n')}\r\n\r\n`)).toBe('')
      expect((await fetch(`${gate.url}/plain`)).status).toBe(200)
    },
  )

  it('gets the bytes that a client sent right after its handshake', async () => {
    const { hostname, port } = new URL(gate.url)
    const socket = connect(Number(port), hostname)
    const lines = ['GET /open HTTP/1.1', 'Host: x', 'Connection: Upgrade', ...handshake]
    // A masked frame of text, 'hi', with a mask of zeros.
    const frame = Buffer.from([0x81, 0x82, 0, 0, 0, 0, 0x68, 0x69])
    socket.write(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), frame]))
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
    })
    await eventually(
      () => text,
      (all) => all.includes('\x81\x02hi'),
    )
    socket.destroy()
  })

  it('ends at the upstream when the client leaves, and the other way round', async () => {
    const before = closed
    const { socket } = await open('/open')
    socket.terminate()
    await eventually(
      () => closed,
      (count) => count === before + 1,
    )
  })

  it('that is free is let through, and keeps the provider’s key', async () => {
    const { status } = await open('/keyed', { Authorization: 'Bearer caller', 'X-Other': '1' })
    expect(status).toBe(101)
    expect(shaken.at(-1)?.headers).toMatchObject({ authorization: 'Bearer ours', upgrade: 'websocket' })
    expect(shaken.at(-1)?.headers['x-other']).toBeUndefined()
  })

  it.each(['/echo/', '/ECHO', '/%65cho/..', '/open/../echo', '//echo'])('is at no other address: %s', async (path) => {
    const before = shaken.length
    expect((await shake(path)).status).toBe(404)
    expect(shaken).toHaveLength(before)
  })
})

describe('T110: an upstream that', () => {
  it('refuses is passed through, and gives the payment back, three times', async () => {
    const proof = await gate.buy('/refuse')
    const statuses = []
    for (let turn = 0; turn < 4; turn += 1) statuses.push((await shake('/refuse', [`Payment-Proof: ${proof}`])).status)
    expect(statuses).toEqual([403, 403, 403, 409])
  })

  it('refuses says nothing of payments or of its connection, and half a refusal is not a whole one', async () => {
    const { headers } = await shake('/refuse', [`Payment-Proof: ${await gate.buy('/refuse')}`])
    expect(headers.get('x-why')).toBe('not you')
    expect(['x-hop', 'alt-svc', 'x-payment-tx'].filter((name) => headers.has(name))).toEqual([])
    const half = await shake('/half').catch(() => undefined)
    expect(half?.headers.get('content-length') ?? '10').toBe('10')
    expect(half?.body ?? '').not.toHaveLength(10)
  })

  it('breaks off is a 502, with the payment kept', async () => {
    const proof = await gate.buy('/broken')
    for (let turn = 0; turn < 5; turn += 1) {
      const { status, body } = await shake('/broken', [`Payment-Proof: ${proof}`])
      expect([status, JSON.parse(body)]).toMatchObject([502, { code: 'handler_failed', paid: true }])
    }
  })

  it('is silent is a 504, with the payment kept', async () => {
    const { status, body } = await shake('/silent', [`Payment-Proof: ${await gate.buy('/silent')}`])
    expect([status, JSON.parse(body)]).toMatchObject([504, { code: 'handler_failed', paid: true }])
    expect(fixture.logged.at(-1)).toMatch(/"handler.failed".*did not respond within [\d.]+ s"/)
  })

  it('answers in HTTP is paid like any answer: no way to have it for nothing', async () => {
    const upstream = await fixture.startUpstream()
    upstream.answer((_request, response) => response.end('in HTTP'))
    const deaf = await fixture.open({ upstream: upstream.url, routes: [{ path: '/a', price: 0.01, websocket: true }] })
    const proof = `Payment-Proof: ${await deaf.buy('/a')}`
    const answer = () => ask(deaf.url, 'GET /a HTTP/1.1', ['Connection: Upgrade', ...handshake, proof])
    const first = await answer()
    expect([first.status, first.body, first.headers.has('payment-receipt')]).toEqual([200, 'in HTTP', true])
    expect((await answer()).status).toBe(409)
  })
})

describe('a route without websocket', () => {
  it('answers a handshake in HTTP, at its price', async () => {
    expect((await shake('/http')).status).toBe(402)
    const paid = await shake('/http', [`Payment-Proof: ${await gate.buy('/http')}`])
    expect([paid.status, paid.body]).toEqual([200, 'in HTTP'])
  })

  it('responds in HTTP/1.1 to a request for HTTP/2', async () => {
    const lines = ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABk']
    const { status, body } = await ask(gate.url, 'GET /plain HTTP/1.1', lines)
    expect([status, body]).toEqual([200, 'in HTTP'])
    expect(fixture.upstream.seen.at(-1)?.headers['http2-settings']).toBeUndefined()
  })

  it('T106: accepts no body after a handshake, because its end would be unknown', async () => {
    const smuggled = 'GET /http HTTP/1.1\r\nHost: x\r\n\r\n'
    const before = fixture.upstream.seen.length
    const lines = ['Connection: Upgrade', 'Upgrade: h2c', `Content-Length: ${smuggled.length}`, '', smuggled]
    expect((await ask(gate.url, 'GET /plain HTTP/1.1', lines)).status).toBe(400)
    expect(fixture.upstream.seen).toHaveLength(before)
    const chunked = ['Connection: Upgrade', 'Upgrade: h2c', 'Transfer-Encoding: chunked', '', '0', '', smuggled]
    expect((await ask(gate.url, 'GET /plain HTTP/1.1', chunked)).status).toBe(400)
    expect(fixture.upstream.seen).toHaveLength(before)
  })
})

describe('another protocol', () => {
  it('is none that a WebSocket route would open', async () => {
    const before = shaken.length
    const { status, body } = await ask(gate.url, 'GET /open HTTP/1.1', ['Connection: Upgrade', 'Upgrade: h2c'])
    expect([status, body, shaken.length]).toEqual([200, 'in HTTP', before])
  })
})

it('bytes from a client that arrive before the response of the upstream are not lost', async () => {
  const upstream = await fixture.startUpstream()
  let agree = () => {}
  let heard = ''
  upstream.server.on('upgrade', (_request, socket, head) => {
    heard += head.toString()
    socket
      .on('error', () => {})
      .on('data', (bytes) => {
        heard += bytes.toString()
      })
    agree = () => socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n')
  })
  const slow = await fixture.open({ upstream: upstream.url, routes: [{ path: '/a', free: true, websocket: true }] })
  const { hostname, port } = new URL(slow.url)
  const socket = connect(Number(port), hostname)
  fixture.defer(() => socket.destroy())
  let answer = ''
  socket.on('data', (bytes) => {
    answer += bytes.toString()
  })
  socket.write(`${['GET /a HTTP/1.1', 'Host: x', 'Connection: Upgrade', ...handshake].join('\r\n')}\r\n\r\n`)
  const ready = agree
  await eventually(
    () => agree,
    (now) => now !== ready,
  )
  socket.write('one ')
  await new Promise((resolve) => setTimeout(resolve, 20))
  agree()
  await eventually(
    () => answer,
    (text) => text.startsWith('HTTP/1.1 101'),
  )
  socket.write('two')
  await eventually(
    () => heard,
    (text) => text === 'one two',
  )
})

describe('T110: a client that leaves before the upstream has agreed', () => {
  it.each(['destroy', 'resetAndDestroy'] as const)(
    'by %s ends the question, and gets its payment back',
    async (how) => {
      const upstream = await fixture.startUpstream()
      let [asked, left] = [0, 0]
      upstream.server.on('upgrade', (_request, socket) => {
        asked += 1
        socket
          .resume()
          .on('error', () => {})
          .on('end', () => socket.end())
          .once('close', () => {
            left += 1
          })
      })
      const slow = await fixture.open({
        upstream: upstream.url,
        routes: [{ path: '/a', price: 0.01, websocket: true }],
      })
      const proof = await slow.buy('/a')
      const { hostname, port } = new URL(slow.url)
      const lines = ['GET /a HTTP/1.1', 'Host: x', 'Connection: Upgrade', ...handshake, `Payment-Proof: ${proof}`]
      for (const time of [1, 2]) {
        const socket = connect(Number(port), hostname)
        socket.write(`${lines.join('\r\n')}\r\n\r\n`)
        await eventually(
          () => asked,
          (count) => count === time,
        )
        socket[how]()
        await eventually(
          () => left,
          (count) => count === time,
        )
      }
    },
  )
})

describe('T110: counts during the connection', () => {
  it('a window is open for more than one connection, and ends them all at its end', async () => {
    const proof = await gate.buyClaimed('/window')
    const first = await open('/window', { 'Payment-Proof': proof })
    const second = await open('/window', { 'Payment-Proof': proof })
    expect([first.status, second.status]).toEqual([101, 101])
    await eventually(
      () => [first.messages, second.messages].flat(),
      (all) => all.length === 2,
    )
    await Promise.all([first.ended, second.ended])
    expect((await open('/window', { 'Payment-Proof': proof })).status).toBeGreaterThanOrEqual(400)
  })

  it('bytes end the connection where the payment ends', async () => {
    const proof = await gate.buyClaimed('/bytes')
    const { socket, status } = await open('/bytes', { 'Payment-Proof': proof })
    expect(status).toBe(101)
    let received = 0
    socket.on('message', (data: Buffer) => {
      received += data.length
    })
    const message = randomBytes(100_000)
    const ended = once(socket, 'close')
    for (let turn = 0; turn < 20; turn += 1) socket.send(message, { compress: false })
    await ended
    expect(received).toBeLessThan(1_000_000)
    expect((await open('/bytes', { 'Payment-Proof': proof })).status).toBe(409)
  })
})

describe('the end of the gateway', () => {
  it('ends the connections, too', async () => {
    const ending = await fixture.open({ routes: [{ path: '/open', free: true, websocket: true }] })
    const { socket, status } = await open('/open', {}, ending.url)
    expect(status).toBe(101)
    const ended = once(socket, 'close')
    await ending.gateway.close()
    await ended
  })
})
