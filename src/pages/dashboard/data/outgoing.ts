/** Responses about outgoing transactions, as this page reads them, and the refunds that are under way. */
import { effect, signal } from '@preact/signals'
import type { z } from 'zod'
import type * as answers from '../../../api/rewards/answers.ts'
import { noteChange } from './answer.ts'
import { ask } from './ask.ts'

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

/** Interval of the state checks of refunds. */
const pollMs = 2_000

const followed = signal<ReadonlySet<string>>(new Set())
/** The latest refunds, as of the last check. */
export const latestRefunds = signal<readonly Refund[]>([])

export const isUnderWay = ({ state }: Refund): boolean => state === 'planned' || state === 'signed'

/**
 * Loads all data again as soon as the refund is no longer under way, also after its panel was closed.
 */
export function followRefund(id: string): void {
  if (!followed.peek().has(id)) followed.value = new Set([...followed.peek(), id])
}

effect(() => {
  if (followed.value.size === 0) return
  const timer = setInterval(() => void check(), pollMs)
  return () => clearInterval(timer)
})

async function check(): Promise<void> {
  if (document.hidden) return
  const outcome = await ask<Refunds>('/api/refunds?limit=25')
  if (outcome.kind === 'signed-out' || outcome.kind === 'not-owner') followed.value = new Set()
  if (outcome.kind !== 'answer') return
  const { refunds } = outcome.value
  latestRefunds.value = refunds
  const before = followed.peek()
  const open = new Set(refunds.flatMap((refund) => (isUnderWay(refund) && before.has(refund.id) ? [refund.id] : [])))
  if (open.size === before.size) return
  followed.value = open
  noteChange()
}
