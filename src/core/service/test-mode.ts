/** Test mode: what is paid on a test network is worth nothing, and pages have to say so. */
import type { Network } from '../money/tokens.ts'

export interface TestMode {
  readonly testMode: boolean
  /** What pages show above everything else; undefined where money is real. */
  readonly banner?: string
}

export function readTestMode(network: Network): TestMode {
  if (network === 'mainnet') return { testMode: false }
  const where = network === 'devnet' ? 'Solana’s development network' : 'a local chain'
  return { testMode: true, banner: `Test mode: payments are made on ${where}, with money that is worth nothing.` }
}
