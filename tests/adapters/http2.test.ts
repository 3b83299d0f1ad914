/** Over HTTP/2 too, a delivery is what came to its end on the stream. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type ClientHttp2Session, connect, constants, createServer, type Http2Server } from 'node:http2'
import { type AddressInfo, connect as connectSocket } from 'node:net'
import fastify from 'fastify'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { create402Middleware as fastifyHook } from '../../src/adapters/fastify.ts'
import { create402Middleware as nodeMiddleware } from '../../src/adapters/node.ts'
import type { PaywallEvent } from '../../src/paywall/config/events.ts'
import type { ProviderOptions } from '../../src/paywall/config/options.ts'
import { proofOf } from '../harness/localnet-fixture.ts'
import { holdQuietTime } from '../harness/quiet-time.ts'
import { eventually } from '../harness/shop.ts'
import { createShopFixture, type ShopFixture } from '../harness/shop-fixture.ts'

let shop: ShopFixture
beforeAll(async () => {
  shop = await createShopFixture()
})
afterAll(() => shop.close())
afterEach(() => void vi.restoreAllMocks())

const big = Buffer.alloc(3_000_000, 97)
const bodyOf = (url = '') => (url === '/big' ? big : Buffer.from('the secret'))

const frame = (type: number, flags: number, stream: number, payload: Buffer) => {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head.writeUInt8(type, 3)
  head.writeUInt8(flags, 4)
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}
const number = (value: number) => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}
/** A string in HPACK, of less than 255 bytes or with its length in two bytes. */
const text = (value: string) =>
  Buffer.concat([
    Buffer.from(value.length < 127 ? [value.length] : [127, (value.length - 127) | 128, (value.length - 127) >> 7]),
    Buffer.from(value),
  ])

/** A client that takes all at once and answers no PING. Resolves when it has read so many bytes; it then reads no more. */
async function readRaw(port: number, path: string, proof: string, bytes: number) {
  const window = 16_000_000
  const headers = [Buffer.from([0x82, 0x86, 0x04]), text(path), Buffer.from([0x01]), text(`127.0.0.1:${port}`)]
  const proven = [Buffer.from([0x00]), text('payment-proof'), text(proof)]
  const socket = connectSocket(port, '127.0.0.1')
  shop.defer(() => socket.destroy())
  socket.on('error', () => {})
  socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
  socket.write(frame(4, 0, 0, Buffer.concat([Buffer.from([0, 4]), number(window)])))
  socket.write(frame(8, 0, 0, number(window)))
  socket.write(frame(1, 5, 1, Buffer.concat([...headers, ...proven])))
  let seen = 0
  await new Promise<void>((resolve) => {
    socket.on('data', (chunk) => {
      seen += chunk.length
      if (seen < bytes) return
      socket.pause()
      resolve()
    })
  })
  return socket
}

type Open = (options: ProviderOptions) => Promise<Http2Server>

const servers: readonly (readonly [string, Open])[] = [
  [
    'node:http2',
    async (options) => {
      const paid = nodeMiddleware(options)
      shop.defer(paid.close)
      return createServer((request, response) => {
        const [incoming, outgoing] = [request as unknown as IncomingMessage, response as unknown as ServerResponse]
        paid(incoming, outgoing, () => void outgoing.end(bodyOf(incoming.url)))
      })
    },
  ],
  [
    'Fastify',
    async (options) => {
      const app = fastify({ http2: true })
      const paid = fastifyHook(options)
      shop.defer(paid.close)
      app.get('/*', { onRequest: paid as never }, async (request, reply) => reply.send(bodyOf(request.url)))
      await app.ready()
      return app.server as unknown as Http2Server
    },
  ],
]

