/** Rewards, as a port of the ledger: final payments become accruals, accruals are owed to payees, and dispatches pay them. */
import type { FrozenRates } from '../../money/rates.ts'
import type { TokenCode } from '../../money/tokens.ts'
import type { Discrepancy } from '../discrepancy.ts'
import type { NothingWhy, RewardRole, Share } from '../rewards.ts'

/** A final payment that is not shared out yet. */
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
  /** Whether anything of it was delivered. A window is delivered with its beginning. */
  readonly isDelivered: boolean
}

/** A payment that was shared out, or of which it is settled that nobody earns. */
export interface Accrual {
  readonly tx: Uint8Array
  readonly at: number
  readonly recipient: string
  readonly payer: string
  readonly endpoint: string
  readonly token: TokenCode
  /** The price. */
  readonly units: bigint
  readonly paidAt: number
  /** By which it was reckoned: those of the payment, or the first there were after it. */
  readonly rates: FrozenRates | undefined
  /** The name of the rules that were used. */
  readonly rules: string
  /** The verified developer at that time; empty for none. */
  readonly developer: string
  /** What the payer had spent within seven days before, in units of 10⁻¹² USDC. */
  readonly spent: bigint
  /** The worth of the price, in the same; 0 where nobody earned. */
  readonly worth: bigint
  /** The price in NATIVE, and what one whole NATIVE was worth in units of 10⁻¹² USDC; 0 where nobody earned. */
  readonly whole: bigint
  readonly rate: bigint
  /** Empty where it was shared. */
  readonly why: NothingWhy | ''
  readonly shares: readonly Share[]
}

/** What of a payment was shared out, to all together; 0, and why, where nobody earns. */
export interface SharedOut {
  readonly at: number
  /** Base units of NATIVE. */
  readonly units: bigint
  readonly why: NothingWhy | ''
}

/** Accruals are numbered in the order in which they were written, from 1 on. */
export interface NumberedAccrual extends Accrual {
  readonly number: number
}

export interface PayeeName {
  readonly role: RewardRole
  readonly payee: string
}

export interface Payee extends PayeeName {
  /** All that was ever owed; what is owed now and not reserved; what was paid on chain. Base units of NATIVE. */
  readonly accrued: bigint
  readonly owed: bigint
  readonly paid: bigint
  /** Reserved for a dispatch that is under way. */
  readonly reserved: bigint
  /** Up to which accrual it was paid or reserved. */
  readonly upto: number
  /** Why nothing is paid at present, and until when that is so; empty and 0 otherwise. */
  readonly why: string
  readonly parkedUntil: number
}

/** What is owed to a payee beyond what was paid or reserved: sums by rate, after one accrual and up to another. */
export interface Owed {
  readonly from: number
  readonly upto: number
  readonly units: bigint
  readonly atRates: readonly { readonly rate: bigint; readonly units: bigint }[]
  /** The last payment that it comes from, by which a payer's address can be read from the chain again. */
  readonly tx: Uint8Array
}

/** A wallet that has shown that it owns a host, from a time on, until another. */
export interface Verification {
  readonly host: string
  readonly wallet: string
  readonly from: number
  /** When it runs out unless it is verified again, or was revoked. */
  readonly until: number
  readonly isRevoked: boolean
}

export interface Rewards {
  /** From now on payments that become final ripen, those that are final already do not. */
  start(): Promise<void>
  /** Those whose time has come, the first paid first, and the number of the last accrual. */
  accruable(most: number): Promise<{ readonly payments: readonly Ripening[]; readonly last: number }>
  /** What a payer spent by accruals that were shared, paid after `from` and up to `to`, in units of 10⁻¹² USDC. */
  spent(payer: string, from: number, to: number): Promise<bigint>
  /**
   * Writes accruals down and adds their shares to what is owed, in one step, and they ripen no more. False, and nothing
   * changed, when `last` is not the number of the last accrual any more. One of a payment that has an accrual is left out.
   */
  accrue(last: number, accruals: readonly Accrual[]): Promise<boolean>
  /** Ripens on until then. */
  postpone(txs: readonly Uint8Array[], until: number): Promise<void>
  /** Keeps the text of rules under their name. */
  keepRules(id: string, text: string): Promise<void>
  rules(id: string): Promise<string | undefined>
  /** By number, after one. */
  accruals(after: number, most: number): Promise<readonly NumberedAccrual[]>
  /** What of these payments was shared out, in their order; undefined where one has no accrual. */
  shared(txs: readonly Uint8Array[]): Promise<readonly (SharedOut | undefined)[]>
  /** How many payments ripen. */
  countAccruable(): Promise<number>

  /** Those who are owed at least so much, have nothing under way and are not parked: whom most is owed first. */
  due(least: bigint, most: number): Promise<readonly Payee[]>
  /** In the order of their texts, role first, beyond one. */
  payees(query: {
    readonly role?: RewardRole
    readonly after?: PayeeName
    readonly most: number
  }): Promise<readonly Payee[]>
  payee(name: PayeeName): Promise<Payee | undefined>
  /**
   * Undefined where nothing is. Exactly this is what a line of a payout settles. With `most`, the first accruals only that come
   * to no more together; the very first in any case.
   */
  owed(name: PayeeName, most?: bigint): Promise<Owed | undefined>
  /** Until then it is not due; a payout that is planned for it ends that. */
  park(name: PayeeName, why: string, until: number): Promise<void>
  /** By role; without those to whom nothing was ever owed. */
  sums(): Promise<readonly RoleSum[]>
  /** Adds everything up again, by payee and by role: all that was shared is owed, reserved or paid. */
  audit(): Promise<readonly Discrepancy[]>

  /** Writes down that a host is verified for a wallet from now until then; the one before ends now. */
  verify(verification: Omit<Verification, 'isRevoked'>): Promise<void>
  /** Ends what holds now. False when nothing does. */
  revoke(host: string, at: number): Promise<boolean>
  /** All that ever held, oldest first; of one host or of all. */
  verifications(host?: string): Promise<readonly Verification[]>
}

export interface RoleSum {
  readonly role: RewardRole
  readonly payees: number
  readonly accrued: bigint
  readonly owed: bigint
  readonly reserved: bigint
  readonly paid: bigint
}
