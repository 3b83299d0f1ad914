/**
 * A large body is delivered when the connection shows that it arrived, not when the kernel has taken it.
 *
 * Most tests hold the quiet time up, so that it passes only when a test says so.
 */
import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { createGateway } from '../../src/gateway/gateway.ts'
import { adapters, type Content, type Handler, type Serve } from '../harness/adapters.ts'
import { cells } from '../harness/length.ts'
import { proofOf } from '../harness/localnet-fixture.ts'
import { holdQuietTime } from '../harness/quiet-time.ts'
import { codeOf, type Shop, standStill } from '../harness/shop.ts'
import { createShopFixture, type ShopFixture, txOf } from '../harness/shop-fixture.ts'

let fixture: ShopFixture
beforeAll(async () => {
  fixture = await createShopFixture()
})
afterAll(() => fixture.close())
afterEach(() => void vi.restoreAllMocks())

const [kilobyte, megabyte] = [1_024, 1_024 * 1_024]
const piece = new Uint8Array(64 * kilobyte).fill(65)
const sizes: Readonly<Record<string, number>> = {
  '/2': 2 * megabyte,
  '/8': 8 * megabyte,
  '/64k': 64 * kilobyte,
  '/128k': 128 * kilobyte,
  '/missing': 2 * megabyte,
}

async function* pieces(bytes: number): AsyncGenerator<Uint8Array> {
  for (let sent = 0; sent < bytes; sent += piece.length) yield piece
}

/** Sends so many bytes, with their number or, for `?chunked`, without. */
const sell: Handler = (target): Content => {
  const [path = '', query] = target.split('?')
  const size = sizes[path] ?? 0
  const body = size === 0 ? 'the secret' : pieces(size)
  const headers = size === 0 || query === 'chunked' ? {} : { 'content-length': String(size) }
  return { status: path === '/missing' ? 404 : 200, headers, body }
}

/** The gateway in front of a plain server with the same handler. */
const serveGateway: Serve = async (options, handler) => {
  const upstream = createServer(async (request, response) => {
    const visit = { header: () => undefined, text: async () => '' }
    const { status = 200, headers = {}, body = '' } = await handler(request.url ?? '/', visit)
    response.writeHead(status, headers)
    // A client that leaves breaks it off.
    await pipeline(typeof body === 'string' ? [body] : body, response).catch(() => {})
  })
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
  const { price, per, size, prepay, leaseSeconds, waitSeconds, ...rest } = options
  const route = { path: '/*', price, per, size, prepay, leaseSeconds, waitSeconds }
  const gateway = createGateway({
    ...rest,
    upstream: `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`,
    listen: { port: 0 },
    routes: [JSON.parse(JSON.stringify(route))],
  } as Parameters<typeof createGateway>[0])
  const url = await gateway.listen()
  const close = async () => {
    await gateway.close()
    upstream.closeAllConnections()
    upstream.close()
  }
  const ready = async () => {
    const report = await gateway.readiness()
    if (!report.ready) throw new Error(report.why)
    return report as never
  }
  return { url, ready, readiness: gateway.readiness, metrics: async () => '', stop: gateway.close, close }
}

// The gateway sells with node:http.
const places = [...cells(adapters, adapters.length, 3), ['Gateway', serveGateway] as const].map(
  ([name, serve], row) => [name, serve, row] as const,
)

/** A client that can stop reading in the middle of an answer. */
interface Reader {
  readonly socket: Socket
  /** Sends another request on the same connection. */
  ask(path: string, headers?: Readonly<Record<string, string>>): void
  /** Resolves when so many bytes have come since it was asked last, and reads no more then. */
  read(bytes: number): Promise<void>
  status(): number
  /** The beginning of the last answer. */
  text(): string
}

async function open(shop: Shop): Promise<Reader> {
  const { hostname, port } = new URL(shop.url)
  // It closes when the test says so, and not because the server does.
  const socket = connect({ port: Number(port), host: hostname, allowHalfOpen: true })
  fixture.defer(() => socket.destroy())
  await new Promise((resolve) => socket.once('connect', resolve))
  socket.pause().on('error', () => {})
  let [seen, wanted, head] = [0, 0, '']
  let tell = () => {}
  socket.on('data', (chunk) => {
    seen += chunk.length
    if (head.length < 4_096) head += chunk.toString('latin1')
    if (seen < wanted) return
    socket.pause()
    tell()
  })
  return {
    socket,
    ask: (path, headers = {}) => {
      seen = 0
      head = ''
      const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
      socket.write(`GET ${path} HTTP/1.1\r\nHost: ${hostname}:${port}\r\n${lines.join('')}\r\n`)
    },
    read: (bytes) =>
      new Promise((resolve) => {
        wanted = bytes
        tell = resolve
        if (seen >= wanted) resolve()
        else socket.resume()
      }),
    status: () => Number(head.slice(9, 12)),
    text: () => head,
  }
}

