/** Schemas of the analytics queries. They parse the queries, and `/openapi.json` is made from them. */
import { z } from 'zod'
import { type PaymentListItem, type PaymentListStatus, paymentListStatuses } from '../../core/payment/history.ts'
import { type PayerMark, type PaymentListMark, problemKinds } from '../../core/ports/reports.ts'
import { token as tokenCode } from '../http/answers.ts'
import { asRead } from '../http/inputs.ts'
import { cursorBy, limit } from '../http/queries.ts'
import { parseTime } from '../http/time-text.ts'
import { feedStatuses } from './format.ts'

const time = (what: string) =>
  z
    .string()
    .transform(
      asRead(parseTime, 'must be a time with a zone (2026-01-31T12:00:00Z), a date (2026-01-31) or milliseconds'),
    )
    .optional()
    .meta({ description: `${what} RFC 3339, a date, or milliseconds since 1970.` })

const from = time('Start, inclusive, by block time.')
const to = time('End, exclusive.')
const wrongEndpoint = 'must have 1 to 2048 characters, as shown in the list'
const endpoint = z
  .string()
  .min(1, wrongEndpoint)
  .max(2_048, wrongEndpoint)
  .optional()
  .meta({ description: 'The paid endpoint, as shown in the list.', examples: ['/api/weather'] })
const statuses = [...paymentListStatuses, ...Object.values(feedStatuses)] as const
const status = z
  .enum(statuses)
  .transform(
    (one) =>
      (paymentListStatuses.find((known) => known === one || feedStatuses[known] === one) ??
        'pending') as PaymentListStatus,
  )
  .optional()
  .meta({ description: 'Verification status, in either spelling.' })

const ordered = { from, to }
const token = tokenCode.optional().meta({ description: 'Token of the payment.' })
export const states = [
  'unclaimed',
  'confirmed',
  'finalized',
  'late',
  'reverted',
] as const satisfies readonly PaymentListItem['state'][]
const state = z.enum(states).optional().meta({ description: 'State, more precise than the status.' })
const wrongName = 'must be 1 to 128 letters, digits, - or _'
const name = z.string().regex(/^[\w-]{1,128}$/, wrongName)
const payer = name.optional().meta({ description: 'Pseudonym of the payer, as shown in the list.' })
const filter = { ...ordered, endpoint, token, status, state, payer }
export const filterShape = { endpoint, payer }
export const filterNames = [
  'from',
  'to',
  'endpoint',
  'token',
  'status',
  'state',
  'payer',
] as const satisfies readonly (keyof typeof filter)[]

function inOrder<Query extends { readonly from?: number | undefined; readonly to?: number | undefined }>(query: Query) {
  return query.from === undefined || query.to === undefined || query.from < query.to
}
const notInOrder = { error: 'from must be before to' }

const views = ['records', 'usage', 'revenue', 'tokens', 'totals', 'names'] as const
export type View = (typeof views)[number]

function parseViews(text: string): readonly View[] | undefined {
  const names = text.split(',')
  const known = names.flatMap((name) => views.find((view) => view === name) ?? [])
  return known.length === names.length ? known : undefined
}

/** The text, or two ends of it as the dashboard shortens it. */
const searched = /^(?:[\w-]{1,256}|[\w-]{4,128}(?:…|\.\.\.)[\w-]{0,128})$/

/** `readCursor` opens cursors of this service. Any other cursor is invalid. */
export function pageQuery(readCursor: (text: string) => PaymentListMark | undefined) {
  return z
    .strictObject({
      ...filter,
      order: z.enum(['latest', 'oldest', 'largest', 'smallest']).default('latest').meta({
        description: 'By time, or by value. An order by value ranks the latest 2,000 payments of the filter.',
      }),
      q: z
        .string()
        .regex(searched, "must be an id, a transaction, a requestId or its hash, or a payer's pseudonym")
        .optional()
        .meta({
          description: `An id, a transaction, a requestId or its hash, or a payer's pseudonym. Of a pseudonym or a
            transaction also the first characters, four or more, or both ends: \`5h3K…9fQx\`.`.replace(/\s+/g, ' '),
        }),
      limit: limit('Records'),
      cursor: cursorBy(readCursor).meta({ description: 'The `next` of the previous page, or the `id` of a record.' }),
      view: z
        .string()
        .transform(asRead(parseViews, `must be some of ${views.join(', ')}, separated by commas`))
        .optional()
        .meta({ description: `Only these parts of the response, separated by commas: ${views.join(', ')}.` }),
    })
    .refine(inOrder, notInOrder)
}
export type PageQuery = z.output<ReturnType<typeof pageQuery>>

/** `readCursor` opens a cursor of either order. */
export function payersQuery(readCursor: (text: string) => PayerMark | undefined) {
  return z
    .strictObject({
      ...ordered,
      order: z.enum(['revenue', 'latest']).default('revenue'),
      limit: limit('Payers'),
      cursor: cursorBy(readCursor).meta({ description: 'The `next` of the previous page, in the same order.' }),
    })
    .refine(inOrder, notInOrder)
    .refine(({ order, cursor }) => !cursor || 'worth' in cursor === (order === 'revenue'), {
      error: 'cursor belongs to the other order; start again without it',
    })
}
export type PayersQuery = z.output<ReturnType<typeof payersQuery>>

export function problemsQuery(readCursor: (text: string) => PaymentListMark | undefined) {
  return z.strictObject({
    kind: z.enum(problemKinds).optional().meta({ description: 'Only one kind.' }),
    limit: limit('Records'),
    cursor: cursorBy(readCursor).meta({ description: 'The `next` of the previous page, or the `id` of a record.' }),
  })
}
export type ProblemsQuery = z.output<ReturnType<typeof problemsQuery>>

/** Selects the payments of an export. `others` are parameters that the caller reads. */
export function filterQuery(others: readonly string[]) {
  const foreign = Object.fromEntries(others.map((name) => [name, z.string().optional()]))
  return z.strictObject({ ...foreign, ...filter }).refine(inOrder, notInOrder)
}

const compared = {
  ...ordered,
  before: time('Start of the period to compare with; by default the preceding period of the same length.'),
}
export const receiptQuery = z.strictObject({ id: z.string().max(256).meta({ description: 'The id of a record.' }) })

export const summaryQuery = z.strictObject(compared).refine(inOrder, notInOrder)
export type SummaryQuery = z.output<typeof summaryQuery>

export const seriesQuery = z
  .strictObject({ ...ordered, step: z.enum(['hour', 'day']).default('hour'), endpoint })
  .refine(inOrder, notInOrder)
export type SeriesQuery = z.output<typeof seriesQuery>

export const endpointQuery = z.strictObject({ ...compared, endpoint: endpoint.unwrap() }).refine(inOrder, notInOrder)
export type EndpointQuery = z.output<typeof endpointQuery>

export const payerQuery = z.strictObject({ ...compared, payer: payer.unwrap() }).refine(inOrder, notInOrder)
export type PayerPageQuery = z.output<typeof payerQuery>
