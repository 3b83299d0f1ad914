/** The addresses under which it is read what is owed and goes out, and refunds are ordered. */
import { z } from 'zod'
import { decodeSignature } from '../core/base58.ts'
import { rewardRoles } from '../core/rewards.ts'
import type { Cursors } from './capture-cursor.ts'
import { endpoints } from './endpoints.ts'
import { asRead, readInput, readQuery } from './inputs.ts'
import type { Row } from './parts.ts'
import { answer, problem } from './problems.ts'
import { limit, noQuery } from './queries.ts'
import { readJsonBody } from './request-body.ts'
import * as answers from './rewards-answers.ts'
import type { RewardsParts } from './rewards-view.ts'
import {
  formatRefundDispatch,
  parsePayee,
  readPayee,
  readPayees,
  readPayout,
  readRefunds,
  readRewards,
} from './rewards-view.ts'

const payeesQuery = z.strictObject({
  role: z.enum(rewardRoles).optional(),
  limit: limit('Payees'),
  cursor: z.string().transform(asRead(parsePayee, 'must be one that this service gave')).optional(),
})
const refundsQuery = z.strictObject({ limit: limit('Refunds') })
export const refundBody = z
  .strictObject({
    tx: z
      .string()
      .refine((text) => decodeSignature(text) !== undefined, 'must be the signature of a transaction in base58')
      .optional(),
    id: z.string().max(256).optional(),
  })
  .refine(({ tx, id }) => (tx === undefined) !== (id === undefined), 'must name the payment by tx or by id')
  .meta({ description: 'The payment: its transaction, or the id of its record.' })

export interface RewardsTableParts {
  readonly rewards: RewardsParts | undefined
  readonly cursors: Cursors
}

export function rewardsRows({ rewards, cursors }: RewardsTableParts): readonly Row[] {
  if (!rewards) return []
  const last = (url: URL): string => decodeURIComponent(url.pathname.slice(url.pathname.lastIndexOf('/') + 1))
  const nothing = () => problem('not_found', { detail: 'Nothing has this id; take it from a list.' })
  const found = (value: object | undefined) => (value ? answer(value) : nothing())
  const secret = { isPrivate: true } as const
  return [
    {
      ...secret,
      method: 'GET',
      path: endpoints.rewards,
      summary: 'What is owed and paid of payments, by role, and the latest payouts',
      query: noQuery,
      answer: answers.rewards,
      handle: async () => answer(await readRewards(rewards)),
    },
    {
      ...secret,
      method: 'GET',
      path: endpoints.payees,
      summary: 'Who is owed and was paid what',
      query: payeesQuery,
      answer: answers.payees,
      handle: async ({ url }) => {
        const reading = readQuery(payeesQuery, url.searchParams)
        if (reading.kind === 'problems') return problem('query_invalid', { problems: reading.problems })
        return answer(await readPayees(rewards, reading.input))
      },
    },
    {
      ...secret,
      method: 'GET',
      path: `${endpoints.payees}/{id}`,
      summary: 'One payee, with its payouts',
      answer: answers.payeeDetail,
      handle: async ({ url }) => {
        const name = parsePayee(last(url))
        return found(name && (await readPayee(rewards, name)))
      },
    },
    {
      ...secret,
      method: 'GET',
      path: `${endpoints.payouts}/{id}`,
      summary: 'One payout, line by line',
      answer: answers.payoutDetail,
      handle: async ({ url }) => found(await readPayout(rewards, last(url))),
    },
    {
      ...secret,
      method: 'GET',
      path: endpoints.refunds,
      summary: 'Refunds, the latest first',
      query: refundsQuery,
      answer: answers.refunds,
      handle: async ({ url }) => {
        const reading = readQuery(refundsQuery, url.searchParams)
        if (reading.kind === 'problems') return problem('query_invalid', { problems: reading.problems })
        return answer(await readRefunds(rewards, reading.input.limit))
      },
    },
    {
      ...secret,
      method: 'POST',
      path: endpoints.refunds,
      summary: 'Sends a payment back that bought nothing, or what was too much; once',
      body: refundBody,
      answer: answers.refund,
      handle: ({ request }) => orderRefund(rewards, cursors, request),
    },
  ]
}

async function orderRefund(parts: RewardsParts, cursors: Cursors, request: Request): Promise<Response> {
  if (/^(?:cross|same)-site$/.test(request.headers.get('sec-fetch-site') ?? '')) return problem('cross_site')
  if (!parts.refund) return problem('refunds_missing')
  const reading = await readJsonBody(request)
  if (reading.kind === 'wrong') return problem(reading.code, { detail: reading.detail })
  const input = readInput(refundBody, reading.value)
  if (input.kind === 'problems') return problem('body_invalid', { problems: input.problems })
  const { tx, id } = input.input
  const payment = tx === undefined ? cursors.read(id ?? '')?.tx : decodeSignature(tx)
  const refunding = payment && (await parts.refund(payment))
  if (!refunding || refunding.kind === 'unknown')
    return problem('not_found', { detail: 'No payment has this id; take it from a record of the list.' })
  if (refunding.kind === 'refused')
    return problem('refund_refused', { detail: `It cannot be refunded: ${refunding.why}.` })
  return answer(formatRefundDispatch(parts, refunding.dispatch), { status: refunding.kind === 'planned' ? 202 : 200 })
}
