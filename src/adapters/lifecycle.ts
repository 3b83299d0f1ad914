/** The lifecycle methods of every adapter's middleware: readiness, pause and close. */
import type { Lifecycle, Paywall } from '../paywall/paywall.ts'

export type { Lifecycle }

export function withLifecycle<Middleware extends object>(
  paywall: Paywall,
  middleware: Middleware,
): Middleware & Lifecycle {
  const { ready, readiness, pause, resume, close, metrics, identity } = paywall
  return Object.assign(middleware, { ready, readiness, pause, resume, close, metrics, identity })
}
