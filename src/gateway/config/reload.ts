/** Checks the changes that a running gateway can take over from a new configuration. */
import { isDeepStrictEqual } from 'node:util'
import type { ServiceConfig } from '../../paywall/config/config.ts'
import type { Plan } from './plan.ts'

/** Settings that cannot change while a gateway runs. */
export interface FixedFacts {
  readonly place: readonly unknown[]
  /** Undefined if no route has a price. */
  readonly service: Pick<ServiceConfig, 'network' | 'ledger' | 'service'> | undefined
}

export function readFixedFacts(plan: Plan): FixedFacts {
  const { host, port, connections, headMs, requestMs, routes } = plan
  const service = routes.find(({ config }) => config)?.config?.service
  return { place: [host, port, connections, headMs, requestMs], service }
}

/**
 * Changes that a running gateway cannot apply, one sentence each. Another ledger, for example, would not know the used
 * payments.
 */
export function findFixed(before: FixedFacts, next: FixedFacts): readonly string[] {
  const [old, fresh] = [before.service, next.service]
  const fixed =
    old && fresh ? (['network', 'ledger', 'service'] as const).filter((name) => old[name] !== fresh[name]) : []
  const isMoved = !isDeepStrictEqual(before.place, next.place)
  return [...(isMoved ? ['listen, limits'] : []), ...fixed].map((name) => `${name}: a change needs a restart`)
}
