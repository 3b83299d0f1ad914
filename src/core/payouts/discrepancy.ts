/** What does not add up: a line as it is kept, and as it comes to when everything is counted again. */
export interface Discrepancy {
  readonly line: string
  readonly kept: string
  readonly counted: string
}
