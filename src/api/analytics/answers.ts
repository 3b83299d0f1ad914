/**
 * Schemas of the analytics responses, from which `/openapi.json` is made. Tests validate every response against them.
 */
import { z } from 'zod'
import { units } from '../../core/payment/allowance.ts'
import { paymentFaults, paymentListStatuses } from '../../core/payment/history.ts'
import { ledgerEventKinds } from '../../core/ports/outbox.ts'
import { problemKinds } from '../../core/ports/reports.ts'
import { check, count, decimal, moment, token } from '../http/answers.ts'
import { refund, refundable, refunds } from '../rewards/answers.ts'
import { timelineEvents } from './detail.ts'
import { feedStatuses } from './format.ts'
import { states } from './queries.ts'
import { deliveryStates } from './webhooks.ts'

/** The known tokens, and the service's own tokens with payments. */
const byToken = z.object({ NATIVE: decimal, USDC: decimal, SOL: decimal }).catchall(decimal)
export const revenue = {
  revenue: decimal.meta({ description: 'Gross revenue less refunds; may be negative.' }),
  gross: decimal.meta({ description: 'Gross revenue.' }),
  refunded: decimal.meta({ description: 'Refunds, counted at the time of the refund.' }),
}
const amounts = { received: byToken, sentBack: byToken.meta({ description: 'Refunds, by token.' }) }
export const period = { from: moment.nullable(), to: moment.nullable() }

export const feedRecord = z
  .strictObject({
    id: z.string().meta({ description: 'Id of the record at this service; also a cursor.' }),
    timestamp: moment,
    requestId: z.string().meta({ description: 'Keyed hash.' }),
    payer: z.string().meta({ description: 'Pseudonym; empty if unknown.' }),
    endpoint: z.string(),
    token,
    amount: decimal,
    worth: decimal,
    revenueToken: token,
    status: z.enum(Object.values(feedStatuses)),
    verification: z.enum(paymentListStatuses),
    state: z.enum(states),
    problem: z
      .enum(['', ...paymentFaults, 'reverted'])
      .meta({ description: 'Why it is not accepted; empty if it is, or if it only lacks a proof.' }),
    delivery: z.enum(['none', 'some', 'all']),
    recipient: z.string(),
    splits: z
      .string()
      .meta({ description: 'Amounts that other wallets received in the same transaction; empty without splits.' }),
    collected: z.string().meta({
      description: 'Amounts of other wallets that `amount` contains, and that the rewards owe; empty without splits.',
    }),
    shared: z.string().meta({ description: 'Sum of the rewards in NATIVE; empty until accrued.' }),
    refundedAt: z
      .string()
      .meta({ description: 'RFC 3339, UTC: the time at which a refund became final; empty until then.' }),
    refunded: decimal.meta({ description: 'Refunded amount in the token; empty without a refund.' }),
    revenue: decimal.meta({ description: 'Contribution to the revenue: its worth less the refund.' }),
  })
  .meta({ id: 'FeedRecord' })

const forOwners = z.string().optional().meta({ description: 'Only for a signed-in owner.' })
const timelineEntry = z.strictObject({
  at: moment.nullable(),
  event: z.enum(timelineEvents),
  note: z.string().optional(),
  amount: decimal.optional().meta({ description: 'Accrued or refunded amount.' }),
  token: token.optional(),
  tx: forOwners,
})

