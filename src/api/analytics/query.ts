/** Which payments somebody asks for: the filter of the list and of every export, and its way back into an address. */
import type { TokenCode } from '../../core/money/tokens.ts'
import type { PaymentListItem, PaymentListStatus } from '../../core/payment/history.ts'
import type { Input } from '../http/inputs.ts'
import { readQuery } from '../http/inputs.ts'
import { filterNames, filterQuery } from './queries.ts'

export interface PaymentFilter {
  /** Milliseconds since 1970, this moment included. */
  readonly from?: number
  /** This moment not included. */
  readonly to?: number
  readonly endpoint?: string
  readonly token?: TokenCode
  readonly status?: PaymentListStatus
  readonly state?: PaymentListItem['state']
  /** Pseudonym. */
  readonly payer?: string
}

/** What an export asks for, read as the list reads it. `others` are names that the caller reads itself. */
export function readPaymentFilter(params: URLSearchParams, others: readonly string[] = []): Input<PaymentFilter> {
  const reading = readQuery(filterQuery(others), params)
  if (reading.kind === 'problems') return reading
  const given = Object.entries(reading.input).filter(([name, value]) => value !== undefined && !others.includes(name))
  return { kind: 'input', input: Object.fromEntries(given) }
}

/** The same filter as a query again, in one spelling. */
export function formatPaymentFilter(filter: PaymentFilter): URLSearchParams {
  const params = new URLSearchParams()
  for (const name of filterNames) {
    const value = filter[name]
    if (value !== undefined) params.set(name, typeof value === 'number' ? new Date(value).toISOString() : value)
  }
  return params
}