describe.each(servers)('%s', (_name, open) => {
  const events: PaywallEvent[] = []
  let session: ClientHttp2Session
  let port: number
  let goaways = 0
  /** The proofs of responses that have left. */
  const left: unknown[] = []
  const sent = (proof: string) => left.filter((one) => one === proof).length
  beforeAll(async () => {
    const { world, log } = shop
    const [recipient, rpc] = [world.recipient.address, world.localnet.rpcUrl]
    const base = { price: 0.01, token: 'USDC', network: 'localnet', ledger: 'memory:' } as const
    const server = await open({ ...base, recipient, rpc, log, onEvent: (event) => void events.push(event) })
    server.on('request', (request, response) =>
      response.once('close', () => left.push(request.headers['payment-proof'])),
    )
    server.on('session', (opened) =>
      opened.on('goaway', () => {
        goaways += 1
      }),
    )
    server.listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    port = (server.address() as AddressInfo).port
    session = connect(`http://127.0.0.1:${port}`)
    shop.defer(async () => {
      session.destroy()
      server.close()
    })
  })

  const get = (path: string, proof?: string, stopAfter = Number.POSITIVE_INFINITY) =>
    new Promise<{ status: number; body: string }>((resolve) => {
      const stream = session.request({ ':path': path, ...(proof && { 'payment-proof': proof }) })
      let [status, body] = [0, '']
      stream.on('response', (headers) => {
        status = Number(headers[':status'])
      })
      stream.on('data', (chunk) => {
        body += chunk
        if (body.length >= stopAfter) stream.close(constants.NGHTTP2_CANCEL)
      })
      stream.on('error', () => {})
      stream.on('close', () => resolve({ status, body }))
      stream.end()
    })
  const buy = async (path: string) => {
    const challenge = JSON.parse((await get(path)).body)
    return proofOf(await shop.world.pay(challenge, shop.payer), challenge, shop.payer)
  }
  const ended = async (proof: string, times: number) => {
    const mine = () =>
      events.flatMap((event) => (event.kind === 'ended' && proof.includes(event.tx) ? event.outcome : []))
    await eventually(mine, (all) => all.length === times)
    return mine()
  }

  it('a whole answer settles once the client has read as far, and the proof is used', async () => {
    holdQuietTime()
    for (const path of ['/small', '/big']) {
      const proof = await buy(path)
      expect((await get(path, proof)).body.length).toBe(bodyOf(path).length)
      expect(await ended(proof, 1)).toEqual(['delivered'])
      expect((await get(path, proof)).status).toBe(409)
    }
  })

  it('one that was broken off counts, and can be had again', async () => {
    const proof = await buy('/big')
    expect((await get('/big', proof, 20_000)).body.length).toBeLessThan(big.length)
    expect(await ended(proof, 1)).toEqual(['partial'])
    expect((await get('/big', proof)).body.length).toBe(big.length)
    expect(await ended(proof, 2)).toEqual(['partial', 'delivered'])
  })

  const goaway = frame(7, 0, 0, Buffer.concat([number(0), number(0)]))
  it.each([
    ['reset', []],
    ['reset after a GOAWAY', [goaway]],
  ])('T117: a sent response counts if its connection is %s, and can be requested again', async (_how, frames) => {
    holdQuietTime()
    const proof = await buy('/big')
    const socket = await readRaw(port, '/big', proof, 65_536)
    await expect.poll(() => sent(proof)).toBe(1)
    goaways = 0
    for (const one of frames) socket.write(one)
    await expect.poll(() => goaways).toBe(frames.length)
    socket.resetAndDestroy()
    expect(await ended(proof, 1)).toEqual(['partial'])
    expect((await get('/big', proof)).body.length).toBe(big.length)
  })

  it('one settles when its connection is closed, or after a quiet time', async () => {
    const pass = holdQuietTime()
    const [first, second] = [await buy('/big'), await buy('/big')]
    const socket = await readRaw(port, '/big', first, big.length)
    socket.resume().end()
    expect(await ended(first, 1)).toEqual(['delivered'])
    await readRaw(port, '/big', second, big.length)
    await expect.poll(() => sent(second)).toBe(1)
    expect(await ended(second, 0)).toEqual([])
    pass()
    expect(await ended(second, 1)).toEqual(['delivered'])
  })
})
