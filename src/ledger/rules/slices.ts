/** The report of a slice: its ended uses, and the uses that the server holds from now on. */
import { sliceOfUses } from '../../core/payment/allowance.ts'
import { maxFreeUses } from '../../core/payment/delivery.ts'
import type { SliceReport, SliceState } from '../../core/ports/ledger.ts'
import {
  demand,
  type Holding,
  leftOf,
  type PaymentAccount,
  type Slice,
  settleLapsed,
  smaller,
  sumOf,
} from './grants.ts'
import { advanceTimeline } from './timeline.ts'

/** Like a take, it voids every other slice and grant with a passed deadline. */
export interface SliceRuling {
  readonly account: PaymentAccount
  /** Undefined if the slice has ended. */
  readonly slice: Slice | undefined
  readonly state: SliceState
}

/** `held` is the holding with all its slices. Undefined if the slice of this fence was voided. */
export function judgeReport(
  held: Holding | undefined,
  fence: bigint,
  report: SliceReport,
  now: number,
): SliceRuling | undefined {
  const own = held?.slices.find((slice) => slice.fence === fence)
  if (!held || !own) return undefined
  demand(report.number <= own.from, 'the reports of a slice are numbered without gaps')
  const others = settleLapsed({ ...held, slices: held.slices.filter((slice) => slice !== own) }, now)
  const isRepeated = report.number < own.from
  const account = isRepeated ? others.account : tallyReport(others.account, own.amount, report, now)
  const kept = own.amount - (account.used - others.account.used)
  const left = leftOf({ ...others, account }, now)
  const isOpen = left !== undefined && !account.late && account.finality !== 'reverted'
  const keeps = smaller(report.keeps, kept)
  const filled = isOpen && report.fills ? sliceOfUses(left) : 0n
  const amount = filled > keeps ? filled : keeps
  return {
    account,
    slice: amount > 0n ? { ...own, amount, from: isRepeated ? own.from : own.from + 1n } : undefined,
    state: { held: amount, remaining: left === undefined ? 0n : left - amount + sumOf(others.slices), isOpen },
  }
}

/** The same counts as at the ends of single uses. */
function tallyReport(account: PaymentAccount, held: bigint, report: SliceReport, now: number): PaymentAccount {
  const { delivered, partial, noBody } = report
  const isNews = delivered + partial + noBody > 0n
  if (!isNews) return account
  const consumed = smaller(delivered, held)
  const freeUses = account.freeUses + noBody
  const freeLimit = account.freeUses < maxFreeUses ? maxFreeUses - 1n : account.freeUses
  const costs = freeUses > freeLimit ? smaller(freeUses - freeLimit, held - consumed) : 0n
  const used = account.used + consumed + costs
  const tallied = { ...account, used, deliveries: account.deliveries + partial, freeUses }
  const outcome = delivered > 0n ? 'delivered' : partial > 0n ? 'partial' : 'no_body'
  return { ...tallied, ...advanceTimeline(tallied, outcome, now) }
}

/** Rejects arguments that only a defective program passes. */
export function checkReport({ number, delivered, partial, noBody, keeps }: SliceReport): void {
  demand(number >= 1n, 'the reports of a slice are numbered from 1')
  demand(
    [delivered, partial, noBody, keeps].every((count) => count >= 0n),
    'a report of a slice has no negative count',
  )
}
