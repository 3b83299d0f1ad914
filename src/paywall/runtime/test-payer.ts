/**
 * Pays with test money on a local chain, for visitors of a checkout page, because no browser wallet supports local
 * chains.
 */
export interface TestPayer {
  address(): Promise<string>
  /** Gets test money. False if none is available. */
  fill(): Promise<boolean>
  sign(transaction: Uint8Array): Promise<Uint8Array>
}
