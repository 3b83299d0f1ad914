/** Webhooks from the notice to the receiver, over real sockets, with the time in the test's hand. */
import { Webhook as Verifier } from 'standardwebhooks'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createMeter } from '../../src/core/observability/metrics.ts'
import type { PaymentListItem } from '../../src/core/payment/history.ts'
import type { LedgerEventKind } from '../../src/core/ports/outbox.ts'
import { ledgerEventKinds } from '../../src/core/ports/outbox.ts'
import type { Webhook } from '../../src/core/ports/webhooks.ts'
import { nameWebhook } from '../../src/core/ports/webhooks.ts'
import type { Facts } from '../../src/core/runtime.ts'
import { createWebhookPoster } from '../../src/host/net/signed-webhooks.ts'
import { startWebhooks, type WebhooksParts, type WebhooksWorker } from '../../src/workers/webhooks.ts'
import { createFakeEvents, createReceiver, type FakeEvents, type Receiver } from '../harness/events.ts'

const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const older = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD'
const capture: PaymentListItem = {
  tx: new Uint8Array(64).fill(7),
  at: 1_700_000_000_000,
  request: 'hash of the requestId',
  payer: 'pseudonym',
  recipient: 'recipient',
  endpoint: '/api/weather',
  token: 'USDC',
  units: 10_000n,
  worth: 10_000_000_000n,
  status: 'confirmed',
  state: 'confirmed',
  delivery: 'all',
}

let now = 0
let events: FakeEvents
let lines: [string, Facts | undefined][]
let closers: (() => Promise<unknown>)[]

beforeEach(() => {
  now = 1_700_000_000_000
  lines = []
  closers = []
  events = createFakeEvents({ now: () => now, monotonic: () => now })
})
afterEach(async () => {
  for (const close of closers.reverse()) await close()
})

async function receiver(): Promise<Receiver> {
  const made = await createReceiver()
  closers.push(made.close)
  return made
}

function hook(url: string, changes: Partial<Webhook> = {}): Webhook {
  return { name: nameWebhook(url), url, secrets: [secret], events: ledgerEventKinds, allowPrivate: false, ...changes }
}

function start(webhooks: readonly Webhook[], changes: Partial<WebhooksParts> = {}, timeoutMs = 10_000): WebhooksWorker {
  const note = (event: string, facts?: Facts) => void lines.push([event, facts])
  const poster = createWebhookPoster({ network: 'localnet', timeoutMs })
  const worker = startWebhooks({
    notices: events,
    books: { findPayment: async () => capture },
    webhooks,
    post: poster.post,
    describe: ({ endpoint, token, state }) => ({ endpoint, token, state }),
    clock: { now: () => now, monotonic: () => now },
    log: { info: note, warn: note, error: note },
    meter: createMeter(),
    random: () => 0,
    graceMs: 20,
    ...changes,
  })
  closers.push(poster.close, worker.stop)
  return worker
}

const only = () => [...events.rows.values()][0]

describe('a message', () => {
  it('follows the specification, and its signature is valid for the secret', async () => {
    const { url, received } = await receiver()
    events.write('payment.confirmed')
    await start([hook(`${url}/hook?a=1`)]).run()
    const [{ path, headers, body } = { path: '', headers: {}, body: '' }] = received
    expect(path).toBe('/hook?a=1')
    expect(headers['content-type']).toBe('application/json')
    const data = { endpoint: '/api/weather', token: 'USDC', state: 'confirmed' }
    const message = { type: 'payment.confirmed', timestamp: '2023-11-14T22:13:20.000Z', data }
    expect(new Verifier(secret).verify(body, headers as Record<string, string>)).toEqual(message)
    expect(() => new Verifier(older).verify(body, headers as Record<string, string>)).toThrow('No matching signature')
    expect(headers['webhook-id']).toBe(only()?.id)
    expect(headers['webhook-id']).not.toContain('.')
    expect(only()?.state).toBe('told')
  })

  it('is signed with every secret while they are being replaced', async () => {
    const { url, received } = await receiver()
    events.write('payment.confirmed')
    await start([hook(url, { secrets: [secret, older] })]).run()
    for (const one of [secret, older]) {
      const { body = '', headers = {} } = received[0] ?? {}
      expect(new Verifier(one).verify(body, headers as Record<string, string>)).toMatchObject({
        data: { token: 'USDC' },
      })
    }
  })

  it('names the transaction when the books do not know the payment any more', async () => {
    const { url, received } = await receiver()
    events.write('payment.expired')
    await start([hook(url)], { books: { findPayment: async () => undefined } }).run()
    expect(JSON.parse(received[0]?.body ?? '')).toMatchObject({
      data: { tx: expect.stringMatching(/^[1-9A-Za-z]{80,}$/) },
    })
  })
})

