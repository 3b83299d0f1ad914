/** Schemas of the responses that each serve one screen of the dashboard. */
import { z } from 'zod'
import { feedRecord, period, problemList, revenue, summary, tokenLine, usage } from '../analytics/answers.ts'
import { count, moment, token } from '../http/answers.ts'
import { offer } from '../public/answers.ts'
import { refusalCodes } from './queries.ts'
import { alertKinds } from './status.ts'

export const status = z
  .strictObject({
    alerts: z.array(
      z.strictObject({ kind: z.enum(alertKinds), detail: z.string().meta({ description: 'The reason, in words.' }) }),
    ),
    problems: problemList.shape.counts,
  })
  .meta({ id: 'Status' })

const overviewPoint = z.strictObject({ at: moment, payments: count, ...revenue })
export const overview = z
  .strictObject({
    summary,
    step: z.enum(['hour', 'day']),
    points: z.array(overviewPoint).meta({ description: 'Hours or days (UTC) with payments or refunds.' }),
    before: z
      .strictObject({ ...period, points: z.array(overviewPoint) })
      .nullable()
      .meta({ description: 'The period to compare with.' }),
    tokens: z.array(tokenLine),
    records: z.array(feedRecord).meta({ description: 'The latest payments of all time.' }),
    status,
    setup: z
      .strictObject({
        hasPayments: z.boolean(),
        hasOwners: z.boolean().meta({ description: 'Whether the option `owners` is set.' }),
        hasWebhooks: z.boolean(),
        isLive: z.boolean().meta({ description: 'Whether the service sells for real money.' }),
        frontPage: z.string().nullable().meta({ description: 'The path of the front page, if there is one.' }),
      })
      .meta({ description: 'The first steps of a new service.' }),
  })
  .meta({ id: 'Overview' })

const chart = { step: overview.shape.step, points: overview.shape.points, before: overview.shape.before }
const sums = { payments: count, ...revenue }
const used = z.strictObject(usage).meta({ description: 'Requests that are not payments, in whole hours.' })

export const endpointPage = z
  .strictObject({
    endpoint: z.string(),
    offers: z.array(offer).meta({ description: 'The current price; empty if the endpoint is no longer sold.' }),
    summary: z.strictObject({
      revenueToken: token,
      ...period,
      ...sums,
      usage: used,
      previous: z.strictObject({ ...sums, usage: used }).meta({ description: 'The period to compare with.' }),
    }),
    ...chart,
    tokens: z.array(tokenLine),
    records: z.array(feedRecord).meta({ description: 'Its latest payments of all time.' }),
  })
  .meta({ id: 'EndpointPage' })

export const refusalLog = z
  .strictObject({
    since: moment.meta({ description: 'The start of the log, with this process.' }),
    codes: z.array(z.enum(refusalCodes)).meta({ description: 'The reasons in the log.' }),
    refusals: z
      .array(
        z.strictObject({
          code: z.enum(refusalCodes),
          reason: z.string(),
          isRetryable: z.boolean().meta({ description: 'Whether the same proof may be sent again.' }),
          endpoint: z.string(),
          payer: z.string().meta({ description: 'Pseudonym of the wallet that the proof names; not verified.' }),
          first: moment,
          last: moment,
          count,
        }),
      )
      .meta({ description: 'The latest first. Equal refusals are one entry.' }),
  })
  .meta({ id: 'RefusalLog' })

const priceFile = z.strictObject({
  file: z.string(),
  version: z.string(),
  routes: z.array(
    z.strictObject({
      route: count.meta({ description: 'The place of the route in the file, from 0.' }),
      name: z.string(),
      price: z.string(),
      token,
      why: z.string().meta({ description: 'The reason if this price cannot be edited.' }),
    }),
  ),
  why: z.string().meta({ description: 'The reason if no price can be edited.' }),
})
const change = { name: z.string(), before: z.string(), after: z.string() }

export const priceEdit = z
  .strictObject({
    version: z.string().meta({ description: 'The version of the file after the request.' }),
    isSaved: z.boolean(),
    lines: z.array(z.strictObject({ route: count, line: count, ...change })),
  })
  .meta({ id: 'PriceEdit' })

export const servicePage = z
  .strictObject({
    routes: z.array(
      offer.extend({
        isSelling: z.boolean(),
        why: z.string().meta({ description: 'The reason if it does not sell, for example its upstream.' }),
      }),
    ),
    nodes: z.array(
      z.strictObject({
        name: z.string().meta({ description: 'Its number in the configuration: an address can contain a key.' }),
        isReachable: z.boolean(),
        slot: count.nullable(),
        lag: count.nullable().meta({ description: 'Slots behind the furthest node.' }),
        latencyMs: count,
        why: z.string(),
      }),
    ),
    upstreams: z
      .array(z.strictObject({ origin: z.string(), routes: z.array(z.string()), isUp: z.boolean(), why: z.string() }))
      .meta({ description: 'The APIs behind a gateway. Empty in other services.' }),
    prices: z
      .strictObject({
        file: priceFile.nullable().meta({ description: 'Null for a reader who is not a signed-in owner.' }),
        changes: z
          .array(z.strictObject({ at: moment, wallet: z.string(), ...change }))
          .meta({ description: 'The latest changes, newest first.' }),
      })
      .nullable()
      .meta({ description: 'Null if prices cannot be edited.' }),
    owners: z.strictObject({
      wallets: z.array(z.string()),
      isSet: z
        .boolean()
        .meta({ description: 'Whether the option `owners` is set; otherwise they are the recipients.' }),
    }),
    versions: z.strictObject({
      paystile: z.string(),
      node: z.string(),
      ledger: z.enum(['sqlite', 'postgres']).nullable(),
      schema: count.nullable(),
    }),
    status,
  })
  .meta({ id: 'ServicePage' })

export const payerPage = z
  .strictObject({
    payer: z.string().meta({ description: 'Pseudonym.' }),
    first: moment.nullable().meta({ description: 'Its first payment of all time.' }),
    last: moment.nullable(),
    summary: z.strictObject({
      revenueToken: token,
      ...period,
      ...sums,
      previous: z.strictObject(sums).meta({ description: 'The period to compare with.' }),
    }),
    ...chart,
    tokens: z.array(tokenLine),
    records: z.array(feedRecord).meta({ description: 'Its latest payments of all time.' }),
  })
  .meta({ id: 'PayerPage' })
