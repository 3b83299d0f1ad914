/** What every adapter's middleware carries besides its own call: when it is ready, and how it ends. */
import type { Paywall } from '../paywall/paywall.ts'
import type { Readiness, ReadinessReport } from '../paywall/runtime/catalog.ts'

export interface Lifecycle {
  /**
   * Resolves when ledger and chain are there and some token can be paid with, and says which; rejects with the reason why
   * not. Waiting for it is optional.
   */
  ready(): Promise<Readiness>
  /** The same for health checks: never rejects. */
  readiness(): Promise<ReadinessReport>
  /**
   * Says "not now", for as long as the handler could not deliver: unpaid requests get 503 instead of a challenge, proofs get 503
   * and stay unused, and health checks tell `why`. For this process only.
   *
   * @example
   * database.on('lost', () => paid.pause('the database is out of reach'))
   * database.on('found', () => paid.resume())
   */
  pause(why: string): void
  resume(): void
  /** Turns new proofs away, waits for running responses, and closes ledger and nodes. */
  close(): Promise<void>
  /** What was counted so far, in Prometheus's text format. */
  metrics(): Promise<string>
  /** The public key under the service's receipts, base58. */
  identity(): Promise<string>
}

export function withLifecycle<Middleware extends object>(
  paywall: Paywall,
  middleware: Middleware,
): Middleware & Lifecycle {
  const { ready, readiness, pause, resume, close, metrics, identity } = paywall
  return Object.assign(middleware, { ready, readiness, pause, resume, close, metrics, identity })
}
