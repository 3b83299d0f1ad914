/** What a running gateway may take over from a changed configuration, and how quotes that are open stay good. */
import { isDeepStrictEqual } from 'node:util'
import type { Bind } from '../../paywall/config/binding.ts'
import type { Environment } from '../../paywall/config/config.ts'
import { readConfig } from '../../paywall/config/config.ts'
import type { ProviderOptions } from '../../paywall/config/options.ts'
import type { Plan } from './plan.ts'

/** By what the open quotes of a route are recognised. */
export interface QuoteFacts {
  readonly recipients: readonly string[]
  readonly scopes: readonly string[]
  readonly binds: readonly Bind[]
}

/** The facts of all priced routes, by the route's name. */
export function readQuoteFacts({ routes }: Plan, environment: Environment): ReadonlyMap<string, QuoteFacts> {
  const facts = new Map<string, QuoteFacts>()
  for (const { name, provider } of routes) {
    if (!provider) continue
    const { route } = readConfig(provider, environment)
    facts.set(name, {
      recipients: [route.recipient, ...route.retiredRecipients],
      scopes: [route.scope, ...route.retiredScopes],
      binds: [route.bind, ...route.retiredBinds],
    })
  }
  return facts
}

/** The next plan, in which a route that has changed its recipient, scope or binding still knows the former ones. */
export function honourQuotes(next: Plan, before: ReadonlyMap<string, QuoteFacts>, environment: Environment): Plan {
  const routes = next.routes.map((route) => {
    const former = before.get(route.name)
    return former && route.provider ? { ...route, provider: withRetired(route.provider, former, environment) } : route
  })
  return { ...next, routes }
}

function withRetired(provider: ProviderOptions, former: QuoteFacts, environment: Environment): ProviderOptions {
  const { route } = readConfig(provider, environment)
  const add = <Value>(current: Value, own: readonly Value[], old: readonly Value[]): readonly Value[] =>
    [...own, ...old].filter(
      (value, index, all) =>
        !isDeepStrictEqual(value, current) && all.findIndex((one) => isDeepStrictEqual(one, value)) === index,
    )
  return {
    ...provider,
    retired: {
      recipients: add(route.recipient, route.retiredRecipients, former.recipients),
      scopes: add(route.scope, route.retiredScopes, former.scopes),
      binds: add(route.bind, route.retiredBinds, former.binds),
    },
  }
}

/** What cannot change while the gateway runs, one sentence each. Another ledger would not know which payments were used. */
export function findFixed(before: Plan, next: Plan, environment: Environment): readonly string[] {
  const places = ['host', 'port', 'connections', 'headMs', 'requestMs'] as const
  const isMoved = places.some((name) => before[name] !== next[name])
  const [old, fresh] = [before, next].map(({ routes }) => {
    const provider = routes.find((route) => route.provider)?.provider
    return provider && readConfig(provider, environment).service
  })
  const fixed =
    old && fresh ? (['network', 'ledger', 'service'] as const).filter((name) => old[name] !== fresh[name]) : []
  return [...(isMoved ? ['listen, limits'] : []), ...fixed].map((name) => `${name}: a change needs a restart`)
}
