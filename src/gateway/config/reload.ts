/** Checks the changes that a running gateway can take over from a new configuration. */
import { isDeepStrictEqual } from 'node:util'
import { nameService } from '../../compose/paywall.ts'
import { parseLedgerUrl } from '../../core/ports/ledger-url.ts'
import type { ServiceConfig } from '../../paywall/config/config.ts'
import type { Plan } from './plan.ts'

/** Settings that cannot change while a gateway runs. */
export interface FixedFacts {
  readonly listen: readonly unknown[]
  readonly limits: readonly unknown[]
  /** Undefined if no route has a price. */
  readonly service: ServiceConfig | undefined
}

export function readFixedFacts(plan: Plan): FixedFacts {
  const { host, port, connections, headMs, requestMs, routes } = plan
  const service = routes.find(({ config }) => config)?.config?.service
  return { listen: [host, port], limits: [connections, headMs, requestMs], service }
}

/**
 * Changes that a running gateway cannot apply, one sentence each. Another ledger, for example, would not know the used
 * payments.
 */
export function findFixed(before: FixedFacts, next: FixedFacts): readonly string[] {
  const [old, fresh] = [before.service, next.service]
  const fixed =
    old && fresh ? (['network', 'ledger', 'service'] as const).filter((name) => old[name] !== fresh[name]) : []
  const moved = (['listen', 'limits'] as const).filter((name) => !isDeepStrictEqual(before[name], next[name]))
  const problems = [...moved, ...fixed].map((name) => `${name}: a change needs a restart`)
  return problems.length === 0 && losesMemory(old, fresh) ? [memoryLost] : problems
}

const memoryLost =
  'ledger: memory: would lose the used payments, because rpc, watch, reportToken or the secret changed, ' +
  'or no route has a price; restart, or use a file'

/** A ledger in memory ends with its service, and a service with other settings, or none, replaces it. */
function losesMemory(old: ServiceConfig | undefined, fresh: ServiceConfig | undefined): boolean {
  if (typeof old?.ledger !== 'string' || parseLedgerUrl(old.ledger)?.kind !== 'memory') return false
  return fresh === undefined || nameService(old) !== nameService(fresh)
}
