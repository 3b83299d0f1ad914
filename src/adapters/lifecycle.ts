/** The lifecycle methods of every adapter's middleware: readiness, pause and close. */
import type { Paywall } from '../paywall/paywall.ts'
import type { Readiness, ReadinessReport } from '../paywall/runtime/catalog.ts'

export interface Lifecycle {
  /**
   * Resolves when ledger and chain are available and at least one token can be paid with, and names the tokens. Rejects
   * with the reason otherwise. Waiting for it is optional.
   */
  ready(): Promise<Readiness>
  /** The same for health checks: never rejects. */
  readiness(): Promise<ReadinessReport>
  /**
   * Stops sales while the handler cannot deliver: unpaid requests get 503 instead of a challenge, proofs get 503 and
   * stay unused, and health checks report `why`. Applies to this process only.
   *
   * @example
   * database.on('lost', () => paid.pause('the database is out of reach'))
   * database.on('found', () => paid.resume())
   */
  pause(why: string): void
  resume(): void
  /** Refuses new proofs, waits for running responses, and closes ledger and nodes. */
  close(): Promise<void>
  /** The metrics in Prometheus's text format. */
  metrics(): Promise<string>
  /** The public key of the service's receipts, base58. */
  identity(): Promise<string>
}

export function withLifecycle<Middleware extends object>(
  paywall: Paywall,
  middleware: Middleware,
): Middleware & Lifecycle {
  const { ready, readiness, pause, resume, close, metrics, identity } = paywall
  return Object.assign(middleware, { ready, readiness, pause, resume, close, metrics, identity })
}
