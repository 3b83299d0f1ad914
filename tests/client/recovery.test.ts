/** 1K: what happens after the money has left. Whatever breaks, the same proof is shown again and nothing is paid twice. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { JournalError } from '../../src/client/errors.ts'
import { fetchWith402 } from '../../src/client/index.ts'
import { openFileJournal } from '../../src/client/journal/file.ts'
import { createMemoryJournal, type Journal } from '../../src/client/journal/journal.ts'
import type { ClientEvent, ClientOptions } from '../../src/client/options.ts'
import type { Shop } from '../harness/shop.ts'
import { serveNode } from '../harness/shop-fixture.ts'
import { buy, type ClientFixture, challengeFor, createClientFixture, expectError, hasProof } from './client-fixture.ts'

let fixture: ClientFixture
let shop: Shop
let breaks = 0
let missing = 0

beforeAll(async () => {
  fixture = await createClientFixture()
  shop = await fixture.open({ waitSeconds: 5 }, serveNode, (target) => ({
    status: target === '/late' && missing-- > 0 ? 404 : 200,
    body: target === '/breaks' && breaks-- > 0 ? half() : 'the secret',
  }))
})
beforeEach(async () => {
  await fixture.received()
})
afterAll(() => fixture.close())

async function* half(): AsyncGenerator<Uint8Array> {
  yield Buffer.from('the ')
  // Long enough for the first half to leave.
  await new Promise((resolve) => setTimeout(resolve, 20))
  throw new Error('the server broke')
}

describe('a resource that says 4xx', () => {
  it('has given the payment back, and the next call uses it', async () => {
    missing = 1
    const options = fixture.options({ journal: newJournal() })
    const first = await fetchWith402(`${shop.url}/late`, options)
    expect([first.status, await first.text()]).toEqual([404, 'the secret'])
    const second = await fetchWith402(`${shop.url}/late`, options)
    expect([second.status, await second.text()]).toEqual([200, 'the secret'])
    expect(await fixture.received()).toBe(1)
  })

  it('T231: has given the payment back although the caller does not read the body of the error', async () => {
    missing = 1
    const options = fixture.options({ journal: newJournal() })
    expect((await fetchWith402(`${shop.url}/late`, options)).status).toBe(404)
    const second = await fetchWith402(`${shop.url}/late`, options)
    expect([second.status, await second.text()]).toEqual([200, 'the secret'])
    expect(await fixture.received()).toBe(1)
  })
})

const newJournal = () => openFileJournal(join(fixture.directory, `${crypto.randomUUID()}.sqlite`))

describe('T159: a server that has the proof and', () => {
  const rows: readonly [string, (request: IncomingMessage, response: ServerResponse) => void][] = [
    ['breaks', (_request, response) => response.writeHead(500).end('broken')],
    ['is behind a gateway that cannot reach it', (_request, response) => response.writeHead(502).end('<html>')],
    ['is overloaded', (_request, response) => response.writeHead(503, { 'retry-after': '0' }).end()],
    ['is too slow for its gateway', (_request, response) => response.writeHead(504).end()],
    ['has had enough of us', (_request, response) => response.writeHead(429).end()],
    ['resets the connection', (request) => request.socket.resetAndDestroy()],
    ['hangs', () => {}],
    [
      'asks for money again',
      (request, response) =>
        response
          .writeHead(402, { 'content-type': 'application/json' })
          .end(challengeFor(fixture, `http://${request.headers.host}/data`)),
    ],
    [
      'says something retryable',
      (_request, response) =>
        response
          .writeHead(503, { 'content-type': 'application/problem+json' })
          .end('{"type":"urn:paystile:problem:chain_unavailable","code":"chain_unavailable","retryable":true}'),
    ],
  ]

  it.each(rows)('%s: the same proof again, and no second payment', async (name, fail) => {
    const times = name === 'hangs' ? 1 : 2
    const shown: string[] = []
    const front = await fixture.front(shop.url, (request, response) => {
      if (!hasProof(request)) return false
      shown.push(String(request.headers['payment-proof']))
      if (shown.length > times) return false
      fail(request, response)
      return true
    })
    // Only a request that hangs has to be over soon.
    const options = fixture.options(name === 'hangs' ? { timeoutMs: 2_000 } : {})
    const { text, events } = await buy(`${front}/data`, options)
    expect(text).toBe('the secret')
    expect(events.filter((event) => event.kind === 'retrying')).toHaveLength(times)
    expect(new Set(shown).size).toBe(1)
    expect(await fixture.received()).toBe(1)
  })

  it('never gives the resource: the error holds the proof, and the next call uses it', async () => {
    let down = true
    const front = await fixture.front(shop.url, (request, response) => {
      if (!down || !hasProof(request)) return false
      response.writeHead(500).end()
      return true
    })
    const options = fixture.options({ journal: newJournal(), timeoutMs: 1_000 })
    const error = await expectError(fetchWith402(`${front}/data`, options), 'paid_not_delivered', /Call again/)
    expect(error.facts.proof).toContain(`tx=${error.facts.tx}; requestId=${error.facts.requestId}`)
    await expectError(fetchWith402(`${front}/data`, options), 'paid_not_delivered')
    down = false
    expect(await (await fetchWith402(`${front}/other`, options)).text()).toBe('the secret')
    expect(await fixture.received()).toBe(2)
    const { text, events } = await buy(`${front}/data`, options)
    expect([text, events[0]]).toEqual([
      'the secret',
      { kind: 'resumed', tx: error.facts.tx, requestId: error.facts.requestId },
    ])
    expect(await fixture.received()).toBe(0)
  })

  it('comes back when no node can be reached: a payment that landed needs none', async () => {
    let down = true
    const front = await fixture.front(shop.url, (request, response) => {
      if (!down || !hasProof(request)) return false
      response.writeHead(500).end()
      return true
    })
    const options = fixture.options({ journal: newJournal(), timeoutMs: 1_000 })
    await expectError(fetchWith402(`${front}/data`, options), 'paid_not_delivered')
    down = false
    expect((await buy(`${front}/data`, { ...options, rpc: 'http://127.0.0.1:1' })).text).toBe('the secret')
    expect(await fixture.received()).toBe(1)
  })

  it('breaks off in the middle of the resource: reading fails, and the next call uses the same payment', async () => {
    breaks = 2
    const options = fixture.options({ journal: newJournal() })
    for (let time = 0; time < 2; time += 1) {
      const response = await fetchWith402(`${shop.url}/breaks`, options)
      expect([response.status, response.url]).toEqual([200, `${shop.url}/breaks`])
      await expect(response.text()).rejects.toThrow()
    }
    expect((await buy(`${shop.url}/breaks`, options)).text).toBe('the secret')
    expect(await fixture.received()).toBe(1)
    expect((await buy(`${shop.url}/breaks`, options)).events[0]?.kind).toBe('paying')
    expect(await fixture.received()).toBe(1)
  })

  it('sent the resource to a gateway that lost it: the payment is used, and is not made again unasked', async () => {
    let lost = 0
    const front = await fixture.front(shop.url, (request, _response, pass) => {
      if (!hasProof(request) || lost > 0) return false
      lost += 1
      pass((answer) => void answer.resume().on('end', () => request.socket.resetAndDestroy()))
      return true
    })
    const error = await expectError(
      fetchWith402(`${front}/data`, fixture.options({ timeoutMs: 2_000 })),
      'payment_refused',
    )
    expect(error.facts).toMatchObject({ refusal: 'payment_replay', status: 409 })
    expect(await fixture.received()).toBe(1)
  })

  it('refuses for good: the error says why, and holds the proof', async () => {
    const front = await fixture.front(shop.url, (request, response) => {
      if (!hasProof(request)) return false
      const body = {
        type: 'urn:paystile:problem:underpaid',
        code: 'underpaid',
        retryable: false,
        detail: 'Too little.',
      }
      response.writeHead(403, { 'content-type': 'application/problem+json' }).end(JSON.stringify(body))
      return true
    })
    const error = await expectError(
      fetchWith402(`${front}/data`, fixture.options()),
      'payment_refused',
      /Too little.* the next call makes a new payment/,
    )
    expect(error.facts).toMatchObject({ refusal: 'underpaid', status: 403, proof: expect.stringContaining('tx=') })
    expect(await fixture.received()).toBe(1)
  })

  it('has an error of its own that looks like ours: it is the answer, and the caller gets it', async () => {
    const own = JSON.stringify({ type: 'about:blank', code: 'no_such_city', retryable: false })
    const front = await fixture.front(shop.url, (request, response) => {
      if (hasProof(request)) response.writeHead(422, { 'content-type': 'application/problem+json' }).end(own)
      return hasProof(request)
    })
    const response = await fetchWith402(`${front}/data`, fixture.options())
    expect([response.status, await response.text()]).toEqual([422, own])
    expect(await fixture.received()).toBe(1)
  })

  it('delivers although the disk became full after the payment was sent', async () => {
    const journal = createMemoryJournal()
    const full: Journal = {
      ...journal,
      change: async (requestId, change) => {
        if (change.state !== 'signed') throw new JournalError('The disk is full.')
        await journal.change(requestId, change)
      },
    }
    const { text } = await buy(`${shop.url}/data`, fixture.options({ journal: full }))
    expect(text).toBe('the secret')
    expect(await fixture.received()).toBe(1)
  })

  it('is reached by a redirect: the next call shows the proof where it belongs', async () => {
    let down = true
    const front = await fixture.front(shop.url, (request, response) => {
      if (request.url === '/latest') response.writeHead(302, { location: '/data' }).end()
      else if (down && hasProof(request)) response.writeHead(500).end()
      else return false
      return true
    })
    const options = fixture.options({ journal: newJournal(), timeoutMs: 1_000 })
    await expectError(fetchWith402(`${front}/latest`, options), 'paid_not_delivered')
    down = false
    expect((await buy(`${front}/latest`, options)).text).toBe('the secret')
    expect(await fixture.received()).toBe(1)
  })
})

/** A process that dies at a step of the journal: nothing after it is written. */
function dying(journal: Journal, step: string): Journal {
  let dead = false
  const guard = <Result>(name: string, work: () => Promise<Result>): Promise<Result> => {
    const die = () => {
      dead = true
      throw new Error(`died ${step}`)
    }
    if (dead || step === `before ${name}`) return Promise.resolve().then(die)
    return work().then((result) => (step === `after ${name}` ? die() : result))
  }
  return {
    ...journal,
    reserve: (intent, limits) => guard('reserve', () => journal.reserve(intent, limits)),
    change: (id, change) => guard(change.state ?? 'change', () => journal.change(id, change)),
    adopt: (key) => guard('adopt', () => journal.adopt(key)),
    release: (id) => guard('release', () => journal.release(id)),
  }
}

