/** Payees with an amount owed that the next payout run would skip, with the reasons. */
import { formatUnits } from '../../core/money/money.ts'
import type { Payee, PayeeName, Rewards } from '../../core/payouts/ports/rewards.ts'
import { short, table } from '../output.ts'

export interface Waiting extends PayeeName {
  readonly owed: bigint
  readonly why: string
  /** The payout is not retried before this time; undefined without such a time. */
  readonly until: number | undefined
}

export interface WaitingList {
  readonly waiting: readonly Waiting[]
  /** False if there are more payees than were read. */
  readonly isAll: boolean
}

interface WaitingTerms {
  readonly now: number
  readonly decimals: number
  /** The smallest payout; undefined if unknown. */
  readonly least: bigint | undefined
}

const mostPayees = 5_000
const pageSize = 500

export async function findWaiting(rewards: Pick<Rewards, 'payees'>, terms: WaitingTerms): Promise<WaitingList> {
  const waiting: Waiting[] = []
  let after: PayeeName | undefined
  for (let seen = 0; seen < mostPayees; seen += pageSize) {
    const page = await rewards.payees({ most: pageSize, ...(after && { after }) })
    waiting.push(...page.flatMap((payee) => describeReason(payee, terms) ?? []))
    after = page.at(-1)
    if (page.length < pageSize) return { waiting, isAll: true }
  }
  return { waiting, isAll: false }
}

function describeReason(payee: Payee, { now, least, decimals }: WaitingTerms): Waiting | undefined {
  const { role, payee: name, owed, reserved, parkedUntil } = payee
  const waits = (why: string, until?: number): Waiting => ({ role, payee: name, owed, why, until })
  if (owed === 0n) return undefined
  if (parkedUntil > now) return waits(payee.why, parkedUntil)
  if (reserved > 0n) return waits('a payout is under way')
  if (least === undefined || owed >= least) return undefined
  return waits(`the amount is below the threshold of ${formatUnits(least, decimals)} NATIVE`)
}

const mostShown = 50

/** A table, limited to a readable length. */
export function waitingLines({ waiting, isAll }: WaitingList, amount: (units: bigint) => string): readonly string[] {
  if (waiting.length === 0) return []
  const rows = waiting
    .slice(0, mostShown)
    .map(({ role, payee, owed, why, until }) => [role, short(payee), amount(owed), `${why}${untilWords(until)}`])
  const left = waiting.length - rows.length
  const more = isAll ? `and ${left} others` : `and ${left} or more others`
  return [
    '',
    'Waiting payees:',
    ...table([['role', 'payee', 'owed', 'why'], ...rows]),
    ...(left > 0 ? [`  ${more}`] : []),
  ]
}

function untilWords(until: number | undefined): string {
  if (until === undefined) return ''
  return `; checked again after ${new Date(until).toISOString().slice(0, 16).replace('T', ' ')} UTC`
}

export function waitingFacts({ waiting, isAll }: WaitingList, amount: (units: bigint) => string) {
  return {
    waiting: waiting.map(({ role, payee, owed, why, until }) => ({
      ...{ role, payee, owed: amount(owed), why },
      until: until === undefined ? null : new Date(until).toISOString(),
    })),
    isAll,
  }
}
