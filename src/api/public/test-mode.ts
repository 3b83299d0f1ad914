/** Test mode: payments on a test network have no value, and the pages must state that. */
import type { Network } from '../../core/money/tokens.ts'

export interface TestMode {
  readonly testMode: boolean
  /** The banner at the top of each page. Undefined on mainnet. */
  readonly banner?: string
}

export function readTestMode(network: Network): TestMode {
  if (network === 'mainnet') return { testMode: false }
  const where = network === 'devnet' ? 'Solana’s development network' : 'a local chain'
  return { testMode: true, banner: `Test mode: payments use ${where} and test money without value.` }
}