/** Time in which a server that need not wait would have settled. */
const breathe = (times = 2) =>
  vi.waitFor(
    () => {
      times -= 1
      if (times > 0) throw new Error('not yet')
    },
    { interval: 40 },
  )

const endings = (shop: Shop, proof: string) =>
  shop.events.flatMap((event) => (event.kind === 'ended' && event.tx === txOf(proof) ? [event.outcome] : []))

/** Asks for a path that was paid for, and reads so much of it; or all of it, and its head. */
async function take(shop: Shop, proof: string, path: string, bytes = wholeOf(path), headers = {}): Promise<Reader> {
  const reader = await open(shop)
  reader.ask(path, { 'Payment-Proof': proof, ...headers })
  await reader.read(bytes)
  expect(reader.status()).toBe(200)
  return reader
}

const wholeOf = (path: string) => (sizes[path.split('?')[0] ?? ''] ?? 0) + 100

const points: readonly (readonly [string, string, number])[] = [
  ['after 64 KiB of 2 MiB', '/2', 64 * kilobyte],
  ['just before the last 64 KiB of 8 MiB', '/8', 8 * megabyte - 64 * kilobyte],
  ['after 64 KiB of 2 MiB of unknown length', '/2?chunked', 64 * kilobyte],
]
const manners: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
  ['kept alive', {}],
  ['that ends with the response', { Connection: 'close' }],
]

