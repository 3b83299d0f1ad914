/** The endpoints for payables and outgoing transactions, and for ordering refunds. */
import { z } from 'zod'
import { decodeSignature } from '../../core/encoding/base58.ts'
import { attempt } from '../../core/errors/attempt.ts'
import { rewardRoles } from '../../core/payouts/rewards.ts'
import type { Log } from '../../core/runtime.ts'
import type { Cursors } from '../analytics/cursor.ts'
import { createDownloads } from '../exports/downloads.ts'
import { exportRewards, rewardsExportFormats } from '../exports/payouts.ts'
import { answer, problem } from '../http/errors.ts'
import { asRead } from '../http/inputs.ts'
import { endpoints } from '../http/paths.ts'
import { readPosted } from '../http/posted.ts'
import { limit, noQuery } from '../http/queries.ts'
import { type Row, readingRow } from '../http/route.ts'
import * as answers from '../rewards/answers.ts'
import { noSettlement, readSettlement, type SettlementView } from '../rewards/settlement.ts'
import { readSponsor, type SponsorParts } from '../rewards/sponsor.ts'
import {
  formatRefundTransaction,
  parseMark,
  parsePayee,
  type RewardsParts,
  readPayee,
  readPayees,
  readPayout,
  readPayouts,
  readRefunds,
  readRewards,
} from '../rewards/view.ts'

const payeesQuery = z.strictObject({
  role: z.enum(rewardRoles).optional(),
  limit: limit('Payees'),
  cursor: z.string().transform(asRead(parsePayee, 'must be a cursor from this service')).optional(),
})
const payoutsQuery = z.strictObject({
  limit: limit('Payouts'),
  cursor: z.string().transform(asRead(parseMark, 'must be a cursor from this service')).optional(),
})
const exportQuery = z.strictObject({
  format: z.enum(rewardsExportFormats).default('csv').meta({ description: 'csv by default.' }),
})
const settlementQuery = z.strictObject({ limit: limit('Conversions'), cursor: payoutsQuery.shape.cursor })
const refundsQuery = z.strictObject({ limit: limit('Refunds') })
const refundBody = z
  .strictObject({
    tx: z
      .string()
      .refine((text) => decodeSignature(text) !== undefined, 'must be the signature of a transaction in base58')
      .optional(),
    id: z.string().max(256).optional(),
    delivered: z.boolean().optional().meta({
      description: 'Refunds the whole payment although something was delivered for it. Its shares stay.',
    }),
  })
  .refine(({ tx, id }) => (tx === undefined) !== (id === undefined), 'must contain tx or id')
  .meta({ description: 'The payment: its transaction, or the id of its record.' })

export interface RewardsTableParts {
  readonly rewards: RewardsParts
  readonly settlement: SettlementView | undefined
  readonly sponsor: SponsorParts
  readonly cursors: Cursors
  readonly log: Log
}

/** Limit of concurrent downloads. */
const mostDownloads = 2

export function rewardsRows({
  rewards,
  settlement = noSettlement,
  sponsor,
  cursors,
  log,
}: RewardsTableParts): readonly Row[] {
  const downloads = createDownloads(mostDownloads, log)
  return [
    readingRow(
      endpoints.rewards,
      'Owed and paid rewards by role, and the latest payouts',
      noQuery,
      { answer: answers.rewards },
      () => readRewards(rewards),
    ),
    readingRow(
      endpoints.payees,
      'Payees with owed and paid amounts',
      payeesQuery,
      { answer: answers.payees },
      (query) => readPayees(rewards, query),
    ),
    {
      ...record(`${endpoints.payees}/{id}`, 'One payee, with its payouts', answers.payeeDetail),
      handle: async ({ url }) => {
        const name = parsePayee(readLastPart(url))
        return found(name && (await readPayee(rewards, name)))
      },
    },
    readingRow(endpoints.payouts, 'Payouts, newest first', payoutsQuery, { answer: answers.payouts }, (query) =>
      readPayouts(rewards, query),
    ),
    {
      ...record(`${endpoints.payouts}/{id}`, 'One payout, line by line', answers.payoutDetail),
      handle: async ({ url }) => found(await readPayout(rewards, readLastPart(url))),
    },
    readingRow(
      endpoints.rewardsExport,
      'Every line of every payout, as csv or json',
      exportQuery,
      { type: 'text/csv' },
      ({ format }) => exportRewards(rewards, downloads, format),
    ),
    readingRow(endpoints.refunds, 'Refunds, newest first', refundsQuery, { answer: answers.refunds }, (query) =>
      readRefunds(rewards, query.limit),
    ),
    {
      ...record(endpoints.refunds, 'Refund a payment', answers.refund),
      method: 'POST',
      body: refundBody,
      handle: ({ request }) => orderRefund(rewards, cursors, request),
    },
    readingRow(
      endpoints.settlement,
      'Conversions into the settlement token',
      settlementQuery,
      { answer: answers.settlement },
      async (query) => ({
        ...(await readSettlement({ ...rewards, settlement }, query)),
        sponsor: await readSponsor(sponsor),
      }),
    ),
    readingRow(
      endpoints.sponsor,
      'The wallet that pays network fees for x402 and MPP clients',
      noQuery,
      { answer: answers.sponsor },
      () => readSponsor(sponsor),
    ),
  ]
}

/** An endpoint without a query. */
function record(path: string, summary: string, answer: z.ZodType) {
  return { method: 'GET', path, summary, isPrivate: true, answer }
}

/** The last part of a path; empty if it cannot be decoded. */
function readLastPart({ pathname }: URL): string {
  const text = pathname.slice(pathname.lastIndexOf('/') + 1)
  return attempt(() => decodeURIComponent(text)) ?? ''
}

function found(value: object | undefined): Response {
  return value ? answer(value) : problem('not_found', { detail: 'No record has this id. Use an id from the list.' })
}

async function orderRefund(parts: RewardsParts, cursors: Cursors, request: Request): Promise<Response> {
  if (/^(?:cross|same)-site$/.test(request.headers.get('sec-fetch-site') ?? '')) return problem('cross_site')
  if (!parts.refund) return problem('refunds_missing')
  const posted = await readPosted(request, refundBody)
  if (posted instanceof Response) return posted
  const { tx, id, delivered = false } = posted
  const payment = tx === undefined ? cursors.read(id ?? '')?.tx : decodeSignature(tx)
  const refunding = payment && (await parts.refund(payment, { evenDelivered: delivered }))
  if (!refunding || refunding.kind === 'unknown')
    return problem('not_found', { detail: 'No payment has this id. Use the id of a record in the list.' })
  if (refunding.kind === 'refused')
    return problem('refund_refused', { detail: `The payment cannot be refunded: ${refunding.why}.` })
  return answer(formatRefundTransaction(parts, refunding.transaction), {
    status: refunding.kind === 'planned' ? 202 : 200,
  })
}
