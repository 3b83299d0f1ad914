/** The end of a server: what runs ends well, who comes anew is told so, and nothing keeps the process. */
import { Agent, createServer, get, type IncomingMessage } from 'node:http'
import { type ClientHttp2Session, createServer as createHttp2Server, connect as openSession } from 'node:http2'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { drain } from '../../src/adapters/drain.ts'
import { adapters } from '../harness/adapters.ts'
import { eventually, type Shop } from '../harness/shop.ts'
import { createShopFixture, type ShopFixture, txOf } from '../harness/shop-fixture.ts'

let fixture: ShopFixture
beforeAll(async () => {
  fixture = await createShopFixture()
})
afterAll(() => fixture.close())

const bytes = (text: string) => new TextEncoder().encode(text)

/** A body whose second half waits until it is asked for. */
function halves() {
  let goOn = () => {}
  const asked = new Promise<void>((resolve) => {
    goOn = resolve
  })
  async function* body() {
    yield bytes('the first half, ')
    await asked
    yield bytes('the second half')
  }
  return { handler: () => ({ body: body() }), goOn: () => goOn() }
}

/** A client that would keep its connection for ever. */
async function read(shop: Shop, headers: Readonly<Record<string, string>>) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  fixture.defer(() => agent.destroy())
  let socket: Socket | undefined
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const request = get(`${shop.url}/data`, { agent, headers }, resolve).on('error', reject)
    request.once('socket', (given) => {
      socket = given
    })
  })
  let text = ''
  response.on('error', () => {})
  response.on('data', (chunk) => {
    text += chunk
  })
  return {
    text: () => text,
    over: new Promise<'whole' | 'broken'>((resolve) =>
      response.once('close', () => resolve(response.complete ? 'whole' : 'broken')),
    ),
    isConnected: () => socket?.destroyed === false,
  }
}

/** A client whose request is half-way when the server is told to stop. */
async function ask(shop: Shop) {
  const { hostname, port, host } = new URL(shop.url)
  const socket = connect(Number(port), hostname)
  let text = ''
  socket.on('error', () => {})
  socket.on('data', (chunk) => {
    text += chunk
  })
  const closed = new Promise<string>((resolve) => socket.once('close', () => resolve(text)))
  await new Promise((resolve) => socket.write(`GET /data HTTP/1.1\r\nHost: ${host}\r\n`, resolve))
  return {
    goOn: (proof: string) => {
      socket.write(`Payment-Proof: ${proof}\r\n\r\n`)
      return closed
    },
  }
}

function isRefused(shop: Shop): Promise<boolean> {
  const { hostname, port } = new URL(shop.url)
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname, () => {
      socket.destroy()
      resolve(false)
    })
    socket.once('error', () => resolve(true))
  })
}

const endings = (shop: Shop, proof: string) =>
  shop.events.flatMap((event) => (event.kind === 'ended' && event.tx === txOf(proof) ? [event.outcome] : []))

