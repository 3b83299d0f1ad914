/** What a running gateway may take over from a changed configuration. */
import { isDeepStrictEqual } from 'node:util'
import type { ServiceConfig } from '../../paywall/config/config.ts'
import type { Plan } from './plan.ts'

/** What cannot change while a gateway runs. */
export interface FixedFacts {
  readonly place: readonly unknown[]
  /** Undefined where nothing has a price. */
  readonly service: Pick<ServiceConfig, 'network' | 'ledger' | 'service'> | undefined
}

export function readFixedFacts(plan: Plan): FixedFacts {
  const { host, port, connections, headMs, requestMs, routes } = plan
  const service = routes.find(({ config }) => config)?.config?.service
  return { place: [host, port, connections, headMs, requestMs], service }
}

/** What has changed although it cannot, one sentence each. Another ledger would not know which payments were used. */
export function findFixed(before: FixedFacts, next: FixedFacts): readonly string[] {
  const [old, fresh] = [before.service, next.service]
  const fixed =
    old && fresh ? (['network', 'ledger', 'service'] as const).filter((name) => old[name] !== fresh[name]) : []
  const isMoved = !isDeepStrictEqual(before.place, next.place)
  return [...(isMoved ? ['listen, limits'] : []), ...fixed].map((name) => `${name}: a change needs a restart`)
}
