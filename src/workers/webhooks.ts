/**
 * Sends payment events to webhooks, at least once each.
 *
 * The ledger writes an event in the same transaction as the payment. Every server runs this worker: an event is leased
 * while it is sent, and if a process dies, another one sends it under the same id. Each address has its own queue, so
 * that a slow or dead one does not delay others.
 */
import { encodeBase58 } from '../core/encoding/base58.ts'
import { attempt } from '../core/errors/attempt.ts'
import type { Meter } from '../core/observability/metrics.ts'
import type { PaymentListItem } from '../core/payment/history.ts'
import type { LedgerEvent, LedgerEvents, Posted } from '../core/ports/outbox.ts'
import type { Books } from '../core/ports/reports.ts'
import type { SponsorNotice } from '../core/ports/sponsor.ts'
import { formatWebhook, retryDelay, type Webhook, type WebhookMessage } from '../core/ports/webhooks.ts'
import type { Clock, Log } from '../core/runtime.ts'
import { isTimeSure, type LoopParts } from './loop.ts'

/** The parts that write the data of a message. */
export interface MessageParts {
  readonly books: Pick<Books, 'findPayment'>
  /** Formats a payment for the receiver. */
  readonly describe: (payment: PaymentListItem) => object | Promise<object>
  /** Formats an outgoing transaction for the receiver. Undefined if the id is unknown. */
  readonly describeDispatch?: (id: string) => Promise<object | undefined>
}

export interface WebhooksParts extends MessageParts, Pick<LoopParts, 'clockCheck'> {
  readonly notices: LedgerEvents
  readonly webhooks: readonly Webhook[]
  /** Signs a message and posts it. */
  readonly post: (webhook: Webhook, message: WebhookMessage, signal: AbortSignal) => Promise<Posted>
  readonly clock: Clock
  readonly log: Log
  readonly meter: Meter
  /** False while another process of the gateway sends. */
  readonly leads?: () => boolean
  /** From 0 to 1. */
  readonly random?: () => number
  /** The time that running sends have to finish after `stop`. */
  readonly graceMs?: number
}

const everyMs = 1_000
const sweepEveryMs = 10_000
const spreadAtOnce = 256
/** The maximum number of concurrent sends to one address. */
const sentAtOnce = 8
/** Much longer than the longest attempt, so that a slow receiver does not cause duplicates. */
const leaseMs = 60_000
const usualGraceMs = 2_000

export function startWebhooks(parts: WebhooksParts) {
  const { notices, webhooks, clock, clockCheck, log, graceMs = usualGraceMs, leads = () => true } = parts
  const gone = new AbortController()
  const timers = new Set<ReturnType<typeof setTimeout>>()
  const queues = new Map<string, Promise<void>>()
  const disabled = new Set<string>()
  let isStopped = false
  let isListening = false
  let sweptAt = Number.NEGATIVE_INFINITY

  /** Runs the work of each queue in sequence. The next turn repeats failed work. */
  const enqueue = (queue: string, work: () => Promise<void>): Promise<void> => {
    const turn = (queues.get(queue) ?? Promise.resolve()).then(work).catch((error) => {
      log.warn('webhooks.failed', { why: error instanceof Error ? error.message : String(error) })
    })
    queues.set(queue, turn)
    return turn
  }

  const collect = async (): Promise<void> => {
    if (!isListening) await notices.start()
    isListening = true
    // A sweep reports each expiry once, so it must not run by a wrong clock.
    if (clock.monotonic() - sweptAt >= sweepEveryMs && isTimeSure(clockCheck)) {
      while (!isStopped && (await notices.sweep(spreadAtOnce)) >= spreadAtOnce);
      sweptAt = clock.monotonic()
    }
    while (!isStopped && (await notices.spread(webhooks, spreadAtOnce)) === spreadAtOnce);
  }

  const serve = async (webhook: Webhook): Promise<void> => {
    for (let taken = sentAtOnce; taken === sentAtOnce && !isStopped && !disabled.has(webhook.name); ) {
      const due = await notices.take(webhook.name, sentAtOnce, leaseMs)
      taken = due.length
      await Promise.all(
        due.map(async (notice) => {
          if ((await tell(parts, webhook, notice, gone.signal)) === 'gone') disabled.add(webhook.name)
        }),
      )
    }
  }

  const begin = (queue: string, work: () => Promise<void>): void => {
    const timer = setTimeout(() => {
      timers.delete(timer)
      const turn = leads() ? enqueue(queue, work) : Promise.resolve()
      void turn.then(() => {
        if (!isStopped) begin(queue, work)
      })
    }, everyMs)
    timer.unref?.()
    timers.add(timer)
  }
  // Starts at once, because earlier changes cause no events.
  void enqueue('', collect)
  begin('', collect)
  for (const webhook of webhooks) begin(webhook.name, () => serve(webhook))

  return {
    /** Sends all due events once, now. */
    run: async () => {
      await enqueue('', collect)
      await Promise.all(webhooks.map((webhook) => enqueue(webhook.name, () => serve(webhook))))
    },
    /** Running sends have a moment to finish. The others are sent again by another server, or after the next start. */
    stop: async () => {
      isStopped = true
      for (const timer of timers) clearTimeout(timer)
      const grace = setTimeout(() => gone.abort(), graceMs)
      await Promise.all(queues.values())
      clearTimeout(grace)
    },
  }
}

