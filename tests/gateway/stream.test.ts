/** Bytes go through as they come: nothing waits for the end, and nothing piles up. */
import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { sendRaw } from '../harness/raw.ts'
import { eventually, readAndReset } from '../harness/shop.ts'
import { createGatewayFixture, type Gate, type GatewayFixture } from './gateway-fixture.ts'

let fixture: GatewayFixture
let gate: Gate
beforeAll(async () => {
  fixture = await createGatewayFixture()
  gate = await fixture.open({
    routes: [
      { path: '/data', price: 0.01 },
      { path: '/mb', price: 0.01, per: 'megabyte', prepay: 1 },
      { path: '/free', free: true, methods: ['GET', 'POST'] },
      { path: '/idle', free: true, timeouts: { idleSeconds: 0.2 } },
      { path: '/post', price: 0.01, methods: ['POST'] },
      { path: '/bound', price: 0.01, methods: ['POST'], bind: { body: true } },
    ],
  })
})
afterAll(() => fixture.close())
beforeEach(() => {
  fixture.upstream.seen.length = 0
})

const size = 50_000_000
const chunk = Buffer.alloc(65_536, 'paystile')

/** Resolves when a number has not changed for a while. */
async function untilStill(read: () => number): Promise<void> {
  let [last, still] = [-1, 0]
  await eventually(read, (now) => {
    still = now === last ? still + 1 : 0
    last = now
    return still >= 5
  })
}

describe('server-sent events', () => {
  it.each(['/data', '/free'])('of %s: the first arrives before the upstream ends', async (path) => {
    let finish = () => {}
    fixture.upstream.answer((_request, response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' })
      response.write('data: first\n\n')
      finish = () => response.end('data: last\n\n')
    })
    const response = path === '/data' ? await gate.claim(await gate.buy(path), path) : await fetch(`${gate.url}${path}`)
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
    expect((await reader?.read())?.value).toBe('data: first\n\n')
    finish()
    expect((await reader?.read())?.value).toBe('data: last\n\n')
    expect((await reader?.read())?.done).toBe(true)
  })

  it('end when the upstream is silent for too long, and not like a whole answer', async () => {
    fixture.upstream.answer((_request, response) => void response.writeHead(200).write('data: first\n\n'))
    const response = await fetch(`${gate.url}/idle`)
    await expect(response.text()).rejects.toThrow()
  })
})

describe('every byte there is', () => {
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, value) => value))

  it.each([
    ['at once, with its length', true, [bytes]],
    ['in pieces, with its length', true, [bytes.subarray(0, 100), bytes.subarray(100)]],
    ['in pieces, without', false, [bytes.subarray(0, 100), bytes.subarray(100)]],
    ['with a last piece that is long', true, [bytes, Buffer.concat(Array.from({ length: 100 }, () => bytes))]],
  ])('goes through %s', async (_how, isTold, pieces) => {
    const whole = Buffer.concat(pieces)
    const sent: (() => void)[] = []
    fixture.upstream.answer((_request, response) => {
      response.writeHead(200, isTold ? { 'Content-Length': whole.length } : {})
      for (const piece of pieces) sent.push(() => void response.write(piece))
      sent.push(() => void response.end())
      sent.shift()?.()
    })
    const response = await gate.claim(await gate.buy('/data'), '/data')
    const received: Uint8Array[] = []
    const reader = response.body?.getReader()
    for (let next = sent.shift(); next; next = sent.shift()) {
      const read = received.length < pieces.length - 1 ? await reader?.read() : undefined
      if (read?.value) received.push(read.value)
      next()
    }
    for (let read = await reader?.read(); !read?.done; read = await reader?.read()) if (read) received.push(read.value)
    expect(Buffer.concat(received).equals(whole)).toBe(true)
  })
})

