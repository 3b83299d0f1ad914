/** Connects webhooks to a service. Receivers get the events from the start of the service on. */
import { readRevenueToken } from '../api/analytics/format.ts'
import { formatRecords, readOutgoing } from '../api/analytics/records.ts'
import type { WebhooksView } from '../api/analytics/webhooks.ts'
import { describeTransaction } from '../api/rewards/format.ts'
import { createDecimals } from '../api/router.ts'
import type { MintTable } from '../core/money/tokens.ts'
import { formatWebhook, type Webhook } from '../core/ports/webhooks.ts'
import type { Log } from '../core/runtime.ts'
import { createWebhookPoster } from '../host/net/signed-webhooks.ts'
import type { ServiceHandle } from '../paywall/paywall.ts'
import type { Runtime } from '../paywall/runtime/runtime.ts'
import { type MessageParts, startWebhooks, writeMessage } from '../workers/webhooks.ts'
import { type Attached, attach } from './attach.ts'

export interface WebhooksWorkerParts {
  /** The service that the events belong to. */
  readonly handle: Pick<ServiceHandle, 'get'>
  readonly webhooks: readonly Webhook[]
  readonly mints: MintTable
  readonly log: Log
}

export function openWebhooks({ handle, webhooks, mints, log }: WebhooksWorkerParts): Attached {
  if (webhooks.length === 0) return { stop: async () => {} }
  return attach(handle, (service) => startTelling(service, webhooks, mints, log))
}

function startTelling(service: Runtime, webhooks: readonly Webhook[], mints: MintTable, log: Log): Attached {
  const { ledger, config, clock, clockCheck, meter, leads } = service
  const poster = createWebhookPoster({ network: config.network })
  const worker = startWebhooks({
    ...createMessageParts(service, mints),
    notices: ledger.events,
    webhooks,
    post: poster.post,
    clock,
    clockCheck,
    log,
    meter,
    leads,
  })
  return {
    stop: async () => {
      await worker.stop()
      await poster.close()
    },
  }
}

/** The part that people can read and order. */
export function createWebhooksView(service: Runtime, receivers: readonly Webhook[], mints: MintTable): WebhooksView {
  const parts = createMessageParts(service, mints)
  return {
    receivers,
    write: (event) => writeMessage(parts, event),
    test: (receiver) => {
      const poster = createWebhookPoster({ network: service.config.network })
      const id = `test_${crypto.randomUUID().replaceAll('-', '')}`
      const data = { note: 'A test message without a payment.' }
      const message = formatWebhook({ id, kind: 'webhook.test', at: service.clock.now() }, data)
      return poster.post(receiver, message, new AbortController().signal).finally(poster.close)
    },
  }
}

function createMessageParts(service: Runtime, mints: MintTable): MessageParts {
  const { books } = service.ledger
  const decimals = createDecimals(service, mints)
  const parts = { decimalsOf: decimals, outgoing: readOutgoing(service.ledger) }
  return {
    books,
    // Worth is stated in the token of the books, which may have changed since this server started.
    describe: async (payment) => {
      const [record] = await formatRecords(parts, [payment], await readRevenueToken(books))
      return record ?? {}
    },
    describeDispatch: async (id) => {
      const transaction = await service.ledger.outgoing.get(id)
      return transaction && describeTransaction(transaction, decimals, await service.ledger.outgoing.lines(id))
    },
  }
}
