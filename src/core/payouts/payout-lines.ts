/** Turns the balance of a payee into one line of a payout, or into the reason why there is none yet. */
import type { AccountState } from './outgoing-wallet.ts'
import type { PayoutLine } from './ports/outgoing.ts'
import type { Owed, PayeeName } from './ports/rewards.ts'
import { payable, restRoles } from './rewards.ts'

export interface PayoutTerms {
  /** The current value of one whole NATIVE, in units of 10⁻¹² USDC. */
  readonly rate: bigint
  /** The minimum payout in base units of NATIVE. Fees would consume a smaller one. */
  readonly least: bigint
  /** The cost of opening a token account, in base units of NATIVE. Undefined while it is unknown. */
  readonly opening: bigint | undefined
}

export interface PayeeFacts extends PayeeName {
  readonly owed: Owed
  readonly account: AccountState
}

export type Drafted =
  | { readonly kind: 'line'; readonly line: PayoutLine }
  /** The line can be paid later without any action. */
  | { readonly kind: 'wait'; readonly why: string }
  /** The payee or the operator must act first. */
  | { readonly kind: 'park'; readonly why: string }

export function draftLine({ role, payee, owed, account }: PayeeFacts, terms: PayoutTerms): Drafted {
  if (account === 'frozen') return { kind: 'park', why: 'the issuer of the token has frozen the token account' }
  if (account === 'unusable') return { kind: 'park', why: 'the token account does not accept plain transfers' }
  const { units: gross, from, through, atRates } = owed
  const isOwn = restRoles.some((one) => one === role)
  const full = isOwn ? gross : payable(atRates, terms.rate)
  const line = { role, payee, from, through, gross }
  if (account === 'ready') {
    if (full < terms.least || full === 0n)
      return { kind: 'wait', why: 'at the current rate the amount is too small to send' }
    return { kind: 'line', line: { ...line, units: full, opening: 0n } }
  }
  if (terms.opening === undefined) return { kind: 'wait', why: 'the cost of a token account is unknown' }
  const left = full - terms.opening
  // A payee without an account pays for it once, and only if at least half of the balance remains.
  if (left < terms.opening || left < terms.least || left <= 0n)
    return {
      kind: 'wait',
      why: 'the payee has no token account, and opening one would cost too large a part of the amount',
    }
  return { kind: 'line', line: { ...line, units: left, opening: terms.opening } }
}