describe('fifty megabytes', () => {
  it.each(['/data', '/free'])('of %s go to a slow reader without being kept', async (path) => {
    let sent = 0
    fixture.upstream.answer((_request, response) => {
      response.writeHead(200, { 'Content-Length': size })
      const write = (): void => {
        while (sent < size) {
          const part = chunk.subarray(0, Math.min(chunk.length, size - sent))
          sent += part.length
          if (!response.write(part)) return void response.once('drain', write)
        }
        response.end()
      }
      write()
    })
    const headers = path === '/data' ? { 'Payment-Proof': await gate.buy(path) } : {}
    const request = httpRequest(`${gate.url}${path}`, { headers, agent: false }).end()
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    response.pause()
    // What the sockets on the way hold is full, and the upstream has to wait.
    await untilStill(() => sent)
    expect(sent).toBeLessThan(size / 2)
    let received = 0
    for await (const part of response) received += (part as Buffer).length
    expect([received, sent]).toEqual([size, size])
  })

  it('of a request go to a slow upstream without being kept', async () => {
    let resume = () => {}
    let received = 0
    let isThere = false
    fixture.upstream.server.removeAllListeners('request')
    fixture.upstream.server.on('request', (request, response) => {
      isThere = true
      resume = () => {
        request.on('data', (part: Buffer) => {
          received += part.length
        })
        request.on('end', () => response.end(String(received)))
      }
    })
    const request = httpRequest(`${gate.url}/free`, {
      method: 'POST',
      agent: false,
      headers: { 'Content-Length': size },
    })
    let sent = 0
    const write = (): void => {
      while (sent < size) {
        const part = chunk.subarray(0, Math.min(chunk.length, size - sent))
        sent += part.length
        if (!request.write(part)) return void request.once('drain', write)
      }
      request.end()
    }
    write()
    await eventually(
      () => isThere,
      (there) => there,
    )
    await untilStill(() => sent)
    expect(sent).toBeLessThan(size / 2)
    resume()
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    let text = ''
    for await (const part of response) text += part
    expect(text).toBe(String(size))
  })
})

describe('bytes that were bought', () => {
  it('end where the payment ends, and never look whole', async () => {
    const upstream = await fixture.startUpstream()
    upstream.answer((_request, response) => {
      response.writeHead(200)
      for (let part = 0; part < 40; part += 1) response.write(chunk)
      response.end()
    })
    const metered = await fixture.open({
      upstream: upstream.url,
      routes: [{ path: '/mb', price: 0.01, per: 'megabyte' }],
    })
    const response = await metered.claim(await metered.buyClaimed('/mb'), '/mb')
    let received = 0
    const read = async () => {
      for await (const part of response.body as unknown as AsyncIterable<Uint8Array>) received += part.length
    }
    await expect(read()).rejects.toThrow()
    expect(received).toBe(1_000_000)
  })
})

describe('a client that leaves', () => {
  it('ends the request at the upstream, and gets its payment back', async () => {
    const upstream = await fixture.startUpstream()
    let closed = 0
    upstream.answer((_request, response) => {
      response.writeHead(200)
      response.on('close', () => {
        closed += 1
      })
      const timer = setInterval(() => response.write(chunk), 5)
      response.on('close', () => clearInterval(timer))
    })
    const left = await fixture.open({ upstream: upstream.url, routes: [{ path: '/data', price: 0.01 }] })
    const proof = await left.buy('/data')
    await readAndReset(`${left.url}/data`, { 'Payment-Proof': proof }, 100_000)
    await eventually(
      () => closed,
      (count) => count === 1,
    )
    upstream.answer((_request, response) => response.end('all of it'))
    expect(await (await left.claim(proof, '/data')).text()).toBe('all of it')
  })

  it('before the upstream has answered, too', async () => {
    const upstream = await fixture.startUpstream()
    let closed = 0
    upstream.answer((request) => {
      request.socket.on('close', () => {
        closed += 1
      })
    })
    const left = await fixture.open({ upstream: upstream.url, routes: [{ path: '/data', price: 0.01 }] })
    const proof = await left.buy('/data')
    const request = httpRequest(`${left.url}/data`, { headers: { 'Payment-Proof': proof }, agent: false }).end()
    request.on('error', () => {})
    await eventually(
      () => upstream.seen.length,
      (count) => count === 1,
    )
    request.destroy()
    await eventually(
      () => closed,
      (count) => count === 1,
    )
    upstream.answer((_request, response) => response.end('all of it'))
    expect(await (await left.claim(proof, '/data')).text()).toBe('all of it')
  })
})

