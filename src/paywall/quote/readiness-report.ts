/** The readiness of a paywall: the tokens that it can sell for, and the reasons for the others. */
import { isKnownCode, knownCodes } from '../../core/money/tokens.ts'
import { refuse } from '../../core/payment/refusals.ts'
import type { ReadinessReport } from '../runtime/catalog.ts'

/**
 * All routes must be ready, except paused ones beside others that are not paused: a server with one dead upstream
 * continues to sell for the others. A token that one route does not accept is not offered, with its reason.
 */
export function joinReports(reports: readonly ReadinessReport[]): ReadinessReport {
  const why = reports.find((report) => report.why !== undefined)?.why
  const selling = reports.filter(({ isPaused }) => !isPaused)
  // The known codes have a fixed order.
  const all = selling[0]?.offered ?? []
  const codes = [...knownCodes.filter((code) => all.includes(code)), ...all.filter((code) => !isKnownCode(code))]
  const isPaused = reports.length > 0 && selling.length === 0
  return {
    ready: !isPaused && selling.every(({ ready }) => ready),
    ...(isPaused && { isPaused }),
    offered: codes.filter((code) => selling.every(({ offered }) => offered.includes(code))),
    withheld: Object.assign({}, ...reports.map(({ withheld }) => withheld)),
    ...(why !== undefined && { why }),
  }
}

/** The response instead of a price while the clock is wrong. Completed payments are still served. */
export const clockWrong = refuse('not_priced', {
  detail: 'The clock of this server is wrong. Nothing is sold until it is corrected.',
})
