/**
 * Before anything is sold for a token, the chain is asked whether the token is what the configuration says: with wrong
 * decimals every price would be wrong a thousandfold.
 */
import type { Mint } from '../core/network.ts'
import type { RouteConfig } from './config.ts'
import { ConfigurationError } from './configuration-error.ts'
import type { Service } from './service.ts'

export interface Probe {
  /** True once it is known that the tokens are not as configured. Nothing may be sold then. */
  hasFailed(): boolean
  /** Resolves when they are found to be right; rejects with the reason why not, or why nobody can tell yet. */
  result(): Promise<void>
  stop(): void
}

const retryMs = 5_000

/** Asks at once, and while no node answers, again and again. */
export function startProbe(service: Service, config: RouteConfig): Probe {
  let failed = false
  let timer: ReturnType<typeof setTimeout> | undefined
  let stopped = false
  const mints = Object.fromEntries(config.acceptedMints.flatMap((code) => entryOf(config, code)))

  const ask = async (): Promise<void> => {
    if (!config.verifyOnChain) return
    const probe = await service.probeMints(mints)
    if (probe.kind === 'good') return
    if (probe.kind === 'bad') {
      failed = true
      const error = new ConfigurationError(probe.problems)
      service.log.error('nothing is sold', { why: error.message })
      throw error
    }
    service.log.warn('mints not checked yet', { why: probe.why })
    if (!stopped) timer = setTimeout(again, retryMs)
    timer?.unref?.()
    throw new Error(`the chain cannot be read yet: ${probe.why}`)
  }
  let latest = ask()
  const again = (): void => {
    latest = ask()
    latest.catch(() => {})
  }
  latest.catch(() => {})

  return {
    hasFailed: () => failed,
    result: () => latest,
    stop: () => {
      stopped = true
      clearTimeout(timer)
    },
  }
}

function entryOf({ mints }: RouteConfig, code: RouteConfig['acceptedMints'][number]): [string, Mint][] {
  const mint = code === 'SOL' ? undefined : mints[code]
  return mint ? [[code, mint]] : []
}
