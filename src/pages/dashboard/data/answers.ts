/** The responses of the service, as this page reads them. Optional parts are newer: an older service omits them. */
import type { Network, TokenCode } from '../../../core/money/tokens.ts'
import type { Refund, Refundable } from './outgoing.ts'

export type Status = 'Pending' | 'Verified' | 'Expired'
export const statuses: readonly Status[] = ['Verified', 'Pending', 'Expired']
export type State = 'unclaimed' | 'confirmed' | 'finalized' | 'late' | 'reverted'
export const states: readonly State[] = ['finalized', 'confirmed', 'unclaimed', 'late', 'reverted']
export type ByToken = Readonly<Record<TokenCode, string>>

export interface FeedRecord {
  readonly id: string
  readonly timestamp: string
  readonly requestId: string
  readonly payer: string
  readonly endpoint: string
  readonly token: TokenCode
  readonly amount: string
  readonly worth: string
  readonly revenueToken: TokenCode
  readonly status: Status
  readonly state: State
  readonly delivery: 'none' | 'some' | 'all'
  readonly recipient: string
  readonly shared?: string
  readonly refundedAt?: string
  /** The refunded amount, in the token; empty without a refund. */
  readonly refunded?: string
  readonly revenue?: string
}

/** Earnings less refunds, with both parts. */
export interface Revenue {
  readonly revenue: string
  readonly gross?: string
  readonly refunded?: string
}

export const checkNames = ['exists', 'recipient', 'amount', 'memo', 'unused'] as const
export type CheckName = (typeof checkNames)[number]
export type CheckResult = 'passed' | 'failed' | 'unchecked'

export interface TimelineEntry {
  readonly at: string | null
  readonly event: string
  readonly note?: string
  /** The amount of an outgoing transaction. */
  readonly amount?: string
  readonly token?: TokenCode
  readonly tx?: string
}

export interface PaymentDetail extends FeedRecord {
  readonly tx?: string
  readonly checks?: Readonly<Record<CheckName, CheckResult>>
  readonly required?: string
  readonly timeline?: readonly TimelineEntry[]
  readonly usableUntil?: string | null
  readonly allowance?: { readonly unit: string; readonly amount: string } | null
  readonly remaining?: string | null
}

export interface UsageLine {
  readonly endpoint: string
  readonly calls: number
  readonly payments: number
  readonly challenged: number
  readonly free: number
  readonly refused: number
  readonly reused: number
  readonly delivered: number
  readonly undelivered: number
}

export interface RevenueLine extends Revenue {
  readonly endpoint: string
  readonly payments: number
}

export interface TokenLine extends Revenue {
  readonly token: TokenCode
  readonly payments: number
  readonly received: string
  readonly sentBack?: string
  readonly share: string
}

export interface Analytics {
  readonly revenueToken: TokenCode
  readonly records?: readonly FeedRecord[]
  readonly next?: string | null
  readonly usage?: readonly UsageLine[]
  readonly revenue?: readonly RevenueLine[]
  readonly tokens?: readonly TokenLine[]
}

export interface Funnel {
  readonly challenged: number
  readonly paid: number
  readonly delivered: number
}

export interface Totals {
  readonly totalRevenue: string
  readonly gross?: string
  readonly refunded?: string
  readonly payments: number
  readonly funnel: Funnel
}

export interface Summary extends Totals {
  readonly topEndpoints: readonly (Revenue & {
    readonly path: string
    readonly calls: number
    readonly payments: number
  })[]
  readonly revenueToken: TokenCode
  readonly unvalued: number
  readonly pending: number
  readonly unclaimed: number
  readonly previous?: Totals
}

export interface SeriesPoint extends Revenue {
  readonly at: string
  readonly payments: number
}

export interface Series {
  readonly step: 'hour' | 'day'
  readonly revenueToken: TokenCode
  readonly points: readonly SeriesPoint[]
}

export interface Payer extends Revenue {
  readonly payer: string
  readonly payments: number
  readonly received: ByToken
  readonly sentBack?: ByToken
  readonly first: string
  readonly last: string
}

export interface Payers {
  readonly revenueToken: TokenCode
  readonly payers: readonly Payer[]
  readonly next: string | null
}

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

export interface ProblemRecord extends Partial<FeedRecord> {
  readonly kind: ProblemKind
  readonly required?: string
  readonly received?: string
  readonly tx?: string
  readonly note?: string
  readonly next?: string
  readonly refundable?: Refundable
  readonly refund?: Refund
}

export interface Problems {
  readonly counts: Readonly<Partial<Record<ProblemKind, number>>>
  readonly records: readonly ProblemRecord[]
  readonly next: string | null
}

export interface WellKnown {
  readonly service: string
  readonly network: Network
  readonly testMode: boolean
  readonly banner?: string
  readonly recipients: readonly string[]
  readonly endpoints: readonly {
    readonly methods: readonly string[]
    readonly path: string | null
    readonly price: string | null
    readonly token: TokenCode
  }[]
}

export interface Session {
  readonly signedIn: boolean
  readonly wallet?: string
  readonly owner?: boolean
  readonly expiresAt?: string
}
