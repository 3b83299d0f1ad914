/**
 * Rewards, as a port of the ledger: final payments become accruals, accruals are owed to payees, and outgoing
 * transactions pay them.
 */
import type { FrozenRates } from '../../money/rates.ts'
import type { TokenCode } from '../../money/tokens.ts'
import type { SplitPart } from '../../payment/splits.ts'
import type { Discrepancy } from '../discrepancy.ts'
import type { NothingWhy, RewardRole, Share } from '../rewards.ts'

/** A final payment without an accrual. */
export interface Ripening {
  readonly tx: Uint8Array
  readonly recipient: string
  /** Pseudonym. */
  readonly payer: string
  readonly endpoint: string
  readonly token: TokenCode
  readonly required: bigint
  readonly paidAt: number
  readonly usableUntil: number
  readonly rates: FrozenRates | undefined
  /** The parts of other wallets in `required`, which the recipient received for them. */
  readonly collected: readonly SplitPart[]
  /** Whether any of it was delivered. A window counts as delivered when it begins. */
  readonly isDelivered: boolean
}

/** A payment that was shared out, or for which it is settled that no payee earns. */
export interface Accrual extends Pick<Ripening, 'tx' | 'recipient' | 'payer' | 'endpoint' | 'token' | 'paidAt'> {
  readonly at: number
  /** The price. */
  readonly units: bigint
  /** The rates of the computation: those of the payment, or the first ones after it. */
  readonly rates: FrozenRates | undefined
  /** The name of the rules that applied. */
  readonly rules: string
  /** The verified developer at that time. Empty if there was none. */
  readonly developer: string
  /** The payer's spending in the preceding seven days, in units of 10⁻¹² USDC. */
  readonly spent: bigint
  /** The value of the price without collected parts, in the same units; 0 if the rules shared nothing. */
  readonly worth: bigint
  /** The price in NATIVE, and the value of one whole NATIVE in units of 10⁻¹² USDC; 0 if no payee earned. */
  readonly whole: bigint
  readonly rate: bigint
  /** Empty if the payment was shared. */
  readonly why: NothingWhy | ''
  readonly shares: readonly Share[]
}

/** The total shared out of a payment. If no payee earns, it is 0 and gives the reason. */
export interface SharedOut {
  readonly at: number
  /** Base units of NATIVE. */
  readonly units: bigint
  readonly why: NothingWhy | ''
}

/** Accruals are numbered from 1 in the order in which they were written. */
export interface NumberedAccrual extends Accrual {
  readonly number: number
}

export interface PayeeName {
  readonly role: RewardRole
  readonly payee: string
}

export interface Payee extends PayeeName {
  /**
   * In base units of NATIVE: the total ever accrued; the part that is owed and not reserved; the part paid on chain.
   */
  readonly accrued: bigint
  readonly owed: bigint
  readonly paid: bigint
  /** Reserved for an outgoing transaction that is under way. */
  readonly reserved: bigint
  /** The last accrual that is paid or reserved. */
  readonly settledThrough: number
  /** The reason why payment is suspended, and the end of the suspension. Empty and 0 otherwise. */
  readonly why: string
  readonly parkedUntil: number
}

/** The amount owed to a payee beyond paid and reserved accruals: sums by rate, after one accrual and up to another. */
export interface Owed {
  readonly from: number
  /** Inclusive. */
  readonly through: number
  readonly units: bigint
  readonly atRates: readonly { readonly rate: bigint; readonly units: bigint }[]
  /** The latest payment among its sources. A payer's address can be read from the chain again by it. */
  readonly tx: Uint8Array
}

/** The proof that a wallet owns a host, valid for a period. */
export interface Verification {
  readonly host: string
  readonly wallet: string
  readonly from: number
  /** The end of its validity, by expiry or by revocation. */
  readonly until: number
  readonly isRevoked: boolean
}

export interface Rewards {
  /** Payments that become final from now on are accruable. Payments that are final already are not. */
  start(): Promise<void>
  /** The accruable payments that are due, in the order of payment, and the number of the last accrual. */
  accruable(most: number): Promise<{ readonly payments: readonly Ripening[]; readonly last: number }>
  /**
   * A payer's spending in accruals that were shared, for payments after `from` and up to `to`, in units of 10⁻¹² USDC.
   */
  spent(payer: string, from: number, to: number): Promise<bigint>
  /**
   * Records accruals and adds their shares to the payees' balances in one step; the payments are no longer accruable.
   * Returns false without a change if `last` is no longer the number of the last accrual. An accrual is skipped if its
   * payment already has one.
   */
  accrue(last: number, accruals: readonly Accrual[]): Promise<boolean>
  /** The payments are not due before that time. */
  postpone(txs: readonly Uint8Array[], until: number): Promise<void>
  /** Stores the text of rules under their name. */
  keepRules(id: string, text: string): Promise<void>
  rules(id: string): Promise<string | undefined>
  /** By number, after a given one. */
  accruals(after: number, most: number): Promise<readonly NumberedAccrual[]>
  /** The shared amounts of these payments, in their order. Undefined for a payment without an accrual. */
  shared(txs: readonly Uint8Array[]): Promise<readonly (SharedOut | undefined)[]>
  /** Number of accruable payments. */
  countAccruable(): Promise<number>

  /**
   * Payees that are owed at least this much, have nothing under way and are not parked. The largest amount comes first.
   */
  due(least: bigint, most: number): Promise<readonly Payee[]>
  /** Sorted by text, role first, after a given one. */
  payees(query: {
    readonly role?: RewardRole
    readonly after?: PayeeName
    readonly most: number
  }): Promise<readonly Payee[]>
  payee(name: PayeeName): Promise<Payee | undefined>
  /**
   * The amount that one line of a payout settles. Undefined if nothing is owed. With `most`, only the first accruals up
   * to that sum, but at least one.
   */
  owed(name: PayeeName, most?: bigint): Promise<Owed | undefined>
  /** The payee is not due before that time. A planned payout for it ends the suspension. */
  park(name: PayeeName, why: string, until: number): Promise<void>
  /** By role, without payees that never earned. */
  sums(): Promise<readonly RoleSum[]>
  /** Recomputes all sums by payee and by role: every shared amount is owed, reserved or paid. */
  audit(): Promise<readonly Discrepancy[]>

  /** Records the verification of a host for a wallet, from now until its end. The previous one ends now. */
  verify(verification: Omit<Verification, 'isRevoked'>): Promise<void>
  /** Ends the current verification. False if there is none. */
  revoke(host: string, at: number): Promise<boolean>
  /** All verifications, past and current, the oldest first; of one host or of all. */
  verifications(host?: string): Promise<readonly Verification[]>
}

export interface RoleSum extends Pick<Payee, 'role' | 'accrued' | 'owed' | 'reserved' | 'paid'> {
  readonly payees: number
}