export type WebhooksWorker = ReturnType<typeof startWebhooks>

/** The message of an event, with the state of its subject now. */
export async function writeMessage(parts: MessageParts, event: LedgerEvent): Promise<WebhookMessage> {
  return formatWebhook(event, await describeData(parts, event))
}

async function describeData({ books, describe, describeDispatch }: MessageParts, { kind, tx }: LedgerEvent) {
  if (kind === 'sponsor.low') return parseNotice(new TextDecoder().decode(tx))
  if (!kind.startsWith('payment.')) {
    const id = new TextDecoder().decode(tx)
    return (await describeDispatch?.(id)) ?? { id }
  }
  const payment = await books.findPayment(tx)
  return payment ? describe(payment) : { tx: encodeBase58(tx) }
}

function parseNotice(text: string): Partial<SponsorNotice> {
  return attempt(() => JSON.parse(text) as SponsorNotice) ?? {}
}

/** Sends one event and records the result. `gone`: the receiver answered 410 and gets no more until the next start. */
async function tell(parts: WebhooksParts, webhook: Webhook, notice: LedgerEvent, signal: AbortSignal) {
  const { notices, post, clock, log, meter, random = Math.random } = parts
  const { id, kind, attempts } = notice
  const posted = await post(webhook, await writeMessage(parts, notice), signal)
  // The result is unknown, so the event is sent again when the lease expires.
  if (signal.aborted) return 'failed'
  if (posted.kind === 'answered' && posted.status >= 200 && posted.status < 300) {
    await notices.told(id)
    meter.count('paystile_webhooks_total', { outcome: 'told' })
    return 'told'
  }
  const isGone = posted.kind === 'answered' && posted.status === 410
  const why = posted.kind === 'failed' ? posted.why : `it returned status ${posted.status}`
  const retryAfterMs = posted.kind === 'answered' ? posted.retryAfterMs : undefined
  const delay = isGone ? undefined : retryDelay({ attempts, retryAfterMs, chance: random() })
  await notices.failed(id, why, delay === undefined ? undefined : clock.now() + delay)
  meter.count('paystile_webhooks_total', { outcome: delay === undefined ? 'failed' : 'delayed' })
  const facts = { webhook: webhook.name, id, kind, why }
  if (delay !== undefined) log.warn('webhook.delayed', { ...facts, againInSeconds: Math.round(delay / 1000) })
  else if (isGone)
    log.error('webhook.gone', { ...facts, next: 'it receives no events until the next start; remove it from webhooks' })
  else log.error('webhook.failed', { ...facts, next: `npx paystile webhooks resend ${id}` })
  return isGone ? 'gone' : 'failed'
}
