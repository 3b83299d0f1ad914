/** `GET /api/webhooks` and its sub-paths: the receivers of payment events, and the messages to them. */
import type { LedgerEvent, LedgerEvents, Posted } from '../../core/ports/outbox.ts'
import { formatReceiver, type Webhook, type WebhookMessage } from '../../core/ports/webhooks.ts'

/** The webhooks of this process. */
export interface WebhooksView {
  readonly receivers: readonly Webhook[]
  /** The message of an event, as it is sent now. */
  readonly write: (event: LedgerEvent) => Promise<WebhookMessage>
  /** Sends a test message. */
  readonly test: (receiver: Webhook) => Promise<Posted>
}

export const noWebhooks: WebhooksView = {
  receivers: [],
  write: async ({ id }) => ({ id, body: '' }),
  test: async () => ({ kind: 'failed', why: 'no receiver is configured' }),
}

export const deliveryStates = ['waiting', 'delivered', 'failed'] as const
type DeliveryState = (typeof deliveryStates)[number]

export interface WebhooksParts {
  readonly events: Pick<LedgerEvents, 'list'>
  readonly view: WebhooksView
}

export async function readWebhookList(
  { events, view }: WebhooksParts,
  { state, limit }: { readonly state?: DeliveryState | undefined; readonly limit: number },
) {
  const kept = state === 'delivered' ? 'told' : state
  const found = await events.list({ most: limit, ...(kept && { state: kept }) })
  return {
    receivers: view.receivers.map((one) => ({
      name: one.name,
      address: formatReceiver(one.url),
      events: [...one.events],
    })),
    deliveries: found.map((event) => formatDelivery(view, event)),
  }
}

/** `isOwner`: messages name the transactions of payers, so only a signed-in owner reads them. */
export async function readDelivery({ events, view }: WebhooksParts, id: string, isOwner: boolean) {
  const [event] = await events.list({ id, most: 1 })
  if (!event) return undefined
  return { ...formatDelivery(view, event), body: isOwner ? (await view.write(event)).body : null }
}

function formatDelivery({ receivers }: WebhooksView, { id, kind, target, at, attempts, state, why }: LedgerEvent) {
  const receiver = receivers.find(({ name }) => name === target)
  return {
    id,
    type: kind,
    receiver: target,
    address: receiver ? formatReceiver(receiver.url) : '',
    at: new Date(at).toISOString(),
    attempts,
    state: state === 'told' ? ('delivered' as const) : state,
    why,
  }
}
