/**
 * What is owed and what goes out, as ports of the ledger. Nothing here sends anything: it is the memory by which whoever
 * sends pays nobody twice and forgets nobody.
 *
 * A payment that is final ripens until it is shared out (an accrual). Its shares are owed to payees. A dispatch is one
 * transaction that goes out: it reserves what it pays when it is planned, and its signed bytes are written down before they
 * are sent. Every step names the version it saw, so that of two workers only one takes it.
 */
import type { FrozenRates } from '../money/rates.ts'
import type { TokenCode } from '../money/tokens.ts'
import type { Discrepancy } from './discrepancy.ts'
import type { NothingWhy, RewardRole, Share } from './rewards.ts'

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

/** One line of a payout: what a payee gets, and what that settles. */
export interface PayoutLine extends PayeeName {
  /** The accruals it settles: those after `from`, up to `upto`. */
  readonly from: number
  readonly upto: number
  /** What they come to. */
  readonly gross: bigint
  /** What is sent: the gross less what a lower rate and the opening of an account take. */
  readonly units: bigint
  /** Taken for the rent of the payee's token account, which did not exist. */
  readonly opening: bigint
}

export type DispatchKind = 'payout' | 'conversion' | 'refund'

/**
 * `planned`: reserved, nothing signed that could still land. `signed`: its bytes may land. `landed`: they did, for good.
 * `dropped`: given up; what it had reserved is owed again.
 */
export type DispatchState = 'planned' | 'signed' | 'landed' | 'dropped'

/** A signed transaction, as it is kept. */
export interface KeptBytes {
  readonly signature: string
  readonly lastValidBlockHeight: number
  /** The slot in which its block was read: a node whose memory begins later cannot say that it never landed. */
  readonly slot: number
  /** Sealed, and erased once its fate is known. */
  readonly sealed: string
}

export interface Dispatch {
  /** Also in the memo of its transaction. */
  readonly id: string
  readonly kind: DispatchKind
  /** Of one name only one is under way, and of a refund's only one ever lands; empty for payouts, which reserve by line. */
  readonly lane: string
  readonly state: DispatchState
  readonly version: number
  /** When it was planned, and when it last changed. */
  readonly at: number
  readonly changedAt: number
  /** How often it was signed. */
  readonly attempts: number
  /** How often it failed on chain. */
  readonly failures: number
  /** Of the last bytes; undefined before the first. Without `sealed` once their fate is known. */
  readonly signed: KeptBytes | undefined
  readonly slot: number
  /** Why it was signed anew, or dropped; empty otherwise. */
  readonly why: string
  /** What a conversion or a refund is about, and what came of it, as JSON text; empty for payouts. */
  readonly about: string
}

export interface DispatchPlan {
  readonly id: string
  readonly kind: DispatchKind
  readonly lane: string
  readonly about: string
  /** Payouts only. */
  readonly lines: readonly PayoutLine[]
  /** The most that payouts may send that landed since a time or are under way, this one included. */
  readonly cap?: { readonly since: number; readonly units: bigint }
  /**
   * Refunds of whole payments: it must still have brought nothing, and cannot be used from then on, until the refund is
   * dropped. It may have come too late, or be registered nowhere: then nobody can register it any more, whichever proof it has.
   */
  readonly voids?: Uint8Array
  /** The payment that a refund sends back, and how much of it. When it has landed, the books subtract it. */
  readonly refunds?: { readonly tx: Uint8Array; readonly units: bigint }
}

/** The most payouts that may be signed since a time, one that is signed again counted again. */
export interface SigningBudget {
  readonly since: number
  readonly most: bigint
}

export type Planning =
  | { readonly kind: 'planned'; readonly dispatch: Dispatch }
  /** Somebody was first: a payee has moved on, the lane is in use, or (a refund) was used. */
  | { readonly kind: 'taken' }
  /** The cap is reached. */
  | { readonly kind: 'capped' }
  /** The payment to be refunded was used, is being delivered, was taken back by the chain, or goes back already. */
  | { readonly kind: 'in_use' }

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
  ripe(most: number): Promise<{ readonly payments: readonly Ripening[]; readonly last: number }>
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
  ripening(): Promise<number>

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

export interface DispatchMark {
  readonly at: number
  readonly id: string
}

export interface Dispatches {
  /** Reserves and writes down, in one step. */
  plan(plan: DispatchPlan): Promise<Planning>
  /** Each of these answers the dispatch as it is now, or undefined when the version has passed; then nothing changed. */
  /** With a budget, `spent` and nothing changed where a payout would be one too many. */
  sign(
    id: string,
    version: number,
    signed: KeptBytes,
    about?: string,
    budget?: SigningBudget,
  ): Promise<Dispatch | 'spent' | undefined>
  /** What was signed can no longer land: back to `planned`. It may have failed on chain, and not only missed its time. */
  unsign(id: string, version: number, why: string, hasFailed?: boolean): Promise<Dispatch | undefined>
  /** It landed for good: what it paid is paid. */
  land(id: string, version: number, slot: number, about?: string): Promise<Dispatch | undefined>
  /** Gives up what is only planned: what it had reserved is owed again. */
  drop(id: string, version: number, why: string): Promise<Dispatch | undefined>
  /** All that is planned or signed, the oldest first. */
  open(): Promise<readonly Dispatch[]>
  get(id: string): Promise<Dispatch | undefined>
  /** The one in a lane that was not dropped; the latest. */
  inLane(lane: string): Promise<Dispatch | undefined>
  /** The same of many lanes, in their order. */
  inLanes(lanes: readonly string[]): Promise<readonly (Dispatch | undefined)[]>
  lines(id: string): Promise<readonly PayoutLine[]>
  /** The latest first, beyond one. */
  list(query: {
    readonly kind?: DispatchKind
    readonly state?: DispatchState
    readonly after?: DispatchMark
    readonly most: number
  }): Promise<readonly Dispatch[]>
  /** What a payee was paid, or is about to be, the latest first. */
  linesOf(name: PayeeName, most: number): Promise<readonly (PayoutLine & { readonly dispatch: Dispatch })[]>
  /** What payouts send that landed since a time, whenever they were planned, or are under way: those may land any time. */
  planned(since: number): Promise<bigint>
  /** How often payouts were signed since a time. */
  signings(since: number): Promise<bigint>
}

/** Signed bytes are kept so that only this service can read them. */
export interface Sealer {
  seal(bytes: Uint8Array, about: string): string
  /** Undefined for what was not sealed here, or about something else. */
  open(text: string, about: string): Uint8Array | undefined
}
