/** The tokens that a paywall can sell for now: those that can be received and have a price. */
import { ConfigurationError } from '../core/errors/configuration-error.ts'
import { PaystileError } from '../core/errors/paystile-error.ts'
import type { TokenCode } from '../core/money/tokens.ts'
import type { Route } from './quote/route.ts'
import type { RouteRuntime, RouteState } from './quote/route-runtime.ts'
import type { Readiness, ReadinessReport } from './runtime/catalog.ts'

type ProbedRoute = Pick<RouteRuntime, 'route' | 'probe' | 'sponsor'>

/** Rejects with the reason if nothing can be sold. */
export async function readReadiness({ route, probe, sponsor }: ProbedRoute): Promise<Readiness> {
  const closed = route.whyClosed()
  if (closed !== undefined) throw new PaystileError('not_ready', closed)
  const { offered, withheld } = await probe.result()
  await Promise.all([route.rates.ready(), sponsor?.ready()])
  const problem = sponsor?.problem()
  if (problem !== undefined) throw new ConfigurationError([problem])
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

/** The token of the price needs no rate. Another token needs the rates of both. */
function whyUnpriced({ rates, config }: Route, code: TokenCode): string | undefined {
  const { token } = config.pricing
  if (code === token) return undefined
  const missing = [token, code].find((one) => rates.why(one) !== undefined)
  return missing && `rates: ${missing} has no usable rate: ${rates.why(missing)}`
}

/** The state of a paywall for health checks, also if it could not start. */
export async function createReport(state: RouteState, open: () => Promise<ProbedRoute>): Promise<ReadinessReport> {
  const found = await findReadiness(open)
  // Read last, because it may have changed in between.
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
