/** The filter of the payment list and of every export, and its conversion back into a query. */
import type { TokenCode } from '../../core/money/tokens.ts'
import type { PaymentListItem, PaymentListStatus } from '../../core/payment/history.ts'
import type { Input } from '../http/inputs.ts'
import { readQuery } from '../http/inputs.ts'
import { filterNames, filterQuery } from './queries.ts'

export interface PaymentFilter {
  /** Milliseconds since 1970, inclusive. */
  readonly from?: number
  /** Exclusive. */
  readonly to?: number
  readonly endpoint?: string
  readonly token?: TokenCode
  readonly status?: PaymentListStatus
  readonly state?: PaymentListItem['state']
  /** Pseudonym. */
  readonly payer?: string
}

/** Reads the filter of an export with the rules of the list. `others` are parameters that the caller reads. */
export function readPaymentFilter(params: URLSearchParams, others: readonly string[] = []): Input<PaymentFilter> {
  const reading = readQuery(filterQuery(others), params)
  if (reading.kind === 'problems') return reading
  const given = Object.entries(reading.input).filter(([name, value]) => value !== undefined && !others.includes(name))
  return { kind: 'input', input: Object.fromEntries(given) }
}

/** The same filter as a query, in one canonical spelling. */
export function formatPaymentFilter(filter: PaymentFilter): URLSearchParams {
  const params = new URLSearchParams()
  for (const name of filterNames) {
    const value = filter[name]
    if (value !== undefined) params.set(name, typeof value === 'number' ? new Date(value).toISOString() : value)
  }
  return params
}