describe('T159: a process that dies', () => {
  it.each([
    ['before reserve', 0],
    ['after reserve', 0],
    ['before signed', 0],
    ['after signed', 0],
    ['before landed', 1],
    ['after landed', 1],
  ])('%s of a payment: the next one goes on, and one payment is made in all', async (step, sofar) => {
    const path = join(fixture.directory, `${crypto.randomUUID()}.sqlite`)
    const options = (journal: Journal): ClientOptions =>
      fixture.options({ journal, budget: { perDay: { USDC: '0.02' } } })
    const died = fetchWith402(`${shop.url}/data`, options(dying(openFileJournal(path), step)))
    await expect(died).rejects.toThrow(`died ${step}`)
    expect(await fixture.received()).toBe(sofar)
    expect((await buy(`${shop.url}/data`, options(openFileJournal(path)))).text).toBe('the secret')
    expect(await fixture.received()).toBe(1 - sofar)
  })

  it.each([
    ['before done', 'resumed'],
    ['after done', 'paying'],
  ])('%s: the resource is there all the same, and the next one buys its own', async (step, next) => {
    const path = join(fixture.directory, `${crypto.randomUUID()}.sqlite`)
    const options = fixture.options({ journal: dying(openFileJournal(path), step) })
    expect((await buy(`${shop.url}/data`, options)).text).toBe('the secret')
    expect(await fixture.received()).toBe(1)
    const { text, events } = await buy(`${shop.url}/data`, fixture.options({ journal: openFileJournal(path) }))
    expect([text, events[0]?.kind]).toEqual(['the secret', next])
    expect(await fixture.received()).toBe(1)
  })
})

