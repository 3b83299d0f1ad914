/** What a running gateway may take over from a changed configuration, and how quotes that are open stay good. */
import { isDeepStrictEqual } from 'node:util'
import type { Bind } from '../../paywall/config/binding.ts'
import type { Environment, ServiceConfig } from '../../paywall/config/config.ts'
import { readConfig } from '../../paywall/config/config.ts'
import type { ProviderOptions } from '../../paywall/config/options.ts'
import type { Plan } from './plan.ts'

/** A priced route, and by what its open quotes are recognised. */
export interface QuoteFacts {
  readonly path: string
  readonly methods: ReadonlySet<string>
  readonly recipients: readonly string[]
  readonly scopes: readonly string[]
  readonly binds: readonly Bind[]
}

/** Of all priced routes, by the route's name. */
export type Quotes = ReadonlyMap<string, QuoteFacts>

/** The quotes of a plan, and of the routes before it that it has no more: such a route may come back. */
export function quotesOf({ routes }: Plan, before: Quotes, environment: Environment): Quotes {
  const quotes = new Map(before)
  for (const { name, path, methods, provider } of routes) {
    if (!provider) continue
    const { route } = readConfig(provider, environment)
    quotes.set(name, {
      path,
      methods,
      recipients: [route.recipient, ...route.retiredRecipients],
      scopes: [route.scope, ...route.retiredScopes],
      binds: [route.bind, ...route.retiredBinds],
    })
  }
  return quotes
}

/**
 * The next plan, in which a route that has changed its recipient, scope or binding still knows the former ones. With its
 * methods a route changes its name and scope, and stays the same route.
 */
export function honourQuotes(next: Plan, before: Quotes, environment: Environment): Plan {
  const routes = next.routes.map((route) => {
    const { provider, path, methods } = route
    const former = [...before.values()].filter(
      (one) => one.path === path && [...one.methods].some((method) => methods.has(method)),
    )
    return former.length > 0 && provider ? { ...route, provider: withRetired(provider, former, environment) } : route
  })
  return { ...next, routes }
}

function withRetired(
  provider: ProviderOptions,
  former: readonly QuoteFacts[],
  environment: Environment,
): ProviderOptions {
  const { route } = readConfig(provider, environment)
  const add = <Value>(current: Value, own: readonly Value[], old: readonly Value[]): readonly Value[] =>
    [...own, ...old].filter(
      (value, index, all) =>
        !isDeepStrictEqual(value, current) && all.findIndex((one) => isDeepStrictEqual(one, value)) === index,
    )
  return {
    ...provider,
    retired: {
      recipients: add(
        route.recipient,
        route.retiredRecipients,
        former.flatMap(({ recipients }) => recipients),
      ),
      scopes: add(
        route.scope,
        route.retiredScopes,
        former.flatMap(({ scopes }) => scopes),
      ),
      binds: add(
        route.bind,
        route.retiredBinds,
        former.flatMap(({ binds }) => binds),
      ),
    },
  }
}

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
