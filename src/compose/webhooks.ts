/** Connects webhooks to a service. Receivers get the events from the start of the service on. */
import { readRevenueToken } from '../api/analytics/format.ts'
import { formatRecords, readOutgoing } from '../api/analytics/records.ts'
import { describeTransaction } from '../api/rewards/format.ts'
import { createDecimals } from '../api/router.ts'
import type { MintTable } from '../core/money/tokens.ts'
import type { Webhook } from '../core/ports/webhooks.ts'
import type { Log } from '../core/runtime.ts'
import { createWebhookPoster } from '../host/net/signed-webhooks.ts'
import type { ServiceHandle } from '../paywall/paywall.ts'
import type { Runtime } from '../paywall/runtime/runtime.ts'
import { startWebhooks } from '../workers/webhooks.ts'
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
  const { ledger, config, clock, meter } = service
  const { events: notices, books } = ledger
  const decimals = createDecimals(service, mints)
  const parts = { decimalsOf: decimals, outgoing: readOutgoing(ledger) }
  const poster = createWebhookPoster({ network: config.network })
  const worker = startWebhooks({
    notices,
    books,
    webhooks,
    post: poster.post,
    // Worth is stated in the token of the books, which may have changed since this server started.
    describe: async (payment) => {
      const [record] = await formatRecords(parts, [payment], await readRevenueToken(books))
      return record ?? {}
    },
    describeDispatch: async (id) => {
      const transaction = await service.ledger.outgoing.get(id)
      return transaction && describeTransaction(transaction, decimals, await service.ledger.outgoing.lines(id))
    },
    clock,
    log,
    meter,
  })
  return {
    stop: async () => {
      await worker.stop()
      await poster.close()
    },
  }
}