describe.each(places)('%s', (_name, serve, row) => {
  let shop: Shop
  beforeAll(async () => {
    shop = await fixture.open({}, serve, sell)
  })

  describe.each(cells(manners, 2, row))('on a connection %s', (_manner, headers) => {
    it.each(points)(
      'T117: a client that is reset %s gets the whole body with the same proof',
      async (_when, path, at) => {
        const proof = await shop.buy(fixture.payer, path)
        const reader = await take(shop, proof, path, at, headers)
        // By now the kernel has taken all that it can.
        await breathe()
        reader.socket.resetAndDestroy()
        await expect.poll(() => endings(shop, proof)).toEqual(['partial'])
        const again = await shop.claim(proof, path)
        expect([again.status, (await again.arrayBuffer()).byteLength]).toEqual([200, sizes[path.split('?')[0] ?? '']])
      },
    )

    it('settles a large body at once when its client closes the connection', async () => {
      holdQuietTime()
      const proof = await shop.buy(fixture.payer, '/2')
      const reader = await take(shop, proof, '/2', wholeOf('/2'), headers)
      reader.socket.end()
      await expect.poll(() => endings(shop, proof)).toEqual(['delivered'])
    })

    it('settles a large body after a quiet time, and lets its client go', async () => {
      const pass = holdQuietTime()
      const proof = await shop.buy(fixture.payer, '/2')
      const { socket } = await take(shop, proof, '/2', wholeOf('/2'), headers)
      await breathe()
      expect(endings(shop, proof)).toEqual([])
      expect(await codeOf(await shop.claim(proof, '/2'))).toBe('409 payment_in_progress')
      pass()
      await expect.poll(() => endings(shop, proof)).toEqual(['delivered'])
      expect(await codeOf(await shop.claim(proof, '/2'))).toBe('409 payment_replay')
      // A connection that ends with its response is closed on both sides by then.
      const isClosed = () => !socket.resume().write('\r\n') && socket.destroyed
      if ('Connection' in headers) await expect.poll(isClosed).toBe(true)
      else socket.resetAndDestroy()
      await breathe()
      expect(endings(shop, proof)).toEqual(['delivered'])
    })
  })

  it('settles a large body at the next request on its connection, for any resource', async () => {
    holdQuietTime()
    const proof = await shop.buy(fixture.payer, '/2')
    const reader = await take(shop, proof, '/2')
    await breathe()
    expect(endings(shop, proof)).toEqual([])
    reader.ask('/other')
    await reader.read(100)
    expect(reader.status()).toBe(402)
    await expect.poll(() => endings(shop, proof)).toEqual(['delivered'])
    // The proof on the connection itself finds its payment settled already.
    const second = await shop.buy(fixture.payer, '/2')
    const once = await take(shop, second, '/2')
    await breathe()
    once.ask('/2', { 'Payment-Proof': second })
    await once.read(100)
    await expect.poll(once.text).toContain('"payment_replay"')
    expect(endings(shop, second)).toEqual(['delivered'])
    once.socket.resetAndDestroy()
    await breathe()
    expect(endings(shop, second)).toEqual(['delivered'])
  })

  it('awaits many bodies on one connection without a warning of Node, and gives all of them back at a reset', async () => {
    const pass = holdQuietTime()
    const warnings: string[] = []
    const note = ({ message }: Error) => void warnings.push(message)
    process.on('warning', note)
    const paths = Array.from({ length: 12 }, (_, at) => `/128k?${at}`)
    const proofs: string[] = []
    for (const path of paths) proofs.push(await shop.buy(fixture.payer, path))
    const askAll = async (): Promise<Reader> => {
      const reader = await open(shop)
      // In one piece: a request that comes after a body tells that the body arrived.
      reader.socket.cork()
      for (const [at, path] of paths.entries()) reader.ask(path, { 'Payment-Proof': proofs[at] ?? '' })
      reader.socket.uncork()
      await reader.read(12 * 128 * kilobyte)
      await breathe()
      return reader
    }
    const ends = () => proofs.map((proof) => endings(shop, proof).at(-1))
    ;(await askAll()).socket.resetAndDestroy()
    await expect.poll(ends).toEqual(paths.map(() => 'partial'))
    await askAll()
    pass()
    await expect.poll(ends).toEqual(paths.map(() => 'delivered'))
    process.off('warning', note)
    expect(warnings.filter((message) => message.includes('listeners'))).toEqual([])
  })

  it('T117: three resets use a payment up', async () => {
    const proof = await shop.buy(fixture.payer, '/2')
    for (let delivery = 1; delivery <= 3; delivery += 1) {
      const reader = await take(shop, proof, '/2', 64 * kilobyte)
      await breathe()
      reader.socket.resetAndDestroy()
      await expect.poll(() => endings(shop, proof)).toHaveLength(delivery)
    }
    expect(await codeOf(await shop.claim(proof, '/2'))).toBe('409 payment_replay')
  })

  it('settles a small body at once', async () => {
    holdQuietTime()
    for (const path of ['/64k', '/secret']) {
      const proof = await shop.buy(fixture.payer, path)
      await take(shop, proof, path)
      await expect.poll(() => endings(shop, proof)).toEqual(['delivered'])
    }
  })

  it('does not await the arrival if it makes no difference', async () => {
    holdQuietTime()
    const proof = await shop.buy(fixture.payer, '/missing')
    const reader = await open(shop)
    reader.ask('/missing', { 'Payment-Proof': proof })
    await reader.read(wholeOf('/missing'))
    await expect.poll(() => endings(shop, proof)).toEqual(['partial'])
  })

  it('keeps the lease while it waits, so no other request is served', async () => {
    const leased = await fixture.open({ leaseSeconds: 1.2 }, serve, sell)
    const proof = await leased.buy(fixture.payer, '/2')
    await take(leased, proof, '/2')
    const codes = new Set<string>()
    while (endings(leased, proof).length === 0) {
      codes.add(await codeOf(await leased.claim(proof, '/2')))
      await breathe()
    }
    expect(endings(leased, proof)).toEqual(['delivered'])
    expect([...codes]).toContain('409 payment_in_progress')
    expect(await codeOf(await leased.claim(proof, '/2'))).toBe('409 payment_replay')
  })

  it('settles when its lease is lost while it waits, and leaves the connection alone', async () => {
    holdQuietTime()
    const leased = await fixture.open({ leaseSeconds: 0.5 }, serve, sell)
    const proof = await leased.buy(fixture.payer, '/2')
    const reader = await take(leased, proof, '/2')
    await breathe()
    expect(endings(leased, proof)).toEqual([])
    standStill(600)
    await expect.poll(() => endings(leased, proof)).toEqual(['delivered'])
    reader.ask('/other')
    await reader.read(100)
    expect(reader.status()).toBe(402)
  })

  it.each(cells(manners, 2, row + 1))(
    'T122: a stop waits for the arrival of a body on a connection %s',
    async (_manner, headers) => {
      const pass = holdQuietTime()
      const stopping = await fixture.open({}, serve, sell)
      const proofs = [await stopping.buy(fixture.payer, '/2'), await stopping.buy(fixture.payer, '/2')]
      const [broken] = await Promise.all(
        proofs.map(async (proof, at) => take(stopping, proof, '/2', at === 0 ? 64 * kilobyte : wholeOf('/2'), headers)),
      )
      await breathe()
      let isStopped = false
      const stopped = stopping.stop().then(() => {
        isStopped = true
      })
      // Node closes idle connections within this time.
      await breathe(4)
      const ends = () => proofs.map((proof) => endings(stopping, proof))
      expect([ends(), isStopped]).toEqual([[[], []], false])
      broken?.socket.resetAndDestroy()
      await expect.poll(ends).toEqual([['partial'], []])
      pass()
      await stopped
      expect(ends()).toEqual([['partial'], ['delivered']])
    },
  )
})

