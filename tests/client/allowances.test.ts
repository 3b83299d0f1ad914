/** What is bought for more than one request: bundles, windows and bytes ahead, used to their end before more is bought. */
import { type IncomingHttpHeaders, request, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { sha256 } from '@noble/hashes/sha2.js'
import { DatabaseSync } from '@photostructure/sqlite'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { fetchTransport } from '../../src/chain/rpc/fetch-transport.ts'
import { JournalError, PaymentError } from '../../src/client/errors.ts'
import { createFetchWith402 } from '../../src/client/fetch.ts'
import { fetchWith402 } from '../../src/client/index.ts'
import { openFileJournal } from '../../src/client/journal/file.ts'
import { createMemoryJournal, type Journal } from '../../src/client/journal/journal.ts'
import { createNodes } from '../../src/client/nodes.ts'
import type { ClientEvent, ClientOptions } from '../../src/client/options.ts'
import { digest } from '../../src/client/request/paid-request.ts'
import { encodeBase64url } from '../../src/core/encoding/base64url.ts'
import type { ProviderOptions } from '../../src/paywall/config/options.ts'
import type { Handler } from '../harness/adapters.ts'
import { eventually, type Shop } from '../harness/shop.ts'
import { serveNode } from '../harness/shop-fixture.ts'
import { buy, type ClientFixture, challengeFor, createClientFixture, expectError, hasProof } from './client-fixture.ts'
import { createVolume, readToTheEnd, serveVolume, type Volume } from './library.ts'

let fixture: ClientFixture

beforeAll(async () => {
  fixture = await createClientFixture()
})
beforeEach(async () => {
  await fixture.received()
})
afterAll(() => fixture.close())

let shops = 0
const open = (per: ProviderOptions['per'], more: Partial<ProviderOptions> = {}, handler?: Handler): Promise<Shop> => {
  shops += 1
  return fixture.open(
    { waitSeconds: 5, scope: `shop-${shops}`, ...(per && { per }), ...more } as ProviderOptions,
    serveNode,
    handler,
  )
}
const newJournal = () => openFileJournal(join(fixture.directory, `${crypto.randomUUID()}.sqlite`))
const kindsOf = (events: readonly ClientEvent[]) => events.map(({ kind }) => kind)
const leftOf = (events: readonly ClientEvent[]) =>
  events.flatMap((event) => (event.kind === 'delivered' ? [event.allowance] : []))
const challengesOf = (shop: Shop) => shop.events.filter(({ kind }) => kind === 'challenged').length
const refusalsOf = (shop: Shop) => shop.events.flatMap((event) => (event.kind === 'refused' ? [event.code] : []))

it('a bundle is used although the disk became full after the payment was sent', async () => {
  const shop = await open({ requests: 3 })
  const journal = createMemoryJournal()
  const fail = () => Promise.reject(new JournalError('The disk is full.'))
  const full: Journal = {
    ...journal,
    ...{ release: fail, begin: fail, end: fail, passTurn: fail },
    change: (requestId, change) => (change.state === 'signed' ? journal.change(requestId, change) : fail()),
  }
  const { text } = await buy(`${shop.url}/data`, fixture.options({ journal: full }))
  expect([text, await fixture.received()]).toEqual(['the secret', 1])
})

describe.each([
  ['in memory', () => createMemoryJournal()],
  ['in a file', newJournal],
])('a bundle, with the journal %s,', (_name, journalOf) => {
  it('is used to its end before the next is bought, and asked for only once', async () => {
    const shop = await open({ requests: 3 })
    const options = fixture.options({ journal: journalOf() })
    const first = await buy(`${shop.url}/data?1`, options)
    expect(first.events[0]).toMatchObject({ kind: 'paying', allowance: { unit: 'request', amount: 3 } })
    expect(leftOf(first.events)).toEqual([{ unit: 'request', remaining: 2, until: expect.any(String) }])
    for (const remaining of [1, 0]) {
      const { text, events } = await buy(`${shop.url}/data?${remaining}`, options)
      expect([text, kindsOf(events), leftOf(events)]).toEqual([
        'the secret',
        ['resumed', 'delivered'],
        [expect.objectContaining({ remaining })],
      ])
    }
    expect([await fixture.received(), challengesOf(shop)]).toEqual([1, 1])
    // What is known to be used up is not tried.
    expect(kindsOf((await buy(`${shop.url}/data`, options)).events)[0]).toBe('paying')
    expect([await fixture.received(), challengesOf(shop), refusalsOf(shop)]).toEqual([1, 2, []])
  })

  it('is bought once by calls that come together, and the next by one of those that are left over', async () => {
    const shop = await open({ requests: 4 })
    const options = fixture.options({ journal: journalOf(), timeoutMs: 30_000 })
    const calls = Array.from({ length: 9 }, (_, index) => buy(`${shop.url}/data?${index}`, options))
    const texts = (await Promise.all(calls)).map(({ text }) => text)
    expect([new Set(texts), await fixture.received()]).toEqual([new Set(['the secret']), 3])
  })

  it('loses nothing to an answer that broke off', async () => {
    let breaks = 0
    const shop = await open({ requests: 2 }, {}, () => ({ body: breaks-- > 0 ? half() : 'the secret' }))
    const options = fixture.options({ journal: journalOf() })
    expect((await buy(`${shop.url}/data`, options)).text).toBe('the secret')
    breaks = 1
    // It said that none is left after it. Now there is one again.
    const broken = await fetchWith402(`${shop.url}/data`, options)
    expect((await readToTheEnd(broken)).error).toBeInstanceOf(TypeError)
    expect((await buy(`${shop.url}/data`, options)).text).toBe('the secret')
    expect(await fixture.received()).toBe(1)
  })
})

async function* half(): AsyncGenerator<Uint8Array> {
  yield Buffer.from('the ')
  // Long enough for the first half to leave.
  await new Promise((resolve) => setTimeout(resolve, 20))
  throw new Error('the server broke')
}

describe('a bundle', () => {
  it('of which the rest is being used is waited for', async () => {
    const handler = new Map<string, () => void>()
    const until = (name: string) => new Promise<void>((resolve) => handler.set(name, resolve))
    const [isCalled, mayAnswer] = [until('called'), until('answer')]
    const shop = await open({ requests: 2 }, {}, async (target) => {
      if (target !== '/slow') return { body: 'fast' }
      handler.get('called')?.()
      await mayAnswer
      return { body: 'slow' }
    })
    const options = fixture.options()
    expect((await buy(`${shop.url}/data`, options)).text).toBe('fast')
    const slow = buy(`${shop.url}/slow`, options)
    await isCalled
    const reason = until('retried')
    const retrying = (event: ClientEvent) => event.kind === 'retrying' && handler.get(event.reason)?.()
    handler.set('payment_in_progress', handler.get('retried') as () => void)
    const third = fetchWith402(`${shop.url}/data`, { ...options, onEvent: retrying })
    await reason
    expect(await fixture.received()).toBe(1)
    handler.get('answer')?.()
    expect([(await slow).text, await (await third).text(), await fixture.received()]).toEqual(['slow', 'fast', 1])
  })

  it('is not found by a process of an earlier version, which would use it once and write it off', async () => {
    const shop = await open({ requests: 3 })
    const path = join(fixture.directory, `${crypto.randomUUID()}.sqlite`)
    const url = `${shop.url}/data`
    await buy(url, fixture.options({ journal: openFileJournal(path) }))
    const key = digest(['GET', url, encodeBase64url(sha256(new Uint8Array())), fixture.payer.address])
    const database = new DatabaseSync(path)
    const old = database.prepare("select * from intents where key = ? and state in ('signed', 'landed')")
    expect(old.all(key)).toEqual([])
    // As it is for what is bought for one request.
    const single = await open(undefined)
    await fetchWith402(`${single.url}/data`, fixture.options({ journal: openFileJournal(path) }))
    expect(
      old.all(digest(['GET', `${single.url}/data`, encodeBase64url(sha256(new Uint8Array())), fixture.payer.address])),
    ).toHaveLength(1)
    database.close()
  })

  it('is for its wallet, its origin and its scope', async () => {
    const [one, other] = await Promise.all([open({ requests: 5 }), open({ requests: 5 })])
    const options = fixture.options()
    await buy(`${one.url}/data`, options)
    await buy(`${other.url}/data`, options)
    await buy(`${one.url}/data`, { ...options, wallet: await fixture.world.person() })
    expect(await fixture.received()).toBe(3)
    await buy(`${one.url}/other`, options)
    await buy(`${other.url}/other`, options)
    expect(await fixture.received()).toBe(0)
  })

  it('without a scope is for its path, and another path is asked about', async () => {
    const shop = await fixture.open({ waitSeconds: 5, per: { requests: 5 } })
    const options = fixture.options()
    for (const path of ['/a', '/b', '/a?x', '/b?y']) await buy(`${shop.url}${path}`, options)
    expect([await fixture.received(), challengesOf(shop), refusalsOf(shop)]).toEqual([2, 2, []])
  })

  it('is kept when the address turns out to belong to something else', async () => {
    const [one, other] = await Promise.all([
      open({ requests: 5 }),
      open({ requests: 5 }, { secret: `1:${'x'.repeat(40)}`, service: 'other' }),
    ])
    let current = one
    const front = await fixture.front(one.url, (asked, response) => {
      if (current === one) return false
      relay(`${other.url}${asked.url}`, asked.headers, response)
      return true
    })
    const options = fixture.options()
    await buy(`${front}/data`, options)
    current = other
    await buy(`${front}/data`, options)
    expect([await fixture.received(), refusalsOf(other)]).toEqual([2, ['unknown_request']])
    current = one
    const { events } = await buy(`${front}/data`, options)
    expect([await fixture.received(), refusalsOf(one), leftOf(events)]).toEqual([
      0,
      ['unknown_request'],
      [expect.objectContaining({ remaining: 3 })],
    ])
  })

  it('is not shown again where it was not wanted', async () => {
    const [one, other] = await Promise.all([
      open({ requests: 5 }),
      open({ requests: 5 }, { secret: `1:${'y'.repeat(40)}`, service: 'third' }),
    ])
    let current = one
    const front = await fixture.front(one.url, (asked, response) => {
      if (current === one) return false
      relay(`${other.url}${asked.url}`, asked.headers, response)
      return true
    })
    const options = fixture.options()
    await buy(`${front}/data`, options)
    current = other
    const declining = { ...options, approve: () => false }
    for (let call = 0; call < 2; call += 1) await expectError(fetchWith402(`${front}/data`, declining), 'declined')
    expect(refusalsOf(other)).toEqual(['unknown_request'])
  })

  it('of a server with a wrong clock is used all the same', async () => {
    const shop = await open({ requests: 5 })
    const dayMs = 86_400_000
    const shift = (text: string) => new Date(Date.parse(text) - 40 * dayMs)
    const front = await fixture.front(shop.url, (_asked, response, pass) => {
      pass((answer) => {
        const headers: IncomingHttpHeaders = { ...answer.headers, date: shift(answer.headers.date ?? '').toUTCString() }
        const left = headers['payment-allowance']
        if (typeof left === 'string')
          headers['payment-allowance'] = left.replace(
            /until=(.*)$/,
            (_all, until) => `until=${shift(until).toISOString()}`,
          )
        response.writeHead(answer.statusCode ?? 500, headers)
        answer.pipe(response)
      })
      return true
    })
    const options = fixture.options()
    for (let call = 0; call < 3; call += 1) await buy(`${front}/data`, options)
    expect(await fixture.received()).toBe(1)
  })

  it('that a server takes for used up at once is paid for once a call, and no more', async () => {
    const thief = await fixture.host((request, response) => {
      const url = `http://${request.headers.host}${request.url}`
      const allowance = { unit: 'request', amount: '100' }
      if (!hasProof(request))
        return response.writeHead(402).end(challengeFor(fixture, url, { allowance, scope: 'trap', proof: [] }))
      const body = { type: 'urn:paystile:problem:payment_replay', code: 'payment_replay', retryable: false }
      return response.writeHead(409, { 'content-type': 'application/problem+json' }).end(JSON.stringify(body))
    })
    const options = fixture.options()
    const calls = Array.from({ length: 3 }, () => fetchWith402(thief, options))
    await Promise.all(calls.map((call) => expectError(call, 'payment_refused', /already used up/)))
    expect(await fixture.received()).toBe(3)
  })

  it('is not bought by waiting calls when the buyer declines for all', async () => {
    const shop = await open({ requests: 4 })
    let asked = 0
    const approve = () => {
      asked += 1
      return false
    }
    const options = fixture.options({ approve })
    const calls = Array.from({ length: 3 }, () => fetchWith402(`${shop.url}/data`, options))
    await Promise.all(calls.map((call) => expectError(call, 'declined')))
    expect([asked, await fixture.received()]).toEqual([3, 0])
  })

  it('is awaited for timeoutMs at most, and not at all after an abort', async () => {
    const shop = await open({ requests: 4 })
    let decide = (_yes: boolean) => {}
    const approve = () => new Promise<boolean>((resolve) => (decide = resolve))
    const options = fixture.options()
    const buyer = buy(`${shop.url}/data`, { ...options, approve })
    await new Promise((resolve) => setTimeout(resolve, 50))
    await expectError(
      fetchWith402(`${shop.url}/data`, { ...options, timeoutMs: 200 }),
      'payment_unknown',
      /Another call/,
    )
    const signal = AbortSignal.timeout(50)
    await expect(fetchWith402(`${shop.url}/data`, { ...options, signal })).rejects.toMatchObject({
      name: 'TimeoutError',
    })
    decide(true)
    expect([(await buyer).text, await fixture.received()]).toEqual(['the secret', 1])
  })
})

/** Hands a request on to another server than the front's own. */
function relay(url: string, headers: IncomingHttpHeaders, response: ServerResponse): void {
  const own = Object.entries(headers).filter(([name]) => name !== 'connection') as [string, string][]
  request(url, { headers: Object.fromEntries(own) }, (answer) => {
    response.writeHead(answer.statusCode ?? 500, answer.headers)
    answer.pipe(response)
  }).end()
}

describe('bytes ahead', () => {
  const perMegabyte = { per: 'megabyte', price: 0.1 } as const
  const sell = (volume: Volume, more: { readonly prepay?: number } = {}, together = 1) => {
    shops += 1
    const options = { waitSeconds: 5, scope: `shop-${shops}`, ...perMegabyte, ...more }
    return fixture.open(options, serveVolume(volume, together))
  }
  const options = (more: Partial<ClientOptions> = {}) => fixture.options({ prepayBytes: 100_000, ...more })

  it.each([
    ['known', false],
    ['not known', true],
  ])(
    'of which the length is %s end in an error after the last byte, and the rest is bought with Range',
    async (_name, isChunked) => {
      const volume = createVolume(60_000, { isChunked })
      const shop = await sell(volume)
      const own = options()
      expect((await readToTheEnd(await fetchWith402(`${shop.url}/a`, own))).bytes).toEqual(volume.bytes)
      const { bytes, error } = await readToTheEnd(await fetchWith402(`${shop.url}/b`, own))
      expect([bytes.equals(volume.bytes.subarray(0, 40_000)), await fixture.received()]).toEqual([true, 1])
      expect(error).toBeInstanceOf(PaymentError)
      expect(error).toMatchObject({
        code: 'allowance_exhausted',
        message: expect.stringMatching(/^The allowance ended at byte 40000.*Range: bytes=40000-/),
        facts: { offset: 40_000, ...(!isChunked && { size: 60_000 }) },
      })
      // Known to be used up, so it is not tried again.
      const rest = await fetchWith402(`${shop.url}/b`, { headers: { range: 'bytes=40000-' } }, own)
      expect([rest.status, (await readToTheEnd(rest)).bytes.equals(volume.bytes.subarray(40_000))]).toEqual([206, true])
      expect([await fixture.received(), refusalsOf(shop)]).toEqual([1, []])
    },
  )

  it('that a slow reader has not read when the connection breaks are not lost', async () => {
    const volume = createVolume(30_000, { isChunked: true })
    const shop = await sell(volume)
    const response = await fetchWith402(`${shop.url}/a`, options({ prepayBytes: 10_000 }))
    await new Promise((resolve) => setTimeout(resolve, 50))
    const { bytes, error } = await readToTheEnd(response)
    expect([bytes.equals(volume.bytes.subarray(0, 10_000)), (error as PaymentError).facts.offset]).toEqual([
      true,
      10_000,
    ])
  })

  it('are asked for as many as the caller says, and by default as the server does', async () => {
    const shop = await sell(createVolume(1_000), { prepay: 0.1 })
    expect((await buy(`${shop.url}/a`, fixture.options())).events[0]).toMatchObject({ allowance: { amount: 100_000 } })
    expect((await buy(`${shop.url}/a`, options({ prepayBytes: 300_000 }))).events[0]).toMatchObject({
      amount: '0.03',
      allowance: { unit: 'byte', amount: 300_000 },
    })
    for (const prepayBytes of [0, 1.5, -1, Number.NaN, 1e13])
      await expect(fetchWith402(shop.url, options({ prepayBytes }))).rejects.toThrow(
        /prepayBytes must be a whole number/,
      )
  })

  it('that are shared by parallel answers are bought once', async () => {
    const volume = createVolume(20_000)
    const shop = await sell(volume, {}, 4)
    const own = options({ journal: newJournal() })
    const answers = await Promise.all(
      Array.from({ length: 4 }, async (_, index) => readToTheEnd(await fetchWith402(`${shop.url}/${index}`, own))),
    )
    expect([answers.every(({ bytes }) => bytes.equals(volume.bytes)), await fixture.received()]).toEqual([true, 1])
  })
})

it('bytes ahead that are for one request only are used by the same request again', async () => {
  const shop = await open('megabyte', { price: () => 0.01, size: () => undefined })
  const options = fixture.options({ journal: newJournal() })
  for (let time = 0; time < 3; time += 1) expect((await buy(`${shop.url}/data`, options)).text).toBe('the secret')
  expect(await fixture.received()).toBe(1)
  expect((await buy(`${shop.url}/other`, options)).text).toBe('the secret')
  expect(await fixture.received()).toBe(1)
})

describe('a part that was not requested', () => {
  it.each([
    ['of a paid answer is not passed off as the whole', 'bytes 0-3/10', 'the ', 4],
    ['that says nothing of the whole is none either', 'bytes 0-3/*', 'the ', 4],
  ])('%s', async (_name, range, body, offset) => {
    const shop = await open(undefined, {}, () => ({ status: 206, headers: { 'content-range': range }, body }))
    const { bytes, error } = await readToTheEnd(await fetchWith402(`${shop.url}/data`, fixture.options()))
    expect([bytes.toString(), error]).toEqual([body, expect.objectContaining({ code: 'allowance_exhausted' })])
    expect((error as PaymentError).facts.offset).toBe(offset)
  })

  it('but is the whole, is the whole', async () => {
    const headers = { 'content-range': 'bytes 0-9/10' }
    const shop = await open(undefined, {}, () => ({ status: 206, headers, body: 'the secret' }))
    const response = await fetchWith402(`${shop.url}/data`, fixture.options())
    expect(await response.text()).toBe('the secret')
  })
})

describe.each([
  ['a window', { seconds: 3_600 }, 7_200_000],
  ['a bundle', { requests: 5 }, 40 * 86_400_000],
] as const)('%s', (_name, per, slowMs) => {
  it('T233: that was bought while the clock of the client was slow is used when the clock is right', async () => {
    const shop = await open(per)
    let isSlow = true
    const clock = { now: () => Date.now() - (isSlow ? slowMs : 0), monotonic: () => performance.now() }
    const nodes = createNodes({ transport: fetchTransport, findLocalnet: () => undefined })
    const [journal, options] = [newJournal(), fixture.options()]
    const { journal: _, ...rest } = options
    // Each buyer is a process of its own. The last one knows the scope.
    const newBuyer = () => createFetchWith402({ clock, nodes, journal: () => journal, defaultRpc: undefined })
    const read = async (buyer: ReturnType<typeof newBuyer>) => (await buyer(`${shop.url}/data`, rest)).text()
    expect(await read(newBuyer())).toBe('the secret')
    isSlow = false
    const buyer = newBuyer()
    for (let call = 0; call < 2; call += 1) expect(await read(buyer)).toBe('the secret')
    expect([await fixture.received(), challengesOf(shop)]).toEqual([1, 2])
  })
})

it('T238: a window of millions of years does not make the journal unreadable', async () => {
  const host = await fixture.host((request, response) => {
    const url = `http://${request.headers.host}${request.url}`
    if (!hasProof(request)) return response.writeHead(402).end(challengeFor(fixture, url))
    return response.writeHead(200, { 'payment-allowance': 'unit=second; remaining=999999999999999' }).end('ok')
  })
  const journal = newJournal()
  expect((await buy(host, fixture.options({ journal }))).text).toBe('ok')
  const [intent] = journal.latest(fixture.payer.address, 1)
  expect([intent?.remaining, journal.spentOn(intent?.day ?? '').length]).toEqual([999_999_999_999_999, 1])
  expect(await fixture.received()).toBe(1)
})

describe('a window', () => {
  it('is used by all until it is over, and then bought again', async () => {
    const shop = await open({ seconds: 3_600 })
    const journal = newJournal()
    const ends: number[] = []
    const change: typeof journal.change = (id, more) => {
      if (more.until !== undefined) ends.push(more.until)
      return journal.change(id, more)
    }
    const options = fixture.options({ journal: { ...journal, change } })
    await Promise.all(Array.from({ length: 5 }, () => buy(`${shop.url}/data`, options)))
    const { events } = await buy(`${shop.url}/data`, options)
    expect([await fixture.received(), kindsOf(events)]).toEqual([1, ['resumed', 'delivered']])
    expect(leftOf(events)[0]).toMatchObject({ unit: 'second', until: expect.any(String) })
    // Its end is noted once or so, by the clock of the shop, and not with every answer.
    expect([ends.length > 0, ends.length < 6]).toEqual([true, true])
    for (const end of ends) expect(Math.abs(end - Date.now() - 3_600_000)).toBeLessThan(10_000)
    fixture.world.localnet.advance(3_700)
    // The shop hears of the time that has passed in the background.
    const again = async () => kindsOf((await buy(`${shop.url}/data`, options)).events)
    expect(await eventually(again, (kinds) => kinds.includes('paying'))).toEqual([
      'resumed',
      ...['paying', 'sent', 'confirmed', 'delivered'],
    ])
    expect([await fixture.received(), refusalsOf(shop)]).toEqual([1, ['payment_replay']])
  })
})
