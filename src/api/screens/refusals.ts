/** `GET /api/refusals`: the latest refused proofs of this process, each with its reason in words. */

import type { RefusalLog } from '../../core/payment/refusal-log.ts'
import { refusals } from '../../core/payment/refusals.ts'
import type { RefusalsQuery } from './queries.ts'

export function readRefusals(log: Pick<RefusalLog, 'since' | 'list'>, query: RefusalsQuery) {
  const { code, endpoint, payer } = query
  const all = log.list()
  const found = all.filter(
    (one) =>
      one.code === (code ?? one.code) &&
      one.endpoint === (endpoint ?? one.endpoint) &&
      one.payer === (payer ?? one.payer),
  )
  const time = (at: number) => new Date(at).toISOString()
  return {
    since: time(log.since),
    codes: [...new Set(all.map((one) => one.code))].sort(),
    refusals: found.map(({ first, last, ...entry }) => ({
      ...entry,
      first: time(first),
      last: time(last),
      reason: refusals[entry.code].title,
      isRetryable: refusals[entry.code].retryable,
    })),
  }
}
