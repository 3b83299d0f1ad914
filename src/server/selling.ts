/** How a paywall says what it can sell for, and why not for more. */
import type { TokenCode } from '../core/network.ts'

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
