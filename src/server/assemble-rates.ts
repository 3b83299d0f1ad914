/** Joins the rate sources: routes whose settings are equal share one feed, which is asked from the first route on. */
import type { MintTable } from '../core/network.ts'
import type { Clock, Get, Log } from '../core/ports.ts'
import type { RateSource } from '../core/rate-feed.ts'
import type { RateFeed } from '../rates/feed.ts'
import { createRateFeed } from '../rates/feed.ts'
import { createJupiterSource, jupiterUrl } from '../rates/jupiter.ts'
import { createPythSource, pythUrl } from '../rates/pyth.ts'
import type { RatesConfig } from './rates-option.ts'
import type { Rates } from './service.ts'

type LiveRates = Exclude<RatesConfig, { kind: 'fixed' }>

export function shareRates({ get, clock, log }: { readonly get: Get; readonly clock: Clock; readonly log: Log }) {
  const feeds = new Map<string, RateFeed>()
  const names = new WeakMap<RateSource, string>()
  const nameOf = (config: LiveRates, mints: MintTable): string => {
    if (config.kind !== 'own') return JSON.stringify([config, config.kind === 'jupiter' && mints])
    const name = names.get(config.source) ?? crypto.randomUUID()
    names.set(config.source, name)
    return JSON.stringify([name, config.limits])
  }
  const sourceOf = (config: LiveRates, mints: MintTable): RateSource => {
    if (config.kind === 'own') return config.source
    const { url, apiKey } = config
    if (config.kind === 'jupiter') return createJupiterSource({ get, url: url ?? jupiterUrl, apiKey, mints })
    return createPythSource({ get, url: url ?? pythUrl, apiKey, feeds: config.feeds })
  }
  return {
    open: (config: RatesConfig, mints: MintTable): Rates => {
      if (config.kind === 'fixed') {
        return { current: () => config.table, why: () => undefined, ready: async () => {}, spread: 0 }
      }
      const name = nameOf(config, mints)
      const feed =
        feeds.get(name) ?? createRateFeed({ source: sourceOf(config, mints), clock, log, limits: config.limits })
      feeds.set(name, feed)
      const { current, why, ready } = feed
      return { current, why, ready, spread: config.limits.spread }
    },
    stop: () => {
      for (const feed of feeds.values()) feed.stop()
    },
  }
}