export const detail = feedRecord
  .extend({
    tx: forOwners,
    required: decimal.meta({ description: 'Price in the token of the payment.' }),
    checks: z.strictObject({ exists: check, recipient: check, amount: check, memo: check, unused: check }),
    timeline: z.array(timelineEntry),
    usableUntil: moment
      .nullable()
      .meta({ description: 'End of the allowance or, before a claim, of the time to claim.' }),
    allowance: z.strictObject({ unit: z.enum(units), amount: decimal }).nullable(),
    remaining: decimal.nullable(),
    refund: refund.omit({ payment: true }).optional().meta({ description: 'The refund, if one was ordered.' }),
    refundable: z
      .array(refundable)
      .meta({ description: 'Possible refunds; see `POST /api/refunds`. `delivered` must be asked for.' }),
    notRefundable: z.string().meta({ description: 'The reason why no refund is possible; empty otherwise.' }),
    refundableFrom: moment
      .nullable()
      .meta({ description: 'Time after which the payment can be refunded, if its payer can still claim it.' }),
    canRefund: z.boolean().meta({ description: 'Whether this server has a key that sends refunds.' }),
  })
  .meta({ id: 'PaymentDetail' })

const text = z.string()
export const receipt = z
  .strictObject({
    status: z.literal('success'),
    method: z.literal('solana'),
    reference: text.meta({ description: 'The transaction.' }),
    timestamp: moment,
    requestId: text,
    resource: text.meta({ description: 'The endpoint. The ledger does not store the address of a purchase.' }),
    token,
    amount: decimal,
    payer: text.meta({ description: 'Pseudonym.' }),
    signature: text.meta({ description: 'Ed25519 by the key of the service, base64url.' }),
  })
  .meta({ id: 'Receipt' })

export const payers = z
  .strictObject({
    revenueToken: token,
    from: moment,
    to: moment,
    payers: z.array(
      z.strictObject({
        payer: z.string().meta({ description: 'Pseudonym.' }),
        payments: count,
        ...revenue,
        ...amounts,
        first: moment,
        last: moment,
      }),
    ),
    next: z.string().nullable().meta({ description: 'The cursor of the next page.' }),
  })
  .meta({ id: 'Payers' })

export const problemList = z
  .strictObject({
    refunds: refunds.optional().meta({ description: 'As `/api/refunds`.' }),
    counts: z.record(z.enum(problemKinds), count).meta({ description: 'Number of each kind, up to 1,000.' }),
    records: z.array(
      feedRecord.extend({
        kind: z.enum(problemKinds),
        required: decimal.optional(),
        received: decimal,
        tx: forOwners,
        note: z.string().meta({ description: 'Meaning of the problem.' }),
        next: z.string().meta({ description: 'Recommended action.' }),
        refundable: refundable.optional().meta({ description: 'Refundable amount; see `POST /api/refunds`.' }),
        refund: refund.omit({ payment: true }).optional().meta({ description: 'The refund, if one was ordered.' }),
      }),
    ),
    next: z.string().nullable(),
  })
  .meta({ id: 'Problems' })

export const usage = {
  challenged: count,
  free: count,
  refused: count,
  reused: count,
  delivered: count.meta({ description: 'Payments of the period for which something was delivered.' }),
  undelivered: count.meta({ description: 'Payments of the period for which nothing was delivered.' }),
}
const usageLine = z.strictObject({
  endpoint: z.string(),
  calls: count.meta({ description: 'Payments plus further uses of their allowances.' }),
  payments: count,
  ...usage,
})
const revenueLine = z.strictObject({
  endpoint: z.string(),
  payments: count,
  ...revenue,
  unvalued: count.meta({ description: 'Payments without a rate, which the revenue excludes.' }),
  ...amounts,
})
export const tokenLine = z.strictObject({
  token,
  payments: count,
  received: decimal,
  sentBack: decimal,
  ...revenue,
  unvalued: count,
  share: decimal.meta({ description: 'Share of the revenue, 0 to 1; 0 if refunds exceed receipts.' }),
})

