/** A difference found by an audit: the stored value and the recomputed one. */
export interface Discrepancy {
  readonly line: string
  readonly kept: string
  readonly counted: string
}
