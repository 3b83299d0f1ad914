/** What a paywall can sell for at this moment: tokens that can be paid with, and that have a price. */
import { ConfigurationError } from '../core/errors/configuration-error.ts'
import { PaystileError } from '../core/errors/paystile-error.ts'
import type { TokenCode } from '../core/money/tokens.ts'
import type { Route } from './quote/route.ts'
import type { RouteRuntime, RouteState } from './quote/route-runtime.ts'
import type { Readiness, ReadinessReport } from './runtime/catalog.ts'

type ProbedRoute = Pick<RouteRuntime, 'route' | 'probe'>

/** Rejects with the reason while nothing can be sold. */
export async function readReadiness({ route, probe }: ProbedRoute): Promise<Readiness> {
  const closed = route.whyClosed()
  if (closed !== undefined) throw new PaystileError('not_ready', closed)
  const { offered, withheld } = await probe.result()
  await route.rates.ready()
  const unpriced = offered.flatMap((code) => {
    const why = whyUnpriced(route, code)
    return why === undefined ? [] : [[code, why] as const]
  })
  const readiness = {
    offered: offered.filter((code) => !unpriced.some(([other]) => other === code)),
    withheld: { ...withheld, ...Object.fromEntries(unpriced) },
  }
  if (readiness.offered.length === 0) throw new ConfigurationError(Object.values(readiness.withheld))
  return readiness
}

/** The price in its own token needs no rate; in another it needs both. */
function whyUnpriced({ rates, config }: Route, code: TokenCode): string | undefined {
  const { token } = config.pricing
  if (code === token) return undefined
  const missing = [token, code].find((one) => rates.why(one) !== undefined)
  return missing && `rates: ${missing} has no usable rate: ${rates.why(missing)}`
}

/** The state of a paywall, for health checks, also when it could not even start. */
export async function createReport(state: RouteState, open: () => Promise<ProbedRoute>): Promise<ReadinessReport> {
  const found = await findReadiness(open)
  // Only now: it may have changed meanwhile.
  const { paused } = state
  return paused === undefined ? found : { ...found, ready: false, isPaused: true, offered: [], why: paused }
}

async function findReadiness(open: () => Promise<ProbedRoute>): Promise<ReadinessReport> {
  let opened: ProbedRoute | undefined
  try {
    opened = await open()
    return { ready: true, ...(await readReadiness(opened)) }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    const withheld = Object.fromEntries(opened?.probe.withheld() ?? [])
    return { ready: false, offered: [...(opened?.probe.offered().keys() ?? [])], withheld, why }
  }
}
