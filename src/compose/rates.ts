/** Connects the rate sources. Routes with equal settings share one feed, which starts with the first route. */
import { listRated, nameFeed, type RateSource } from '../core/money/rate-feed.ts'
import type { JournaledRates, RateTable } from '../core/money/rates.ts'
import type { MintTable, TokenCode } from '../core/money/tokens.ts'
import type { RateJournal } from '../core/ports/journal.ts'
import type { Clock, Get, Log } from '../core/runtime.ts'
import type { RatesConfig } from '../paywall/config/rates.ts'
import type { Rates, RatesUse } from '../paywall/runtime/runtime.ts'
import { createRateFeed } from '../rates/feed.ts'
import { createJupiterSource, jupiterUrl } from '../rates/jupiter.ts'
import { createPythSource, pythUrl } from '../rates/pyth.ts'

type LiveRates = Exclude<RatesConfig, { kind: 'fixed' }>

export interface RatesParts {
  readonly get: Get
  readonly clock: Clock
  readonly log: Log
  /** Undefined if these rates are not needed later. */
  readonly journal?: RateJournal | undefined
}

/** One rate source of any kind. */
interface Feed {
  readonly name: string
  readonly rates: Pick<Rates, 'current' | 'why' | 'ready'>
  readonly keepers: Map<RatesUse, Keeper>
  stop(): void
}

export function shareRates({ get, clock, log, journal }: RatesParts) {
  const feeds = new Map<string, Feed>()
  const names = new WeakMap<RateSource, string>()
  let ownSources = 0
  /** A custom source is named by its index, because a function has no other stable identity. */
  const nameOwn = (source: RateSource): string => {
    const known = names.get(source)
    if (known !== undefined) return known
    ownSources += 1
    const name = ownSources === 1 ? 'own' : `own-${ownSources}`
    names.set(source, name)
    return name
  }
  /** The name contains all settings that affect the rates, but no key. */
  const createName = (config: RatesConfig, mints: MintTable): string => {
    switch (config.kind) {
      case 'fixed':
        return nameFeed(config.kind, Object.entries(config.table).sort())
      case 'pyth':
        return nameFeed(config.kind, [config.url ?? pythUrl, Object.entries(config.feeds).sort()])
      case 'jupiter':
        return nameFeed(config.kind, [config.url ?? jupiterUrl, mints])
      case 'own':
        return nameOwn(config.source)
    }
  }
  const createSource = (config: LiveRates, mints: MintTable): RateSource => {
    if (config.kind === 'own') return config.source
    const { url, apiKey } = config
    if (config.kind === 'jupiter') return createJupiterSource({ get, url: url ?? jupiterUrl, apiKey, mints })
    return createPythSource({ get, url: url ?? pythUrl, apiKey, feeds: config.feeds })
  }
  const createFeed = (config: RatesConfig, mints: MintTable): Feed => {
    const name = createName(config, mints)
    const keepers: Feed['keepers'] = new Map()
    if (config.kind === 'fixed') {
      const rates = { current: () => config.table, why: () => undefined, ready: async () => {} }
      return { name, rates, keepers, stop: () => {} }
    }
    const onChange = (): void => {
      for (const keeper of keepers.values()) keeper.write()
    }
    const source = createSource(config, mints)
    const feed = createRateFeed({ source, tokens: listRated(mints), clock, log, limits: config.limits, onChange })
    return { name, rates: feed, keepers, stop: feed.stop }
  }
  const openFeed = (config: RatesConfig, mints: MintTable): Feed => {
    const key = JSON.stringify([
      createName(config, mints),
      config.kind !== 'fixed' && [listRated(mints), { ...config, source: undefined }],
    ])
    const feed = feeds.get(key) ?? createFeed(config, mints)
    feeds.set(key, feed)
    return feed
  }
  return {
    open: (config: RatesConfig, mints: MintTable, use: RatesUse = 'prices'): Rates => {
      const { name, rates, keepers } = openFeed(config, mints)
      const { current, why, ready } = rates
      const facts = { feed: `${use}/${name}`, source: config.kind }
      /** A fixed table never changes. Once found, its record is not read again. */
      let fixed: JournaledRates | undefined
      const find = async (time: number, tokens: readonly TokenCode[]): Promise<JournaledRates> => {
        if (fixed && fixed.at <= time) return fixed
        await keepers.get(use)?.written()
        const found = await journal?.find({ feed: facts.feed, time, tokens })
        if (config.kind === 'fixed' && found?.feed === facts.feed) fixed = found
        return found ?? { ...facts, table: current(), at: Math.floor(clock.now()) }
      }
      const keep = (): void => {
        if (!journal || keepers.has(use)) return
        const keeper = createKeeper({ note: (table) => journal.note({ ...facts, table }), current, log })
        keepers.set(use, keeper)
        // Without a first response, the feed has no rates.
        void ready().then(keeper.start)
      }
      return { current, why, ready, find, keep, spread: config.kind === 'fixed' ? 0 : config.limits.spread }
    },
    stop: async () => {
      for (const { stop, keepers } of feeds.values()) {
        stop()
        for (const keeper of keepers.values()) await keeper.written().catch(() => {})
      }
    },
  }
}

interface Keeper {
  start(): void
  /** Does not wait. A failed write is retried with the next change, and before the next read. */
  write(): void
  /** Resolves when the journal has the current rates. */
  written(): Promise<void>
}

interface KeeperParts {
  readonly note: (table: RateTable) => Promise<void>
  readonly current: () => RateTable
  readonly log: Log
}

/** Records the rates of a feed after every change, one write at a time. */
function createKeeper({ note, current, log }: KeeperParts): Keeper {
  let isStarted = false
  let kept: RateTable | undefined
  let writing: Promise<void> | undefined
  const catchUp = async (): Promise<void> => {
    for (let table = current(); table !== kept; table = current()) {
      await note(table)
      kept = table
    }
  }
  const written = async (): Promise<void> => {
    if (!isStarted || (!writing && current() === kept)) return
    writing ??= catchUp().finally(() => {
      writing = undefined
    })
    await writing
  }
  const write = (): void => {
    written().catch((error: unknown) => {
      log.warn('rates.unjournaled', { why: error instanceof Error ? error.message : String(error) })
    })
  }
  return {
    start: () => {
      isStarted = true
      write()
    },
    write,
    written,
  }
}