const secret = 'a-secret-of-the-client-0123456789'
const accept = `claim=${createHash('sha256').update(secret).digest('base64url')}`

async function buyClaimed(shop: Shop, path: string): Promise<string> {
  const challenge = await shop.challenge(path, { 'Payment-Accept': accept })
  return proofOf(await fixture.world.pay(challenge, fixture.payer), challenge, fixture.payer, `; claim=${secret}`)
}

/** How often an outcome was counted. */
async function counted(shop: Shop, outcome: string): Promise<number> {
  const line = new RegExp(`^paystile_requests_total\\{outcome="${outcome}"\\} (\\d+)$`, 'm')
  return Number(line.exec(await shop.metrics())?.[1] ?? 0)
}

it('counts a delivery once, and each reset before it', async () => {
  // Shops on one ledger count together.
  const shop = await fixture.open({ ledger: `sqlite:${join(fixture.directory, 'counted.sqlite')}` }, undefined, sell)
  const proof = await shop.buy(fixture.payer, '/2')
  const reader = await take(shop, proof, '/2', 64 * kilobyte)
  await breathe()
  reader.socket.resetAndDestroy()
  await expect.poll(() => endings(shop, proof)).toEqual(['partial'])
  const whole = await take(shop, proof, '/2')
  whole.socket.end()
  await expect.poll(() => endings(shop, proof)).toEqual(['partial', 'delivered'])
  await expect.poll(async () => [await counted(shop, 'delivered'), await counted(shop, 'undelivered')]).toEqual([1, 1])
})

describe('awaits nothing where a reset takes nothing away', () => {
  beforeEach(() => void holdQuietTime())

  it('of a file, which may be sent three times in any case', async () => {
    const shop = await fixture.open({ per: 'megabyte', price: 0.01, size: 2 * megabyte }, undefined, sell)
    const proof = await buyClaimed(shop, '/2')
    for (let time = 1; time <= 3; time += 1) {
      const reader = await take(shop, proof, '/2', 64 * kilobyte)
      await expect.poll(() => endings(shop, proof)).toEqual(Array(time).fill('delivered'))
      reader.socket.resetAndDestroy()
    }
    expect(await codeOf(await shop.claim(proof, '/2'))).toBe('409 payment_replay')
  })

  it('of bytes bought ahead, each of which is counted once', async () => {
    const shop = await fixture.open({ per: 'megabyte', price: 0.01, prepay: 5 }, undefined, sell)
    const proof = await buyClaimed(shop, '/2')
    const reader = await take(shop, proof, '/2', 64 * kilobyte)
    await expect.poll(() => endings(shop, proof)).toEqual(['delivered'])
    reader.socket.resetAndDestroy()
    await breathe()
    expect(endings(shop, proof)).toEqual(['delivered'])
    const again = await shop.claim(proof, '/2')
    expect(again.headers.get('payment-allowance')).toContain(`remaining=${5_000_000 - 2 * megabyte};`)
  })

  it('of a window', async () => {
    const shop = await fixture.open({ per: { seconds: 3_600 } }, undefined, sell)
    const proof = await buyClaimed(shop, '/2')
    for (let time = 1; time <= 5; time += 1) {
      const reader = await take(shop, proof, '/2', 64 * kilobyte)
      await expect.poll(() => endings(shop, proof)).toEqual(Array(time).fill('delivered'))
      reader.socket.resetAndDestroy()
    }
  })
})

it('bytes of the request itself, which come after an early answer, show nothing', async () => {
  const shop = await fixture.open({}, undefined, sell)
  holdQuietTime()
  const challenge = await fetch(`${shop.url}/2`, { method: 'POST' }).then((response) => response.json())
  const proof = proofOf(await fixture.world.pay(challenge, fixture.payer), challenge, fixture.payer)
  const reader = await open(shop)
  reader.socket.write(`POST /2 HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\nPayment-Proof: ${proof}\r\n\r\n`)
  await reader.read(wholeOf('/2'))
  await breathe()
  reader.socket.write('x'.repeat(500))
  await breathe()
  expect(endings(shop, proof)).toEqual([])
  reader.socket.resetAndDestroy()
  await expect.poll(() => endings(shop, proof)).toEqual(['partial'])
})
