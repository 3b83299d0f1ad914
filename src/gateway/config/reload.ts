/** What a running gateway may take over from a changed configuration. */
import { isDeepStrictEqual } from 'node:util'
import type { Environment, ServiceConfig } from '../../paywall/config/config.ts'
import { readConfig } from '../../paywall/config/config.ts'
import type { Plan } from './plan.ts'

/** What cannot change while a gateway runs. */
export interface FixedFacts {
  readonly place: readonly unknown[]
  /** Undefined where nothing has a price. */
  readonly service: Pick<ServiceConfig, 'network' | 'ledger' | 'service'> | undefined
}

/** Read once, with the environment of that time: `.env` may say something else at the next reload. */
export function fixedFactsOf(plan: Plan, environment: Environment): FixedFacts {
  const { host, port, connections, headMs, requestMs, routes } = plan
  const provider = routes.find((route) => route.provider)?.provider
  const service = provider && readConfig(provider, environment).service
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
