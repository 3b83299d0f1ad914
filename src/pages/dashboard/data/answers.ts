/**
 * The responses of the service, as this page reads them: the types of the schemas from which `/openapi.json` is made.
 * A page that is newer than the service, for example behind a cache, still works: parts may be missing.
 */
import type { z } from 'zod'
import type * as analytics from '../../../api/analytics/answers.ts'
import type { signedIn } from '../../../api/auth/answers.ts'
import type { wellKnown } from '../../../api/public/answers.ts'
import type * as screens from '../../../api/screens/answers.ts'

export type FeedRecord = z.output<typeof analytics.feedRecord>
export type Status = FeedRecord['status']
export const statuses: readonly Status[] = ['Verified', 'Pending', 'Expired']
export type State = FeedRecord['state']
export const states: readonly State[] = ['finalized', 'confirmed', 'unclaimed', 'late', 'reverted']

/** Earnings less refunds, with both parts. */
export interface Revenue {
  readonly revenue: string
  readonly gross?: string
  readonly refunded?: string
}

export type PaymentDetail = z.output<typeof analytics.detail>
export const checkNames = ['exists', 'recipient', 'amount', 'memo', 'unused'] as const
export type CheckName = (typeof checkNames)[number]
export type CheckResult = PaymentDetail['checks'][CheckName]
export type TimelineEntry = PaymentDetail['timeline'][number]

export type Analytics = Omit<z.output<typeof analytics.analytics>, 'from' | 'to'>
export type UsageLine = NonNullable<Analytics['usage']>[number]
export type RevenueLine = NonNullable<Analytics['revenue']>[number]
export type TokenLine = NonNullable<Analytics['tokens']>[number]

export type Summary = z.output<typeof analytics.summary>
export type Funnel = Summary['funnel']
export type Totals = NonNullable<Summary['previous']>

export type Overview = z.output<typeof screens.overview>
export type OverviewPoint = Overview['points'][number]
export type EndpointPage = z.output<typeof screens.endpointPage>
export type PayerPage = z.output<typeof screens.payerPage>
export type ServicePage = z.output<typeof screens.servicePage>
export type PriceFile = NonNullable<NonNullable<ServicePage['prices']>['file']>
export type PriceEdit = z.output<typeof screens.priceEdit>
export type RefusalLog = z.output<typeof screens.refusalLog>
export type Refusal = RefusalLog['refusals'][number]
/** The answers that a chart shows. */
export type Charted = Pick<Overview, 'step' | 'points' | 'before'> & {
  readonly summary: Pick<Summary, 'revenueToken' | 'from' | 'to'>
}
export type ServiceStatus = z.output<typeof screens.status>
export type AlertKind = ServiceStatus['alerts'][number]['kind']

export type Webhooks = z.output<typeof analytics.webhooks>
export type Delivery = Webhooks['deliveries'][number]
export type WebhookTest = z.output<typeof analytics.webhookTest>

export type Payers = z.output<typeof analytics.payers>
export type Payer = Payers['payers'][number]

export const problemKinds = [
  'undelivered',
  'unclaimed',
  'underpaid',
  'late',
  'surplus',
  'unmatched',
  'reverted',
] as const
export type ProblemKind = (typeof problemKinds)[number]
export type Problems = z.output<typeof analytics.problemList>
export type ProblemRecord = Problems['records'][number]

export type Offer = EndpointPage['offers'][number]

export type WellKnown = z.output<typeof wellKnown>
type SignedIn = Extract<z.output<typeof signedIn>, { signedIn: true }>
export type Session = { readonly signedIn: boolean } & Partial<Omit<SignedIn, 'signedIn'>>
