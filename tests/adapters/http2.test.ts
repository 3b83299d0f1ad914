/** Over HTTP/2 too, a delivery is what came to its end on the stream. */

import type { IncomingMessage, ServerResponse } from 'node:http'
import { type ClientHttp2Session, connect, constants, createServer, type Http2Server } from 'node:http2'
import type { AddressInfo } from 'node:net'
import fastify from 'fastify'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { create402Middleware as fastifyHook } from '../../src/adapters/fastify.ts'
import { create402Middleware as nodeMiddleware } from '../../src/adapters/node.ts'
import type { PaywallEvent } from '../../src/server/events.ts'
import type { ProviderOptions } from '../../src/server/options.ts'
import { eventually } from '../harness/shop.ts'
import { createStand, type Stand } from '../harness/stand.ts'
import { proofOf } from '../harness/world.ts'

let stand: Stand
beforeAll(async () => {
  stand = await createStand()
})
afterAll(() => stand.close())

const big = Buffer.alloc(3_000_000, 97)
const bodyOf = (url = '') => (url === '/big' ? big : Buffer.from('the secret'))

type Open = (options: ProviderOptions) => Promise<Http2Server>

const servers: readonly (readonly [string, Open])[] = [
  [
    'node:http2',
    async (options) => {
      const paid = nodeMiddleware(options)
      stand.defer(paid.close)
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
      stand.defer(paid.close)
      app.get('/*', { onRequest: paid as never }, async (request, reply) => reply.send(bodyOf(request.url)))
      await app.ready()
      return app.server as unknown as Http2Server
    },
  ],
]

describe.each(servers)('%s', (_name, open) => {
  const events: PaywallEvent[] = []
  let session: ClientHttp2Session
  beforeAll(async () => {
    const { world, log } = stand
    const [recipient, rpc] = [world.recipient.address, world.localnet.rpcUrl]
    const base = { price: 0.01, token: 'USDC', network: 'localnet', ledger: 'memory:' } as const
    const server = await open({ ...base, recipient, rpc, log, onEvent: (event) => void events.push(event) })
    server.listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    stand.defer(async () => {
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
    return proofOf(await stand.world.pay(challenge, stand.payer), challenge, stand.payer)
  }
  const ended = async (proof: string, times: number) => {
    const mine = () =>
      events.flatMap((event) => (event.kind === 'ended' && proof.includes(event.tx) ? event.consequence : []))
    await eventually(mine, (all) => all.length === times)
    return mine()
  }

  it('a whole answer settles, and the proof is used', async () => {
    for (const path of ['/small', '/big']) {
      const proof = await buy(path)
      expect((await get(path, proof)).body.length).toBe(bodyOf(path).length)
      expect(await ended(proof, 1)).toEqual(['settle'])
      expect((await get(path, proof)).status).toBe(409)
    }
  })

  it('one that was broken off counts, and can be had again', async () => {
    const proof = await buy('/big')
    expect((await get('/big', proof, 20_000)).body.length).toBeLessThan(big.length)
    expect(await ended(proof, 1)).toEqual(['count'])
    expect((await get('/big', proof)).body.length).toBe(big.length)
    expect(await ended(proof, 2)).toEqual(['count', 'settle'])
  })
})