describe.each(adapters)('%s', (_name, serve) => {
  it('T122: lets a running response end, turns new proofs away, and waits for no idle connection', async () => {
    const { handler, goOn } = halves()
    const shop = await fixture.open({}, serve, handler)
    const [running, late] = [await shop.buy(fixture.payer), await shop.buy(fixture.payer)]
    const idle = await read(shop, {})
    await idle.over
    const paid = await read(shop, { 'Payment-Proof': running })
    await eventually(paid.text, (text) => text === 'the first half, ')
    const asking = await ask(shop)
    await eventually(idle.isConnected, Boolean)

    let isStopped = false
    const stopped = shop.stop().then(() => {
      isStopped = true
    })
    expect(await isRefused(shop)).toBe(true)
    await eventually(idle.isConnected, (isConnected) => !isConnected)
    const refusal = await asking.goOn(late)
    expect(refusal).toMatch(/^HTTP\/1\.1 503 [\s\S]*shutting_down/)
    expect(refusal).toMatch(/\r\nconnection: close\r\n/i)
    expect([isStopped, endings(shop, running)]).toEqual([false, []])

    goOn()
    expect(await paid.over).toBe('whole')
    expect(paid.text()).toBe('the first half, the second half')
    const began = performance.now()
    await stopped
    expect(performance.now() - began).toBeLessThan(2_000)
    await eventually(paid.isConnected, (isConnected) => !isConnected)
    expect(endings(shop, running)).toEqual(['delivered'])
  })

  it('T122: aborts endless responses after thirty seconds, and returns their payments', async () => {
    const { handler } = halves()
    const shop = await fixture.open({}, serve, handler)
    const proof = await shop.buy(fixture.payer)
    const paid = await read(shop, { 'Payment-Proof': proof })
    await eventually(paid.text, (text) => text === 'the first half, ')
    vi.useFakeTimers({ toFake: ['setTimeout'] })
    const stopped = shop.stop()
    vi.advanceTimersByTime(29_900)
    expect(endings(shop, proof)).toEqual([])
    vi.advanceTimersByTime(100)
    vi.useRealTimers()
    await stopped
    expect(await paid.over).toBe('broken')
    expect(endings(shop, proof)).toEqual(['not_started'])
    expect(fixture.logged.filter((line) => line.includes('lease.lost')).at(-1)).toContain(
      'the service is shutting down',
    )
  })
})

describe('a server of HTTP/2', () => {
  const open = async () => {
    let goOn = () => {}
    const server = createHttp2Server((request, response) => {
      if (request.url !== '/slow') return void response.end('at once')
      response.write('the first half, ')
      goOn = () => response.end('the second half')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    fixture.defer(() => server.close())
    const connect = (): ClientHttp2Session => {
      const session = openSession(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
      session.on('error', () => {})
      fixture.defer(() => session.destroy())
      return session
    }
    return { server, connect, goOn: () => goOn() }
  }
  const ask = (session: ClientHttp2Session, path: string) => {
    const stream = session.request({ ':path': path })
    let text = ''
    stream.on('error', () => {})
    stream.on('data', (chunk) => {
      text += chunk
    })
    return { text: () => text, over: new Promise<void>((resolve) => stream.once('close', () => resolve())) }
  }

  it('lets running responses end, and ends idle sessions without a wait', async () => {
    const { server, connect, goOn } = await open()
    const [busy, idle] = [connect(), connect()]
    await ask(idle, '/').over
    const running = ask(busy, '/slow')
    await eventually(running.text, (text) => text === 'the first half, ')
    const stopped = drain(server)
    await eventually(
      () => idle.closed,
      (isClosed) => isClosed,
    )
    expect(busy.destroyed).toBe(false)
    goOn()
    await running.over
    expect(running.text()).toBe('the first half, the second half')
    await stopped
  })

  it('breaks off after the limit a response that never ends, and a session that never asked', async () => {
    const { server, connect } = await open()
    const [silent, busy] = [connect(), connect()]
    await new Promise<void>((resolve) => silent.once('connect', () => resolve()))
    const running = ask(busy, '/slow')
    await eventually(running.text, (text) => text === 'the first half, ')
    vi.useFakeTimers({ toFake: ['setTimeout'] })
    const stopped = drain(server)
    vi.advanceTimersByTime(30_900)
    expect([silent.destroyed, busy.destroyed]).toEqual([false, false])
    vi.advanceTimersByTime(100)
    vi.useRealTimers()
    await stopped
    await running.over
    expect(running.text()).toBe('the first half, ')
    await eventually(
      () => silent.destroyed && busy.destroyed,
      (isOver) => isOver,
    )
  })
})

it.each<[string, readonly unknown[], RegExp]>([
  ['the application instead of the server', [() => {}], /the server that app\.listen\(\) returns/],
  ['no server', [undefined], /the server that app\.listen\(\) returns/],
  ['a list of paywalls', [createServer(), [{ close: () => {} }]], /must be paywalls: drain\(server, paid\)/],
])('explains the problem of %s', async (_name, given, why) => {
  await expect(drain(...(given as Parameters<typeof drain>))).rejects.toThrow(why)
})
