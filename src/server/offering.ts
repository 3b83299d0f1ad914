/** What a route asks for at the moment: the tokens that the probe does not withhold. */
import type { Dialect } from '../dialects/dialect.ts'
import type { RouteConfig } from './config.ts'
import type { Probe } from './probe.ts'
import type { Route } from './route.ts'
import { createRoute } from './route.ts'
import type { Service } from './service.ts'

/**
 * The route to quote by. Who has paid is judged by the whole one: what was promised in a token stays promised when it is
 * no longer offered.
 */
export function createOffering(service: Service, whole: Route, dialect: Dialect, probe: Probe): () => Route {
  let offered = probe.offered()
  let current = narrow(service, whole, dialect, offered)
  return () => {
    if (probe.offered() === offered) return current
    offered = probe.offered()
    current = narrow(service, whole, dialect, offered)
    return current
  }
}

function narrow(service: Service, whole: Route, dialect: Dialect, offered: ReturnType<Probe['offered']>): Route {
  const acceptedMints = whole.config.acceptedMints.filter((code) => offered.has(code))
  if (acceptedMints.length === 0 || acceptedMints.length === whole.config.acceptedMints.length) return whole
  const amounts = Object.fromEntries(acceptedMints.map((code) => [code, whole.config.amounts[code]]))
  const config: RouteConfig = { ...whole.config, acceptedMints, amounts }
  return createRoute(service, config, dialect)
}
