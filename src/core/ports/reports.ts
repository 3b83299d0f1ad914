/** The reports as a port: sums, lists and problems of payments. */
import type { TokenCode } from '../money/tokens.ts'
import type { History, PaymentListItem, PaymentListStatus } from '../payment/history.ts'
import type { Discrepancy } from '../payouts/discrepancy.ts'

/**
 * What payments add up to. Those that the chain took back, and those that came too late, are not in it. Refunds stand beside
 * them, by the time at which they were final: revenue is worth less what was refunded.
 */
export interface Sum {
  readonly token: TokenCode
  readonly payments: number
  /** In base units of the token. */
  readonly received: bigint
  /** In units of 10⁻¹² of the report token, of those that have a worth. */
  readonly worth: bigint
  /** How many have none. */
  readonly unvalued: number
  /** What was sent back of payments that were counted, in base units of the token. */
  readonly refunded: bigint
  /** In the same units as `worth`, and by the rates of the payments: what went back whole leaves nothing of them. */
  readonly refundedWorth: bigint
}

export interface EndpointSum extends Sum {
  readonly endpoint: string
}

export interface Point extends Sum {
  /** Start of the hour or day (UTC), in milliseconds since 1970. */
  readonly at: number
}

/** From a whole hour (UTC) on, and before another, in milliseconds since 1970. By the time of the block. */
export interface Period {
  readonly from?: number
  readonly to?: number
}

/** What requests came to that are not payments themselves. Counted in memory and written down every second. */
export const usageEvents = ['challenged', 'free', 'refused', 'reused', 'delivered', 'undelivered'] as const
export type UsageEvent = (typeof usageEvents)[number]

export interface Usage {
  /** Start of the hour, in milliseconds since 1970. */
  readonly at: number
  readonly endpoint: string
  readonly event: UsageEvent
  readonly count: number
}

/** A place in the list: captures are ordered by time and transaction. */
export interface PaymentListMark {
  readonly at: number
  readonly tx: Uint8Array
}

export interface PaymentListQuery {
  readonly from?: number
  readonly to?: number
  readonly endpoint?: string
  readonly token?: TokenCode
  readonly status?: PaymentListStatus
  readonly state?: PaymentListItem['state']
  /** Pseudonyms, and the transaction itself: exactly. */
  readonly payer?: string
  readonly request?: string
  readonly tx?: Uint8Array
  /** Beyond this one, in the order asked for. */
  readonly after?: PaymentListMark
  readonly order: 'latest' | 'oldest'
  readonly most: number
}

/**
 * What somebody paid in a period, and was sent back in it: a line for each token, and the times of the first and the last
 * payment in it.
 */
export interface PayerSum {
  readonly payer: string
  readonly sums: readonly Sum[]
  readonly first: number
  readonly last: number
}

/** A place in a list of payers: by what they paid less what was sent back, or by the last that they paid. */
export type PayerMark = { readonly worth: bigint; readonly payer: string } | PaymentListMark

export interface PayerQuery {
  /** Whole days (UTC), in milliseconds since 1970. */
  readonly from: number
  readonly to: number
  readonly order: 'revenue' | 'latest'
  readonly after?: PayerMark
  readonly most: number
}

/** `next` where there may be more: a page is also cut where too many payments would have to be looked at for it. */
export interface PayerPage {
  readonly payers: readonly PayerSum[]
  readonly next?: PayerMark
}

/** What somebody has to look after, each payment by one of them: the first that is true of it. */
export const problemKinds = [
  'reverted',
  'late',
  'undelivered',
  'surplus',
  'unmatched',
  'underpaid',
  'unclaimed',
] as const
export type ProblemKind = (typeof problemKinds)[number]

export interface Problem {
  readonly kind: ProblemKind
  readonly capture: PaymentListItem
  /** What was asked for, where that is known. */
  readonly required: bigint | undefined
  /** Until when it can be used, or claimed; 0 where it is for nothing of ours. */
  readonly until: number
}

export interface ProblemQuery {
  readonly kind?: ProblemKind
  /** The latest first, beyond this one. */
  readonly after?: PaymentListMark
  readonly most: number
}

/**
 * What payments add up to. Sums change in the same transaction as the payments they count, so they always agree.
 */
export interface Books {
  /** By token. */
  sums(period: Period): Promise<readonly Sum[]>
  /** By endpoint and token, those with most payments first: all lines of the first `most` endpoints. */
  endpoints(period: Period, most: number): Promise<readonly EndpointSum[]>
  /** By hour or day, and token, oldest first. Empty ones are left out. */
  series(
    query: Required<Period> & { readonly step: 'hour' | 'day'; readonly endpoint?: string },
  ): Promise<readonly Point[]>
  listPayments(query: PaymentListQuery): Promise<readonly PaymentListItem[]>
  findPayment(tx: Uint8Array): Promise<PaymentListItem | undefined>
  /** Also of what is in no list, because its memo is none of ours. */
  history(tx: Uint8Array): Promise<History | undefined>
  /**
   * Who paid in a period. By revenue they are ranked among those who paid most on any day of it, about a thousand; by their
   * last payment all are listed.
   */
  payers(query: PayerQuery): Promise<PayerPage>
  problems(query: ProblemQuery): Promise<readonly Problem[]>
  /** Of each kind, `most` at the most. */
  countProblems(most: number): Promise<Readonly<Record<ProblemKind, number>>>
  count(usage: readonly Usage[]): Promise<void>
  /** Summed up by endpoint and event; `at` is 0. */
  usage(period: Period): Promise<readonly Usage[]>
  /** Counts all payments again and compares. */
  audit(): Promise<readonly Discrepancy[]>
  /** Reckons worth and sums anew from the payments, in this token from now on. */
  rebuild(reportToken: TokenCode): Promise<void>
  /** The token in which worth is reckoned; undefined before the first start. */
  reportToken(): Promise<TokenCode | undefined>
}
