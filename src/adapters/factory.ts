/** `createPaystile`: one service, its charged routes, and its own endpoints, for any framework. */
import type { ChargeOptions, EndpointOptions, PaystileOptions } from '../api/factory-options.ts'
import { readSharedOptions } from '../api/factory-options.ts'
import { openPaywall } from '../compose/paywall.ts'
import { PaystileError } from '../core/errors/paystile-error.ts'
import type { Paywall } from '../paywall/paywall.ts'
import { type Lifecycle, withLifecycle } from './lifecycle.ts'
import { createPaystileRoutes, type PaystileRoutes } from './routes.ts'

/** `Middleware` and `Endpoints` have the form of the framework. */
export interface Paystile<Middleware, Endpoints> {
  /** Charges for one route. Throws a `ConfigurationError` for invalid options and for options of `createPaystile`. */
  charge(options: ChargeOptions): Middleware & Lifecycle
  /** The service's own endpoints: dashboard, analytics, verification, health, discovery. Mount them first. */
  routes(options?: EndpointOptions): Endpoints & PaystileRoutes
  /**
   * Closes everything that `charge` and `routes` opened: refuses new proofs, waits for running responses, and closes
   * ledger and nodes. `drain(server, paystile)` does this, and closes the server too.
   */
  close(): Promise<void>
}

/** The two functions that an adapter provides. */
export interface Adapter<Middleware, Endpoints> {
  protect(paywall: Paywall): Middleware
  mount(routes: PaystileRoutes): Endpoints
}

export function openPaystile<Middleware extends object, Endpoints extends object>(
  options: PaystileOptions,
  { protect, mount }: Adapter<Middleware, Endpoints>,
): Paystile<Middleware, Endpoints> {
  const shared = readSharedOptions(options, process.env)
  const opened: Pick<Lifecycle, 'close'>[] = []
  let closing: Promise<unknown> | undefined
  const keep = <Opened extends Pick<Lifecycle, 'close'>>(open: () => Opened): Opened => {
    if (closing) throw new PaystileError('closed', 'this paystile is closed; create a new one')
    const one = open()
    opened.push(one)
    return one
  }
  return {
    charge: (given) =>
      keep(() => {
        const paywall = openPaywall(shared.forCharge(given))
        return withLifecycle(paywall, protect(paywall))
      }),
    routes: (given = {}) =>
      keep(() => {
        const routes = createPaystileRoutes(shared.forRoutes(given))
        return Object.assign(mount(routes), routes)
      }),
    close: async () => {
      closing ??= Promise.all(opened.map((one) => one.close()))
      await closing
    },
  }
}
