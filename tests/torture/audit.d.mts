export interface State {
  readonly at: number
  /** Where the store counts the changes of a row. */
  readonly version?: number | undefined
  readonly fence: number
  readonly used: number
  readonly amount: number
  readonly leases: readonly { readonly fence: number; readonly amount: number; readonly deadline: number }[]
}

export interface Send {
  readonly server: number
  /** When the first and the last byte went out. */
  readonly first: number
  readonly last?: number | undefined
  /** When its server was killed. */
  readonly diedAt?: number | undefined
}

export interface Evidence {
  readonly history: readonly State[]
  readonly sends: readonly Send[]
  /** When the database was away. */
  readonly outages: readonly { readonly from: number; readonly to: number }[]
  readonly leaseMs: number
}

export function judgePayment(evidence: Evidence): {
  readonly doubles: readonly string[]
  readonly losses: readonly string[]
}