describe('each receiver', () => {
  it('gets the events it asked for, once', async () => {
    const [all, some] = [await receiver(), await receiver()]
    for (const kind of ledgerEventKinds) events.write(kind)
    const worker = start([hook(all.url), hook(some.url, { events: ['payment.reverted'] })])
    await worker.run()
    await worker.run()
    const typesOf = ({ received }: Receiver) =>
      received.map(({ body }) => (JSON.parse(body) as { type: LedgerEventKind }).type)
    expect(typesOf(all).sort()).toEqual([...ledgerEventKinds].sort())
    expect(typesOf(some)).toEqual(['payment.reverted'])
  })

  it('is held up by no other: one is silent, the other has all of a hundred messages', async () => {
    const [quick, silent] = [await receiver(), await receiver()]
    silent.behave('silence')
    for (let count = 0; count < 100; count += 1) events.write('payment.confirmed')
    const stuck = hook(silent.url)
    const seen: number[] = []
    const poster = createWebhookPoster({ network: 'localnet' })
    closers.push(poster.close)
    const worker = start([stuck, hook(quick.url)], {
      post: async (webhook, message, signal) => {
        if (webhook !== stuck) return poster.post(webhook, message, signal)
        seen.push(quick.received.length)
        return new Promise((resolve) => {
          signal.addEventListener('abort', () => resolve({ kind: 'failed', why: 'aborted' }))
        })
      },
    })
    void worker.run()
    await expect.poll(() => quick.received.length, { interval: 5 }).toBe(100)
    expect(seen).toHaveLength(8)
  })
})

describe('a failure', () => {
  it.each<[string, Parameters<Receiver['behave']>[0], RegExp]>([
    ['a status of 500', { status: 500 }, /status 500/],
    ['T143: a redirect, which is not followed', { status: 307, headers: { location: '/elsewhere' } }, /status 307/],
    ['silence', 'silence', /did not respond in time/],
  ])('by %s is tried again five seconds later, under the same id', async (_name, manner, why) => {
    const other = await receiver()
    other.behave(manner)
    events.write('payment.confirmed')
    const worker = start([hook(other.url)], {}, manner === 'silence' ? 1_000 : undefined)
    await worker.run()
    expect(only()).toMatchObject({ state: 'waiting', attempts: 1, why: expect.stringMatching(why), due: now + 5_000 })
    await worker.run()
    expect(other.received).toHaveLength(1)
    other.behave({ status: 200 })
    now += 5_000
    await worker.run()
    expect(other.received).toHaveLength(2)
    expect(other.received[0]?.headers['webhook-id']).toBe(other.received[1]?.headers['webhook-id'])
    expect(other.received.map(({ path }) => path)).toEqual(['/', '/'])
    expect(only()?.state).toBe('told')
  })

  it('waits as long as it was asked to', async () => {
    const { url, behave } = await receiver()
    behave({ status: 503, headers: { 'retry-after': '90' } })
    events.write('payment.confirmed')
    await start([hook(url)]).run()
    expect(only()?.due).toBe(now + 90_000)
  })

  it('is given up after ten attempts, with an error that says how to send it by hand', async () => {
    const { url, received, behave } = await receiver()
    behave({ status: 500 })
    events.write('payment.confirmed')
    const worker = start([hook(url)])
    for (let attempt = 0; attempt < 12; attempt += 1) {
      await worker.run()
      now += 25 * 3_600_000
    }
    expect(received).toHaveLength(10)
    expect(only()).toMatchObject({ state: 'failed', attempts: 10 })
    expect(lines.at(-1)).toMatchObject(['webhook.failed', { next: `npx paystile webhooks resend ${only()?.id}` }])
    behave({ status: 200 })
    await events.resend(only()?.id ?? '')
    await worker.run()
    expect(only()?.state).toBe('told')
  })

  it('by 410 is the end: nothing more is sent there, and an error says so', async () => {
    const { url, received, behave } = await receiver()
    behave({ status: 410 })
    events.write('payment.confirmed')
    const worker = start([hook(url)])
    await worker.run()
    events.write('payment.finalized')
    await worker.run()
    expect(received).toHaveLength(1)
    expect([...events.rows.values()].map(({ state }) => state)).toEqual(['failed', 'waiting'])
    expect(lines.map(([event]) => event)).toEqual(['webhook.gone'])
  })

  it('names neither address nor secret', async () => {
    const { url, behave } = await receiver()
    behave({ status: 500 })
    events.write('payment.confirmed')
    await start([hook(`${url}/services/key`), hook('http://127.0.0.1:1/services/key')]).run()
    expect(lines).toHaveLength(2)
    expect(JSON.stringify([lines, [...events.rows.values()].map(({ why }) => why)])).not.toMatch(
      /services|127\.0|whsec/,
    )
  })
})

