/** Checks that every accepted token has a current rate. */
import { shareRates } from '../../compose/rates.ts'
import type { Get } from '../../core/runtime.ts'
import { createWallClock } from '../../host/clock.ts'
import type { RouteConfig } from '../../paywall/config/config.ts'
import { type Finding, fail, ok, warn } from './finding.ts'

export const silent = { info: () => {}, warn: () => {}, error: () => {} }

export async function checkRates(routes: readonly RouteConfig[], get: Get): Promise<readonly Finding[]> {
  const needing = routes.filter(({ acceptedMints, pricing }) => acceptedMints.some((code) => code !== pricing.token))
  if (needing.length === 0) return [ok('not needed: every route accepts only the token of its price')]
  const shared = shareRates({ get, clock: createWallClock(), log: silent })
  try {
    const findings = await Promise.all(needing.map((route) => look(route, shared.open)))
    return [...new Map(findings.flat().map((finding) => [finding.finding, finding])).values()]
  } finally {
    await shared.stop()
  }
}

async function look(route: RouteConfig, open: ReturnType<typeof shareRates>['open']): Promise<readonly Finding[]> {
  const { rates, mints, acceptedMints, pricing } = route
  const feed = open(rates, mints)
  await feed.ready()
  const source = rates.kind === 'fixed' ? 'a fixed table' : rates.kind === 'own' ? 'your own source' : rates.kind
  const wanted = [...new Set([pricing.token, ...acceptedMints])]
  return wanted.map((code) => {
    const rate = feed.current()[code]
    const why = feed.why(code)
    if (rate !== undefined && why === undefined) return ok(`${code} is worth ${rate} USDC by ${source}`)
    const words = `${code} has no usable rate from ${source}: ${why ?? 'it is not configured'}`
    const mend = `check that ${source} can be reached from here, or use a table: rates: { ${code}: "…" }`
    // The token of the price remains, because it needs no rate.
    return acceptedMints.includes(pricing.token)
      ? warn(`${words}; until then only ${pricing.token} is accepted`, mend)
      : fail(words, mend)
  })
}
