/** What a gateway's file says of rewards, made whole: who collects, and which routes belong to which partner and host. */
import type { RewardsOption } from '../../api/rewards/option.ts'
import { readDeveloperHost } from '../../core/payouts/developers.ts'
import type { Environment } from '../../paywall/config/config.ts'
import type { Problem } from './problems.ts'
import type { ReadConfig } from './schema.ts'

/** Whatever is wrong with it is told by who reads it. */
export function readRewards(
  data: ReadConfig,
  routes: readonly { readonly path: string; readonly upstream: { readonly origin: string } }[],
  environment: Environment,
): RewardsOption {
  const { rewards = {} } = data
  const collector = data.recipient ?? environment['PAYSTILE_RECIPIENT']
  const hosts = routes.map(({ path, upstream }) => [path, readDeveloperHost(upstream.origin) ?? ''])
  const given: unknown = rewards['partners']
  const partners = Array.isArray(given) ? given.map((partner: unknown) => withRoutes(partner, data)) : given
  return {
    ...(collector !== undefined && { collector }),
    ...rewards,
    hosts: { ...Object.fromEntries(hosts), ...(rewards['hosts'] as object | undefined) },
    ...(partners !== undefined && { partners }),
  } as RewardsOption
}

/** A route can only name a partner that there is. */
export function checkPartners({ rewards, routes }: ReadConfig): readonly Problem[] {
  const names = namesOf(rewards?.['partners'])
  return routes.flatMap(({ partner }, index) => {
    if (partner === undefined || names.includes(partner)) return []
    const known = names.length === 0 ? 'rewards.partners names none' : `rewards.partners names ${names.join(', ')}`
    return [{ place: ['routes', index, 'partner'], why: `is no partner; ${known}` }]
  })
}

function namesOf(partners: unknown): readonly string[] {
  return Array.isArray(partners) ? partners.map((one: { readonly name?: unknown } | null) => String(one?.name)) : []
}

function withRoutes(partner: unknown, { routes }: ReadConfig): unknown {
  if (typeof partner !== 'object' || partner === null) return partner
  const { name, endpoints } = partner as { readonly name?: unknown; readonly endpoints?: unknown }
  const own = routes.filter((route) => route.partner === name).map(({ path }) => path)
  const named: readonly unknown[] = Array.isArray(endpoints) ? endpoints : []
  return own.length === 0 ? partner : { ...partner, endpoints: [...new Set([...named, ...own])] }
}