export const analytics = z
  .strictObject({
    revenueToken: token,
    ...period,
    records: z.array(feedRecord).optional(),
    next: z.string().nullable().optional().meta({ description: 'The cursor of the next page.' }),
    isCut: z.boolean().optional().meta({
      description: 'Of an order by value: whether there are more payments than the 2,000 that were ranked.',
    }),
    usage: z.array(usageLine).optional(),
    revenue: z.array(revenueLine).optional(),
    tokens: z.array(tokenLine).optional(),
    totals: z
      .strictObject({
        payments: count.meta({ description: 'Accepted payments. The amounts are their sums.' }),
        unaccepted: count.meta({ description: 'Other payments: unclaimed, underpaid, late and reverted ones.' }),
        notOnChain: count.meta({ description: 'Claims whose transactions no node has returned.' }),
        isCut: z.boolean().meta({ description: 'Whether there are more payments than were summed.' }),
        worth: decimal.meta({ description: 'In `revenueToken`, when paid: refunds are not subtracted.' }),
        refunded: decimal.meta({ description: 'Their refunds, in `revenueToken`.' }),
        unvalued: count,
        received: byToken,
      })
      .optional()
      .meta({ description: 'Sums of the listed payments, over all pages; only if `view` names them.' }),
    names: z
      .strictObject({ endpoints: z.array(z.string()), tokens: z.array(token) })
      .optional()
      .meta({ description: 'The endpoints and tokens with payments; only if `view` names them.' }),
  })
  .meta({ id: 'Analytics' })

const funnel = z.strictObject({
  challenged: count,
  paid: count,
  delivered: count.meta({ description: 'Payments of the period for which something was delivered.' }),
})
export const summary = z
  .strictObject({
    totalRevenue: revenue.revenue,
    gross: revenue.gross,
    refunded: revenue.refunded,
    currencyBreakdown: byToken.meta({ description: 'Received amounts less refunds.' }),
    topEndpoints: z
      .array(z.strictObject({ path: z.string(), calls: count, payments: count, ...revenue }))
      .meta({ description: 'Endpoints with the most revenue.' }),
    revenueToken: token,
    payments: count,
    unvalued: count,
    ...period,
    funnel,
    previous: z
      .strictObject({ totalRevenue: decimal, gross: decimal, refunded: decimal, payments: count, funnel })
      .optional()
      .meta({ description: 'The period to compare with, if `from` and `to` are given.' }),
    pending: count.meta({ description: 'Payments that can still be claimed now, up to 1,000.' }),
    unclaimed: count.meta({ description: 'Payments on chain without an accepted proof now, up to 1,000.' }),
  })
  .meta({ id: 'AnalyticsSummary' })

export const series = z
  .strictObject({
    step: z.enum(['hour', 'day']),
    from: moment,
    to: moment,
    endpoint: z.string().nullable(),
    revenueToken: token,
    points: z.array(z.strictObject({ at: moment, payments: count, ...revenue, unvalued: count, ...amounts })),
  })
  .meta({ id: 'Series' })

const deliveryLine = z.strictObject({
  id: z.string().meta({ description: 'The header `webhook-id`.' }),
  type: z.enum(ledgerEventKinds),
  receiver: z.string().meta({ description: 'The name of the receiver; empty until the event is sent out.' }),
  address: z.string().meta({ description: 'Its address without secret parts; empty if another server sends to it.' }),
  at: moment,
  attempts: count,
  state: z.enum(deliveryStates),
  why: z.string().meta({ description: 'The reason of the last failure.' }),
})
export const webhooks = z
  .strictObject({
    receivers: z.array(
      z.strictObject({ name: z.string(), address: z.string(), events: z.array(z.enum(ledgerEventKinds)) }),
    ),
    deliveries: z.array(deliveryLine),
  })
  .meta({ id: 'Webhooks' })
export const delivery = deliveryLine
  .extend({
    body: z.string().nullable().meta({ description: 'The message as it is sent now, for a signed-in owner.' }),
  })
  .meta({ id: 'WebhookDelivery' })
export const resent = z.strictObject({ id: z.string() })
export const webhookTest = z.strictObject({ isAccepted: z.boolean(), status: z.int().nullable(), why: z.string() })
