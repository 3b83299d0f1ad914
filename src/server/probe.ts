/**
 * Before anything is sold for a token that the provider named, the chain is asked whether it is what the configuration
 * says: with wrong decimals every price would be wrong a thousandfold.
 */
import { isSameMint, knownMints, mintOf, pickMints } from '../core/network.ts'
import type { RouteConfig } from './config.ts'
import { ConfigurationError } from './configuration-error.ts'
import type { Service } from './service.ts'

export interface Probe {
  /** What the chain has said so far: `waiting` only for mints that the provider gave, since known ones are pinned here. */
  state(): 'good' | 'waiting' | 'bad'
  /** Resolves when they are found to be right; rejects with the reason why not, or why nobody can tell yet. */
  result(): Promise<void>
  stop(): void
}

const retryMs = 5_000

/** Asks at once, and until all is good, again and again: a node that knows no better today may tomorrow. */
export function startProbe(service: Service, config: RouteConfig): Probe {
  const mints = pickMints(config.acceptedMints, config.mints)
  const known = knownMints[service.config.network]
  const isPinned = config.acceptedMints.every((code) => {
    const mint = mintOf(code, mints)
    return !mint || isSameMint(mint, mintOf(code, known))
  })
  let state: 'good' | 'waiting' | 'bad' = isPinned || !config.verifyOnChain ? 'good' : 'waiting'
  let timer: ReturnType<typeof setTimeout> | undefined
  let stopped = false

  let last: string | undefined
  const later = (): void => {
    if (!stopped) timer = setTimeout(again, retryMs)
    timer?.unref?.()
  }

  const ask = async (): Promise<void> => {
    if (!config.verifyOnChain) return
    const probe = await service.probeMints(mints)
    if (probe.kind === 'good') {
      state = 'good'
      return
    }
    if (probe.kind === 'bad') {
      state = 'bad'
      const error = new ConfigurationError(probe.problems)
      if (last !== error.message) service.log.error('nothing is sold', { why: error.message })
      last = error.message
      later()
      throw error
    }
    service.log.warn('mints not checked yet', { why: probe.why })
    later()
    throw new Error(`the chain cannot be read yet: ${probe.why}`)
  }
  let latest = ask()
  const again = (): void => {
    latest = ask()
    latest.catch(() => {})
  }
  latest.catch(() => {})

  return {
    state: () => state,
    result: () => latest,
    stop: () => {
      stopped = true
      clearTimeout(timer)
    },
  }
}
