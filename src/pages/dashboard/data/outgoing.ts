/** Responses about outgoing transactions, as this page reads them. */
import type { TokenCode } from '../../../core/money/tokens.ts'
import type { RewardRole } from '../../../core/payouts/rewards.ts'

export type OutState = 'planned' | 'signed' | 'landed' | 'dropped'

/** One outgoing transaction. */
export interface Outgoing {
  readonly id: string
  readonly state: OutState
  readonly at: string
  readonly changedAt: string
  readonly attempts: number
  readonly tx: string | null
  readonly slot: number | null
  readonly why: string
}

export interface Sums {
  readonly accrued: string
  readonly due: string
  readonly underWay: string
  readonly paid: string
}

export interface RoleLine extends Sums {
  readonly role: RewardRole
  readonly payees: number
}

export interface RewardsRules {
  readonly partners: readonly {
    readonly name: string
    readonly wallet: string
    readonly share: string
    readonly endpoints: readonly string[]
  }[]
  readonly developers: string
  readonly cashback: readonly { readonly from: string; readonly share: string }[]
  readonly rest: readonly { readonly role: RewardRole; readonly wallet: string; readonly weight: number }[]
  readonly withoutPartner: boolean
}

export interface Payout extends Outgoing {
  readonly payees: number
  readonly amount: string
}

export interface Rewards {
  readonly isOn: boolean
  readonly paused: boolean
  readonly ripening: number
  readonly threshold: string | null
  readonly rules: RewardsRules | null
  readonly wallet: { readonly address: string; readonly native: string; readonly sol: string } | null
  readonly roles: readonly RoleLine[]
  /** The latest payouts. */
  readonly payouts: readonly Payout[]
}

export interface Payouts {
  readonly payouts: readonly Payout[]
  readonly next: string | null
}

/** The amount owed to a payee, its deductions, and the amount sent. */
export interface PayoutLine {
  readonly role: RewardRole
  readonly payee: string
  readonly owed: string
  readonly sent: string
  readonly opening: string
  readonly rate: string
}

export interface PayoutDetail extends Payout {
  readonly lines: readonly PayoutLine[]
}

export interface Payee extends Sums {
  readonly id: string
  readonly role: RewardRole
  readonly payee: string
  readonly waits: string
  readonly waitsUntil: string | null
}

export interface Payees {
  readonly payees: readonly Payee[]
  readonly next: string | null
}

export interface PayeeDetail extends Payee {
  readonly payouts: readonly (Outgoing & PayoutLine)[]
}

/** The refundable amount of a payment. */
export interface Refundable {
  readonly token: TokenCode
  readonly amount: string
  readonly reason: string
}

export interface Refund extends Outgoing, Refundable {
  /** The transaction of the payment; missing in a list beside the payment itself. */
  readonly payment?: string
}

export interface Refunds {
  readonly canSend: boolean
  readonly refunds: readonly Refund[]
}

export interface SettlementWallet {
  readonly wallet: string
  readonly settlementToken: TokenCode
  readonly venue: string | null
  readonly isServed: boolean
  readonly slippage: string
  readonly tokens: readonly {
    readonly token: TokenCode
    readonly balance: string | null
    readonly kept: string
    readonly threshold: string | null
  }[]
}

export interface Conversion extends Outgoing {
  readonly wallet: string
  readonly venue: string
  readonly sell: TokenCode
  readonly buy: TokenCode
  readonly amount: string
  readonly quoted: string
  readonly minimum: string
  readonly sold: string | null
  readonly received: string | null
}

export interface Settlement {
  readonly isOn: boolean
  readonly paused: boolean
  readonly wallets: readonly SettlementWallet[]
  readonly conversions: readonly Conversion[]
  readonly next: string | null
}
