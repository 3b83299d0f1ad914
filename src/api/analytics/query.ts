/** The filter of the payment list and of every export, and its conversion back into a query. */
import type { PaymentListQuery } from '../../core/ports/reports.ts'
import { type Input, readQuery } from '../http/inputs.ts'
import { filterNames, filterQuery } from './queries.ts'

export type PaymentFilter = Pick<PaymentListQuery, 'from' | 'to' | 'endpoint' | 'token' | 'status' | 'state' | 'payer'>

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
