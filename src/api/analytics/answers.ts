/**
 * Schemas of the analytics responses, from which `/openapi.json` is made. Tests validate every response against them.
 */
import { z } from 'zod'
import { units } from '../../core/payment/allowance.ts'
import { paymentListStatuses } from '../../core/payment/history.ts'
import { problemKinds } from '../../core/ports/reports.ts'
import { check, count, decimal, moment, token } from '../http/answers.ts'
import { refund, refundable } from '../rewards/answers.ts'
import { timelineEvents } from './detail.ts'
import { feedStatuses } from './format.ts'
import { states } from './queries.ts'

const byToken = z.strictObject({ NATIVE: decimal, USDC: decimal, SOL: decimal })
const revenue = {
  revenue: decimal.meta({ description: 'What was earned less what was sent back; may be negative.' }),
  gross: decimal.meta({ description: 'What was earned.' }),
  refunded: decimal.meta({ description: 'What was sent back, at the time of the refund.' }),
}
const amounts = { received: byToken, sentBack: byToken.meta({ description: 'Refunds, by token.' }) }
const period = { from: moment.nullable(), to: moment.nullable() }

export const feedRecord = z
  .strictObject({
    id: z.string().meta({ description: 'Names this record at this service; a cursor, too.' }),
    timestamp: moment,
    requestId: z.string().meta({ description: 'Keyed hash.' }),
    payer: z.string().meta({ description: 'Pseudonym; empty where it is not known.' }),
    endpoint: z.string(),
    token,
    amount: decimal,
    worth: decimal,
    revenueToken: token,
    status: z.enum(Object.values(feedStatuses)),
    verification: z.enum(paymentListStatuses),
    state: z.enum(states),
    delivery: z.enum(['none', 'some', 'all']),
    recipient: z.string(),
    shared: z.string().meta({ description: 'In NATIVE, to all together; empty as long as it is not shared out.' }),
    refundedAt: z.string().meta({ description: 'RFC 3339, UTC: when a refund was final; empty until then.' }),
    refunded: decimal.meta({ description: 'What was sent back, in the token; empty where nothing was.' }),
    revenue: decimal.meta({ description: 'What it adds to the revenue: its worth less what was sent back.' }),
  })
  .meta({ id: 'FeedRecord' })

const forOwners = z.string().optional().meta({ description: 'Only for an owner who is signed in.' })
const timelineEntry = z.strictObject({
  at: moment.nullable(),
  event: z.enum(timelineEvents),
  note: z.string().optional(),
  amount: decimal.optional().meta({ description: 'What was shared out or sent back.' }),
  token: token.optional(),
  tx: forOwners,
})

export const detail = feedRecord
  .extend({
    tx: forOwners,
    required: decimal.meta({ description: 'What was asked for, in the token that was paid with.' }),
    checks: z.strictObject({ exists: check, recipient: check, amount: check, memo: check, unused: check }),
    timeline: z.array(timelineEntry),
    usableUntil: moment.nullable().meta({ description: 'Or claimable until, where it is not claimed yet.' }),
    allowance: z.strictObject({ unit: z.enum(units), amount: decimal }).nullable(),
    remaining: decimal.nullable(),
  })
  .meta({ id: 'PaymentDetail' })

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
    counts: z.record(z.enum(problemKinds), count).meta({ description: 'Of each kind, up to 1,000.' }),
    records: z.array(
      feedRecord.extend({
        kind: z.enum(problemKinds),
        required: decimal.optional(),
        received: decimal,
        tx: forOwners,
        note: z.string().meta({ description: 'What it means.' }),
        next: z.string().meta({ description: 'What to do.' }),
        refundable: refundable
          .optional()
          .meta({ description: 'What of it can be sent back now; `POST /api/refunds`.' }),
        refund: refund.omit({ payment: true }).optional().meta({ description: 'How it is sent back, or was.' }),
      }),
    ),
    next: z.string().nullable(),
  })
  .meta({ id: 'Problems' })

const usageLine = z.strictObject({
  endpoint: z.string(),
  calls: count.meta({ description: 'Payments, and further uses of what they bought.' }),
  payments: count,
  challenged: count,
  free: count,
  refused: count,
  reused: count,
  delivered: count,
  undelivered: count,
})
const revenueLine = z.strictObject({
  endpoint: z.string(),
  payments: count,
  ...revenue,
  unvalued: count.meta({ description: 'Payments that had no rate, and so are in no revenue.' }),
  ...amounts,
})
const tokenLine = z.strictObject({
  token,
  payments: count,
  received: decimal,
  sentBack: decimal,
  ...revenue,
  unvalued: count,
  share: decimal.meta({ description: 'Of the revenue, 0 to 1; 0 where more was sent back than received.' }),
})

export const analytics = z
  .strictObject({
    revenueToken: token,
    ...period,
    records: z.array(feedRecord).optional(),
    next: z.string().nullable().optional().meta({ description: 'The cursor of the next page.' }),
    usage: z.array(usageLine).optional(),
    revenue: z.array(revenueLine).optional(),
    tokens: z.array(tokenLine).optional(),
  })
  .meta({ id: 'Analytics' })

const funnel = z.strictObject({ challenged: count, paid: count, delivered: count })
export const summary = z
  .strictObject({
    totalRevenue: revenue.revenue,
    gross: revenue.gross,
    refunded: revenue.refunded,
    currencyBreakdown: byToken.meta({ description: 'Received amounts less refunds.' }),
    topEndpoints: z.array(z.strictObject({ path: z.string(), calls: count, payments: count, ...revenue })),
    revenueToken: token,
    payments: count,
    unvalued: count,
    ...period,
    funnel,
    previous: z
      .strictObject({ totalRevenue: decimal, gross: decimal, refunded: decimal, payments: count, funnel })
      .optional()
      .meta({ description: 'The period of the same length before, where `from` and `to` are given.' }),
    pending: count.meta({ description: 'Payments that can still be claimed, now; up to 1,000 are counted.' }),
    unclaimed: count.meta({ description: 'Payments on chain that no proof was accepted for, now; up to 1,000.' }),
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
