import type { TokenCode } from '../../core/money/tokens.ts'

/**
 * Pays with test money on a local chain, for visitors of a checkout page, because no browser wallet supports local
 * chains.
 */
export interface TestPayer {
  address(): Promise<string>
  /** Gets test money, also of this token. False if none is available. */
  fill(token: TokenCode): Promise<boolean>
  sign(transaction: Uint8Array): Promise<Uint8Array>
}
