/** Completes `rewards` of a gateway's file: its collector, and the routes of each partner and host. */
import type { RewardsOption } from '../../api/rewards/option.ts'
import { readDeveloperHost } from '../../core/payouts/developers.ts'
import type { OptionProblem } from '../../paywall/config/problems.ts'
import type { ParsedConfig } from './schema.ts'

export function completeRewards(
  rewards: RewardsOption,
  { recipient, routes }: ParsedConfig,
  plans: readonly { readonly path: string; readonly upstream: { readonly origin: string } }[],
): RewardsOption {
  const hosts = plans.map(({ path, upstream }) => [path, readDeveloperHost(upstream.origin) ?? ''])
  return {
    ...(recipient !== undefined && { collector: recipient }),
    ...rewards,
    hosts: { ...Object.fromEntries(hosts), ...rewards.hosts },
    ...(rewards.partners && { partners: rewards.partners.map((partner) => withRoutes(partner, routes)) }),
  }
}

/** A route can only name a partner of `rewards.partners`. */
export function checkPartners({ rewards, routes }: ParsedConfig): readonly OptionProblem[] {
  const names = rewards?.partners?.map(({ name }) => name) ?? []
  return routes.flatMap(({ partner }, index) => {
    if (partner === undefined || names.includes(partner)) return []
    const known = names.length === 0 ? 'rewards.partners is empty' : `rewards.partners has ${names.join(', ')}`
    return [{ place: ['routes', index, 'partner'], why: `is not a partner; ${known}` }]
  })
}

type Partner = NonNullable<RewardsOption['partners']>[number]

function withRoutes(partner: Partner, routes: ParsedConfig['routes']): Partner {
  const own = routes.filter((route) => route.partner === partner.name).map(({ path }) => path)
  return own.length === 0 ? partner : { ...partner, endpoints: [...new Set([...(partner.endpoints ?? []), ...own])] }
}
