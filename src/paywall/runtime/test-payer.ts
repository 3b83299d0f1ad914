/** Pays with test money for whoever tries a checkout out and has no wallet for a local chain, as nobody has. */
export interface TestPayer {
  address(): Promise<string>
  /** Gets test money. False where there is none to be had. */
  fill(): Promise<boolean>
  sign(transaction: Uint8Array): Promise<Uint8Array>
}