describe('a client that leaves in the middle of a body that is bound', () => {
  it('is nothing that the provider could mend, and keeps its payment', async () => {
    const upstream = await fixture.startUpstream()
    const bound = { path: '/bound', price: 0.01, methods: ['POST'], bind: { body: true } } as const
    const left = await fixture.open({ upstream: upstream.url, routes: [bound] })
    const whole = { method: 'POST', body: 'all of it.' }
    const proof = await left.buy('/bound', whole)
    const half = `POST /bound HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\nPayment-Proof: ${proof}\r\n\r\nall`
    const { hostname, port } = new URL(left.url)
    connect(Number(port), hostname, function (this: Socket) {
      this.end(half)
    }).on('error', () => {})
    await eventually(
      () => left.events,
      (events) => events.some((event) => event.kind === 'refused' && event.code === 'body_incomplete'),
    )
    expect(fixture.logged.join()).not.toContain('body parser')
    expect((await left.claim(proof, '/bound', whole)).status).toBe(200)
  })
})

describe('Expect: 100-continue', () => {
  const post = async (path: string, headers: Readonly<Record<string, string>>) => {
    const request = httpRequest(`${gate.url}${path}`, {
      method: 'POST',
      agent: false,
      headers: { Expect: '100-continue', 'Content-Length': 5, ...headers },
    })
    let isAsked = false
    request.on('continue', () => {
      isAsked = true
      request.end('hello')
    })
    request.flushHeaders()
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    let text = ''
    for await (const part of response) text += part
    request.destroy()
    return { status: response.statusCode, isAsked, text }
  }

  it('asks for the body only when it is paid for', async () => {
    const upstream = await fixture.startUpstream()
    upstream.answer(async (_request, response, body) => response.end(`got ${await body}`))
    const patient = await fixture.open({
      upstream: upstream.url,
      routes: [{ path: '/post', price: 0.01, methods: ['POST'] }],
    })
    expect(await post('/post', {})).toMatchObject({ status: 402, isAsked: false })
    const proof = await patient.buy('/post', { method: 'POST' })
    const request = httpRequest(`${patient.url}/post`, {
      method: 'POST',
      agent: false,
      headers: { Expect: '100-continue', 'Content-Length': 5, 'Payment-Proof': proof },
    })
    request.on('continue', () => request.end('hello')).flushHeaders()
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    let text = ''
    for await (const part of response) text += part
    expect([text, upstream.seen.at(-1)?.headers.expect]).toEqual(['got hello', undefined])
  })

  it('asks for it where the price depends on it', async () => {
    expect(await post('/bound', {})).toMatchObject({ status: 402, isAsked: true })
  })

  it('asks for it once, also for a body to the service itself', async () => {
    const upstream = await fixture.startUpstream()
    const bound = { path: '/bound', price: 0.01, methods: ['POST'], bind: { body: true } } as const
    const once = await fixture.open({ upstream: upstream.url, routes: [bound] })
    const proof = await once.buy('/bound', { method: 'POST', body: 'hello' })
    const head = 'Host: 127.0.0.1\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: 5\r\n'
    const paid = await sendRaw(once.url, `POST /bound HTTP/1.1\r\n${head}Payment-Proof: ${proof}\r\n\r\nhello`)
    expect(paid.match(/HTTP\/1\.1 \d{3}/g)).toEqual(['HTTP/1.1 100', 'HTTP/1.1 200'])
    const type = 'Content-Type: application/json\r\n'
    const own = await sendRaw(once.url, `POST /verify-payment HTTP/1.1\r\n${head}${type}\r\n"no"\n`)
    expect(own.match(/HTTP\/1\.1 \d{3}/g)).toEqual(['HTTP/1.1 100', 'HTTP/1.1 400'])
  })
})
