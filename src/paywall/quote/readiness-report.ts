/** How a paywall says what it can sell for, and why not for more. */
import { tokenCodes } from '../../core/money/tokens.ts'
import { refuse } from '../../core/payment/refusals.ts'
import type { ReadinessReport } from '../runtime/catalog.ts'

/**
 * All have to be for sale, but for those that are paused beside others that are not: a server with one dead upstream goes on
 * selling for the others. What one of them does not take is not offered, with its reason.
 */
export function joinReports(reports: readonly ReadinessReport[]): ReadinessReport {
  const why = reports.find((report) => report.why !== undefined)?.why
  const selling = reports.filter(({ isPaused }) => !isPaused)
  const isPaused = reports.length > 0 && selling.length === 0
  return {
    ready: !isPaused && selling.every(({ ready }) => ready),
    ...(isPaused && { isPaused }),
    offered: tokenCodes.filter((code) => selling.length > 0 && selling.every(({ offered }) => offered.includes(code))),
    withheld: Object.assign({}, ...reports.map(({ withheld }) => withheld)),
    ...(why !== undefined && { why }),
  }
}

/** The answer in place of a price while the clock is wrong. Payments that were made are served all the same. */
export const clockWrong = refuse('not_priced', {
  detail: 'The clock of this server is wrong; nothing is sold until it is right.',
})
