/** The faucet of a service, joined to a source of its own as a service does it. */
import type { Log } from '../../src/core/ports.ts'
import { type FaucetSettings, openFaucetSource } from '../../src/server/assemble-faucet.ts'
import { createFaucet, type Faucet } from '../../src/service/faucet.ts'

const log: Log = { info: () => {}, warn: () => {}, error: () => {} }

export function openFaucet(settings: FaucetSettings): Faucet {
  return createFaucet({ ...settings, trustProxy: 0, log, source: openFaucetSource(settings) })
}
