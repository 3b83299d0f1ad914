/** The reports as a port: sums, lists and problems of payments. */
import type { TokenCode } from '../money/tokens.ts'
import type { History, PaymentListItem, PaymentListStatus } from '../payment/history.ts'
import type { Discrepancy } from '../payouts/discrepancy.ts'

/**
 * The sum of payments, without reverted and late ones. Refunds are listed beside it, by the time at which they became
 * final. Net revenue is the value less the refunds.
 */
export interface Sum {
  readonly token: TokenCode
  readonly payments: number
  /** In base units of the token. */
  readonly received: bigint
  /** In units of 10⁻¹² of the report token, for payments with a value. */
  readonly worth: bigint
  /** The number of payments without a value. */
  readonly unvalued: number
  /** The refunds of counted payments, in base units of the token. */
  readonly refunded: bigint
  /**
   * In the same units as `worth`, by the rates of the payments, so that a full refund cancels a payment's value
   * exactly.
   */
  readonly refundedWorth: bigint
}

export interface EndpointSum extends Sum {
  readonly endpoint: string
}

export interface Point extends Sum {
  /** Start of the hour or day (UTC), in milliseconds since 1970. */
  readonly at: number
}

/** From one full hour (UTC) to before another, in milliseconds since 1970, by block time. */
export interface Period {
  readonly from?: number
  readonly to?: number
}

/** Results of requests that are not payments. They are counted in memory and written every second. */
export const usageEvents = ['challenged', 'free', 'refused', 'reused', 'delivered', 'undelivered'] as const
export type UsageEvent = (typeof usageEvents)[number]

export interface Usage {
  /** Start of the hour, in milliseconds since 1970. */
  readonly at: number
  readonly endpoint: string
  readonly event: UsageEvent
  readonly count: number
}

/** A position in the list, which is ordered by time and transaction. */
export interface PaymentListMark {
  readonly at: number
  readonly tx: Uint8Array
}

export interface PaymentListQuery {
  /** Milliseconds since 1970, inclusive. */
  readonly from?: number
  /** Exclusive. */
  readonly to?: number
  readonly endpoint?: string
  readonly token?: TokenCode
  readonly status?: PaymentListStatus
  readonly state?: PaymentListItem['state']
  /** Exact matches of pseudonyms, or of the transaction itself. */
  readonly payer?: string
  readonly request?: string
  readonly tx?: Uint8Array
  /** Entries after this one, in the requested order. */
  readonly after?: PaymentListMark
  readonly order: 'latest' | 'oldest'
  readonly most: number
}

/** The payments of one token in a list. Like `Sum`, it counts accepted payments. */
export interface ListSum {
  readonly token: TokenCode
  readonly payments: number
  /** The number of the other payments on chain: unclaimed, underpaid, late and reverted ones. */
  readonly unaccepted: number
  /** The number of claims whose transactions no node has returned. */
  readonly notOnChain: number
  /** In base units of the token. */
  readonly units: bigint
  /** In units of 10⁻¹² of the report token, for payments with a value. */
  readonly worth: bigint
  /** The final refunds of payments that are not late, whenever they were sent, in the same units as `worth`. */
  readonly refundedWorth: bigint
  /** The number of payments without a value. */
  readonly unvalued: number
}

/** A payer's payments and refunds in a period: one line per token, and the times of the first and last payment. */
export interface PayerSum {
  readonly payer: string
  readonly sums: readonly Sum[]
  readonly first: number
  readonly last: number
}

/** A position in a list of payers: by net payments, or by the last payment. */
export type PayerMark = { readonly worth: bigint; readonly payer: string } | PaymentListMark

export interface PayerQuery {
  /** Whole days (UTC), in milliseconds since 1970. */
  readonly from: number
  readonly to: number
  readonly order: 'revenue' | 'latest'
  readonly after?: PayerMark
  readonly most: number
}

/** `next` is set if there may be more. A page also ends early if it would have to read too many payments. */
export interface PayerPage {
  readonly payers: readonly PayerSum[]
  readonly next?: PayerMark
}

/** The problems that need an operator's attention. Each payment has one kind: the first that applies. */
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
  readonly payment: PaymentListItem
  /** The price, if it is known. */
  readonly required: bigint | undefined
  /** The end of its use or claim period; 0 if its memo is not a requestId of this service. */
  readonly until: number
}

export interface ProblemQuery {
  readonly kind?: ProblemKind
  /** The latest first, after this one. */
  readonly after?: PaymentListMark
  readonly most: number
}

/** Sums of payments. A sum changes in the same transaction as its payments, so both always agree. */
export interface Books {
  /** By token. */
  sums(period: Period): Promise<readonly Sum[]>
  /** By endpoint and token, the most payments first: all lines of the first `most` endpoints. */
  endpoints(period: Period, most: number): Promise<readonly EndpointSum[]>
  /** By hour or day, and token, the oldest first. Empty ones are left out. */
  series(
    query: Required<Period> & { readonly step: 'hour' | 'day'; readonly endpoint?: string },
  ): Promise<readonly Point[]>
  /** The payments of one payer by day, and token, the oldest first. The period consists of whole days (UTC). */
  payerSeries(query: Required<Period> & { readonly payer: string }): Promise<readonly Point[]>
  listPayments(query: PaymentListQuery): Promise<readonly PaymentListItem[]>
  /** The sums of a list by token. Of registered and of observed payments, it reads at most `most` each. */
  sumPayments(query: PaymentListQuery): Promise<readonly ListSum[]>
  /** Payers with a counted payment whose pseudonym is between two texts, both inclusive. */
  findPayers(from: string, to: string, most: number): Promise<readonly string[]>
  /** Transactions in the list between two signatures, both inclusive. */
  findTransactions(from: Uint8Array, to: Uint8Array, most: number): Promise<readonly Uint8Array[]>
  findPayment(tx: Uint8Array): Promise<PaymentListItem | undefined>
  /** Includes payments that are in no list because their memo is not a requestId of this service. */
  history(tx: Uint8Array): Promise<History | undefined>
  /**
   * The payers of a period. By revenue, it ranks those who paid most on any of its days, about a thousand. By last
   * payment, it lists all.
   */
  payers(query: PayerQuery): Promise<PayerPage>
  problems(query: ProblemQuery): Promise<readonly Problem[]>
  /** At most `most` of each kind. */
  countProblems(most: number): Promise<Readonly<Record<ProblemKind, number>>>
  count(usage: readonly Usage[]): Promise<void>
  /** Counted payments of a period for which nothing was delivered, refunded or not, by endpoint. */
  countUndelivered(period: Period): Promise<readonly { readonly endpoint: string; readonly count: number }[]>
  /** Summed by endpoint and event; `at` is 0. */
  usage(period: Period): Promise<readonly Usage[]>
  /** Recounts all payments and reports the differences. */
  audit(): Promise<readonly Discrepancy[]>
  /** Recomputes all values and sums from the payments, in this token from now on. */
  rebuild(reportToken: TokenCode): Promise<void>
  /** The token of valuations. Undefined before the first start. */
  reportToken(): Promise<TokenCode | undefined>
}
