/** The faucet of a service, joined to a source of its own as a service does it. */
import { createFaucet, type Faucet } from '../../src/api/public/faucet.ts'
import { type FaucetSettings, openFaucetSource } from '../../src/compose/faucet.ts'
import { createLimits } from '../../src/core/collections/limits.ts'
import type { Log } from '../../src/core/runtime.ts'

const log: Log = { info: () => {}, warn: () => {}, error: () => {} }

export function openFaucet(settings: FaucetSettings): Faucet {
  return createFaucet({
    ...settings,
    limits: createLimits(settings.clock),
    trustProxy: 0,
    log,
    source: openFaucetSource(settings),
  })
}
