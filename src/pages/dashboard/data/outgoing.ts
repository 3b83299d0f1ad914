/** Responses about outgoing transactions, as this page reads them. */
import type { z } from 'zod'
import type * as answers from '../../../api/rewards/answers.ts'

export type Rewards = z.output<typeof answers.rewards>
export type RewardsRules = NonNullable<Rewards['rules']>
export type RoleLine = Rewards['roles'][number]
export type Sums = Pick<RoleLine, 'accrued' | 'due' | 'underWay' | 'paid'>

export type Payouts = z.output<typeof answers.payouts>
export type Payout = Payouts['payouts'][number]
/** One outgoing transaction. */
export type Outgoing = Omit<Payout, 'payees' | 'amount'>
export type OutState = Outgoing['state']
export type PayoutDetail = z.output<typeof answers.payoutDetail>
/** The amount owed to a payee, its deductions, and the amount sent. */
export type PayoutLine = PayoutDetail['lines'][number]

export type Payees = z.output<typeof answers.payees>
export type Payee = Payees['payees'][number]
export type PayeeDetail = z.output<typeof answers.payeeDetail>

export type Refunds = z.output<typeof answers.refunds>
/** In a list beside the payment itself, its transaction is missing. */
export type Refund = Omit<Refunds['refunds'][number], 'payment'> & { readonly payment?: string }

export type Sponsor = z.output<typeof answers.sponsor>

export type Settlement = z.output<typeof answers.settlement>
export type SettlementWallet = Settlement['wallets'][number]
export type Conversion = Settlement['conversions'][number]