it('an answer that never ends is told all the same: the status counts, and no more than 64 KB are read', async () => {
  const { url, behave } = await receiver()
  behave('drip')
  events.write('payment.confirmed')
  await start([hook(url)], {}, 5_000).run()
  expect(only()?.state).toBe('told')
})

it.each(['http://169.254.169.254/latest/meta-data', 'http://[::ffff:169.254.169.254]/', 'http://[fe80::1]/'])(
  'T143: on no network is anything posted to %s',
  async (url) => {
    const poster = createWebhookPoster({ network: 'localnet' })
    closers.push(poster.close)
    const message = { id: 'n1', body: '{}' }
    const never = new AbortController().signal
    const why = 'its address is in a private network'
    expect(await poster.post(hook(url, { allowPrivate: true }), message, never)).toEqual({ kind: 'failed', why })
  },
)

it('T143: outside of localnet nothing is posted to this machine, under any name, unless it was allowed', async () => {
  const { url, received } = await receiver()
  const poster = createWebhookPoster({ network: 'mainnet' })
  closers.push(poster.close)
  const message = { id: 'n1', body: '{}' }
  const never = new AbortController().signal
  const port = new URL(url).port
  for (const host of ['127.0.0.1', 'localhost', '[::ffff:127.0.0.1]', '0x7f.1']) {
    const answer = await poster.post(hook(`http://${host}:${port}/`), message, never)
    expect(answer).toEqual({ kind: 'failed', why: 'its address is in a private network' })
  }
  expect(received).toHaveLength(0)
  const allowed = await poster.post(hook(url, { allowPrivate: true }), message, never)
  expect(allowed).toMatchObject({ kind: 'answered', status: 204 })
})

it('a worker that dies in the middle leaves its notice to another, which sends it under the same id', async () => {
  const { url, received } = await receiver()
  events.write('payment.confirmed')
  let first = ''
  const dying = start([hook(url)], {
    post: (_webhook, { id }, signal) => {
      first = id
      return new Promise((resolve) => signal.addEventListener('abort', () => resolve({ kind: 'failed', why: 'dead' })))
    },
  })
  void dying.run()
  await expect.poll(() => first, { interval: 5 }).not.toBe('')
  const other = start([hook(url)])
  await other.run()
  expect(received).toHaveLength(0)
  now += 60_000
  await other.run()
  expect(received.map(({ headers }) => headers['webhook-id'])).toEqual([first])
})

it('stops within its grace period: other servers repeat hanging messages, and nothing is recorded', async () => {
  const { url, behave } = await receiver()
  behave('silence')
  events.write('payment.confirmed')
  const worker = start([hook(url)], {}, 60_000)
  const running = worker.run()
  await expect.poll(() => only()?.target, { interval: 5 }).not.toBe('')
  await worker.stop()
  await running
  expect(only()).toMatchObject({ state: 'waiting', attempts: 0 })
})

it('counts delivered, delayed and failed messages', async () => {
  const { url, behave } = await receiver()
  const meter = createMeter()
  const worker = start([hook(url)], { meter })
  events.write('payment.confirmed')
  await worker.run()
  behave({ status: 500 })
  events.write('payment.confirmed')
  await worker.run()
  behave({ status: 410 })
  events.write('payment.confirmed')
  await worker.run()
  const lines = meter.format().split('\n')
  for (const outcome of ['told', 'delayed', 'failed']) {
    expect(lines).toContain(`paystile_webhooks_total{outcome="${outcome}"} 1`)
  }
})
