/** How a paywall says what it can sell for, and why not for more. */
import type { TokenCode } from '../core/network.ts'
import { tokenCodes } from '../core/network.ts'

export interface Readiness {
  readonly offered: readonly TokenCode[]
  /** Why a token is not offered, one sentence each. */
  readonly withheld: Readonly<Partial<Record<TokenCode, string>>>
}

export interface ReadinessReport extends Readiness {
  readonly ready: boolean
  /** Why it is not ready, for the operator. */
  readonly why?: string
}

/** All have to be for sale. What one of them does not take is not offered, with its reason. */
export function joinReports(reports: readonly ReadinessReport[]): ReadinessReport {
  const why = reports.find((report) => report.why !== undefined)?.why
  return {
    ready: reports.every(({ ready }) => ready),
    offered: tokenCodes.filter((code) => reports.length > 0 && reports.every(({ offered }) => offered.includes(code))),
    withheld: Object.assign({}, ...reports.map(({ withheld }) => withheld)),
    ...(why !== undefined && { why }),
  }
}
