/** Webhooks over every ledger: what becomes of a payment reaches the receiver, once for each server that could tell it. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createMeter } from '../../src/core/observability/metrics.ts'
import type { Ledger } from '../../src/core/ports/ledger.ts'
import { ledgerEventKinds } from '../../src/core/ports/outbox.ts'
import { nameWebhook } from '../../src/core/ports/webhooks.ts'
import { createWebhookPoster } from '../../src/host/net/signed-webhooks.ts'
import { startWebhooks } from '../../src/workers/webhooks.ts'
import { createReceiver, type Receiver } from '../harness/events.ts'
import { useDesk } from '../ledger/grants-fixture.ts'
import { createPayment, takeOf } from '../ledger/payments.ts'
import { stores } from '../ledger/stores.ts'

const secrets = ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw']

describe.each(stores)('webhooks on the %s ledger', (_name, open) => {
  const events = useDesk(open)
  let receiver: Receiver
  let closers: (() => Promise<void>)[]
  beforeEach(async () => {
    receiver = await createReceiver()
    closers = [receiver.close]
  })
  afterEach(async () => {
    for (const close of closers.reverse()) await close()
  })

  const server = ({ events: notices, books }: Ledger) => {
    if (!notices || !books) throw new Error('this ledger tells nobody')
    const poster = createWebhookPoster({ network: 'localnet' })
    const worker = startWebhooks({
      notices,
      books,
      webhooks: ['/a', '/b'].map((path) => {
        const url = `${receiver.url}${path}`
        return { name: nameWebhook(url), url, secrets, events: ledgerEventKinds, allowPrivate: false }
      }),
      post: poster.post,
      describe: ({ endpoint, state, units }) => ({ endpoint, state, units: String(units) }),
      clock: events.clock,
      log: { info: () => {}, warn: () => {}, error: () => {} },
      meter: createMeter(),
    })
    closers.push(poster.close, worker.stop)
    return worker
  }
  const told = (path: string) =>
    receiver.received
      .filter((one) => one.path === path)
      .map(({ body }) => JSON.parse(body) as { readonly type: string; readonly data: object })

  it('tell of a payment as it goes, on several servers, each address once', async () => {
    const servers = [server(events.ledger), server(events.ledger)]
    const run = () => Promise.all(servers.map((one) => one.run()))
    await run()
    const payment = createPayment()
    await events.grantOf(takeOf(payment))
    await run()
    await run()
    const data = { endpoint: '/api/data', state: 'confirmed', units: '10000' }
    expect(told('/a')).toMatchObject([{ type: 'payment.confirmed', data }])
    expect(told('/b')).toMatchObject([{ type: 'payment.confirmed', data }])
    await events.ledger.journal?.conclude([{ tx: payment.tx, finality: 'reverted' }])
    await run()
    await run()
    expect(told('/a').map(({ type }) => type)).toEqual(['payment.confirmed', 'payment.reverted'])
    expect(told('/b')[1]).toMatchObject({ data: { state: 'reverted' } })
  })

  it('report expired payments', async () => {
    const worker = server(events.ledger)
    await worker.run()
    const payment = createPayment({ usableUntil: events.clock.now() + 60_000 })
    await events.use(takeOf(payment), 'not_started')
    events.clock.advance(90_000)
    await worker.run()
    expect(
      told('/a')
        .map(({ type }) => type)
        .toSorted(),
    ).toEqual(['payment.confirmed', 'payment.undelivered'])
  })
})
