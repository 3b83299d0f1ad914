/** From what somebody is owed to one line of a payout, or the reason why there is none yet. */
import type { AccountState } from './outgoing-wallet.ts'
import type { PayoutLine } from './ports/outgoing.ts'
import type { Owed, PayeeName } from './ports/rewards.ts'
import { payable, restRoles } from './rewards.ts'

export interface PayoutTerms {
  /** What one whole NATIVE is worth now, in units of 10⁻¹² USDC. */
  readonly rate: bigint
  /** Less is not sent: it would be eaten by fees. Base units of NATIVE. */
  readonly least: bigint
  /** What opening a token account costs, in base units of NATIVE; undefined while that is not known. */
  readonly opening: bigint | undefined
}

export interface PayeeFacts extends PayeeName {
  readonly owed: Owed
  readonly account: AccountState
}

export type Drafted =
  | { readonly kind: 'line'; readonly line: PayoutLine }
  /** It can be paid later without anybody doing anything. */
  | { readonly kind: 'wait'; readonly why: string }
  /** Somebody has to do something first. */
  | { readonly kind: 'park'; readonly why: string }

export function draftLine({ role, payee, owed, account }: PayeeFacts, terms: PayoutTerms): Drafted {
  if (account === 'frozen') return { kind: 'park', why: 'the token account is frozen by the issuer of the token' }
  if (account === 'unusable') return { kind: 'park', why: 'the token account cannot take a plain transfer' }
  const { units: gross, from, upto, atRates } = owed
  const isOwn = restRoles.some((one) => one === role)
  const full = isOwn ? gross : payable(atRates, terms.rate)
  const line = { role, payee, from, upto, gross }
  if (account === 'ready') {
    if (full < terms.least || full === 0n)
      return { kind: 'wait', why: 'at the rate of today it is too little to be sent' }
    return { kind: 'line', line: { ...line, units: full, opening: 0n } }
  }
  if (terms.opening === undefined) return { kind: 'wait', why: 'what a token account costs is not known' }
  const left = full - terms.opening
  // Who has no account pays for it, once, and not with most of what is owed.
  if (left < terms.opening || left < terms.least || left <= 0n)
    return { kind: 'wait', why: 'there is no token account, and opening one would take too much of what is owed' }
  return { kind: 'line', line: { ...line, units: left, opening: terms.opening } }
}
