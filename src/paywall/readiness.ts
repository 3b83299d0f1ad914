/** What a paywall can sell for at this moment: tokens that can be paid with, and that have a price. */
import { ConfigurationError } from '../core/errors/configuration-error.ts'
import { PaystileError } from '../core/errors/paystile-error.ts'
import type { TokenCode } from '../core/money/tokens.ts'
import type { Route } from './quote/route.ts'
import type { Probe } from './quote/token-probe.ts'
import type { Readiness, ReadinessReport } from './runtime/catalog.ts'

type Stand = { readonly route: Route; readonly probe: Probe }

/** Rejects with the reason while nothing can be sold. */
export async function readReadiness({ route, probe }: Stand): Promise<Readiness> {
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
  return missing && `rates: ${missing} has no rate that can be believed: ${rates.why(missing)}`
}

/** How a paywall stands, for health checks, also when it could not even start. */
export async function createReport(open: () => Promise<Stand>): Promise<ReadinessReport> {
  let routeRuntime: Stand | undefined
  try {
    routeRuntime = await open()
    return { ready: true, ...(await readReadiness(routeRuntime)) }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    const withheld = Object.fromEntries(routeRuntime?.probe.withheld() ?? [])
    return { ready: false, offered: [...(routeRuntime?.probe.offered().keys() ?? [])], withheld, why }
  }
}