it('T159: a resource that the caller did not want to the end can be asked for again', async () => {
  const options = fixture.options({ journal: newJournal() })
  await (await fetchWith402(`${shop.url}/data`, options)).body?.cancel()
  const { text, events } = await buy(`${shop.url}/data`, options)
  expect([text, events[0]?.kind]).toEqual(['the secret', 'resumed'])
})

it('a payment that is bound to a header is kept for the request with that header, after any other purchase', async () => {
  const models = await fixture.open(
    {
      waitSeconds: 5,
      price: ({ header }) => (header('x-model') === 'large' ? 0.02 : 0.01),
      bind: { headers: ['x-model'] },
    },
    serveNode,
  )
  let isDown = true
  const url = await fixture.front(models.url, (request, response) => {
    if (!isDown || !hasProof(request)) return false
    response.writeHead(503).end()
    return true
  })
  const options = fixture.options({ journal: newJournal(), timeoutMs: 1_000 })
  const ask = (model: string) => fetchWith402(url, { headers: { 'X-Model': model } }, options)
  await expectError(ask('small'), 'paid_not_delivered')
  expect(await fixture.received()).toBe(1)
  isDown = false
  expect(await (await ask('large')).text()).toBe('the secret')
  expect(await fixture.received()).toBe(2)
  expect(await (await ask('small')).text()).toBe('the secret')
  expect(await fixture.received()).toBe(0)
})

