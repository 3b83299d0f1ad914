export interface PaidPayment {
  readonly tx: string
  readonly payer: string
  readonly units: bigint
}

export interface Line {
  readonly role: string
  readonly payee: string
  readonly from: number
  readonly through: number
  readonly units: bigint
  readonly opening: bigint
}

export interface Evidence {
  readonly payments: readonly PaidPayment[]
  readonly accruals: readonly {
    readonly number: number
    readonly tx: string
    readonly shares: readonly { readonly role: string; readonly payee: string; readonly units: bigint }[]
  }[]
  readonly outgoing: readonly { readonly id: string; readonly state: string; readonly lines: readonly Line[] }[]
  readonly transactions: readonly {
    readonly memo: string
    readonly failed: boolean
    readonly gains: ReadonlyMap<string, bigint>
  }[]
  readonly balances: ReadonlyMap<string, bigint>
  readonly sharesOf: (payment: PaidPayment) => readonly (readonly [string, bigint])[]
  readonly ownerOf: (line: { readonly role: string; readonly payee: string }) => string
}

export function judgePayouts(evidence: Evidence): {
  readonly doubles: readonly string[]
  readonly forgotten: readonly string[]
}