describe('T62: a payment that a fork drops after its confirmation', () => {
  let world: ClientFixture
  beforeAll(async () => {
    // So that the payment is not final before it is dropped.
    world = await createClientFixture({ slotMs: 200 })
  })
  afterAll(() => world.close())

  /** Drops the slot of a transaction, and all slots after it. */
  async function drop(tx: string): Promise<readonly string[]> {
    const { rpc, localnet } = world.world
    const [status] = (await rpc<{ value: { slot: number }[] }>('getSignatureStatuses', [[tx]])).value
    const now = await rpc<number>('getSlot', [{ commitment: 'processed' }])
    return localnet.rollback(now - (status?.slot ?? now) + 1)
  }

  it.each([
    ['is sent again while it can land', 1, []],
    ['is replaced once it can no longer land', 500, ['paying']],
  ])('%s, at the call after the one that the server refused', async (_name, slots, expected) => {
    const shop = await world.open({ waitSeconds: 0 })
    let isDropped = false
    const front = await world.front(shop.url, (request, response, pass) => {
      const [, tx] = /tx=([^;]+)/.exec(String(request.headers['payment-proof'])) ?? []
      if (tx === undefined || isDropped) return false
      isDropped = true
      drop(tx).then(
        () => {
          world.world.localnet.advanceSlots(slots)
          pass()
        },
        () => response.destroy(),
      )
      return true
    })
    const options = world.options({ journal: createMemoryJournal(), timeoutMs: 2_000 })
    await world.received()
    const { facts } = await expectError(fetchWith402(`${front}/data`, options), 'paid_not_delivered', /tx_not_found/)
    expect(await world.received()).toBe(0)
    const { text, events } = await buy(`${front}/data`, { ...options, timeoutMs: 10_000 })
    expect(text).toBe('the secret')
    expect(events[0]).toMatchObject({ kind: 'resumed', tx: facts.tx })
    expect(events.map(({ kind }) => kind).filter((kind) => kind === 'paying')).toEqual(expected)
    expect(await world.received()).toBe(1)
  })

  it('T196: is not replaced if it failed on the fork, because it lands on the other one', async () => {
    const { localnet, rpc, transfer, send, person } = world.world
    const shop = await world.open({ waitSeconds: 5 })
    const [payer, other] = [await person(), await person()]
    let [wire, before]: [unknown, number] = ['', 0]
    localnet.faults.intercept((method, params, answer) => {
      if (method === 'sendTransaction' && wire === '') [wire] = params as readonly unknown[]
      return answer
    })
    const wait = localnet.faults.add({ methods: ['sendTransaction'], delaySlots: 5 })
    const options = world.options({ wallet: payer, journal: createMemoryJournal(), timeoutMs: 3_000 })
    let spent: Promise<string> | undefined
    // On the first fork, another payment takes the money before it.
    const onEvent = ({ kind }: ClientEvent): void => {
      if (kind !== 'sent') return
      wait()
      before = localnet.slot()
      spent ??= transfer(payer, other.address, 'USDC', 1_000_000_000n).then((one) => send([one], payer))
    }
    await world.received()
    await expectError(fetchWith402(`${shop.url}/data`, { ...options, onEvent }), 'payment_unknown')
    await spent
    expect(localnet.rollback(localnet.slot() - before + 1)).toHaveLength(2)
    await rpc('sendTransaction', [wire, { encoding: 'base64', skipPreflight: true }])
    localnet.advanceSlots(2)
    expect((await buy(`${shop.url}/data`, { ...options, timeoutMs: 10_000 })).text).toBe('the secret')
    expect(await world.received()).toBe(1)
  })
})
