/** Submissions by the rules: which may be opened, and which values the ledger accepts. */
import type { SponsoredSums, Submission, SubmissionLimits, SubmissionOpening } from '../../core/ports/sponsor.ts'
import { checkTx, demand } from './grants.ts'
import { computeStart, dayMs, hourMs } from './totals.ts'

const messageBytes = 32
/** 1,000 SOL. Far above any fee, and low enough that the sum of millions of fees fits into 63 bits. */
const largestFee = 10n ** 12n

/** The records that decide whether a submission may be opened, as of one moment. */
export interface SubmissionFacts {
  readonly openOfRequest: number
  readonly openOfPayer: number
  readonly failuresOfPayer: number
  readonly failuresOfClient: number
  readonly sums: SponsoredSums
}

/** Fees are stored as sums of such a period. */
const sumMs = 600_000

/** The start of the period to which a submission belongs. */
export function computeSumStart(at: number): number {
  return computeStart(at, sumMs)
}

/** The first start of a period that is not before a time. */
export function computeSumEnd(time: number): number {
  return computeStart(time + sumMs - 1, sumMs)
}

export function computePeriods(now: number) {
  return { hour: now - hourMs, day: now - dayMs }
}

/** For a transaction that is not recorded yet. The payer pays for a submission of 0 lamports, so no budget applies. */
export function judgeOpening(
  { lamports, client }: Submission,
  limits: SubmissionLimits,
  { openOfRequest, openOfPayer, failuresOfPayer, failuresOfClient, sums }: SubmissionFacts,
): SubmissionOpening {
  if (openOfRequest > 0) return { kind: 'other', of: 'request' }
  if (openOfPayer > 0) return { kind: 'other', of: 'payer' }
  if (failuresOfPayer >= limits.failuresPerPayer) return { kind: 'exceeded', limit: 'payer' }
  if (client !== '' && failuresOfClient >= limits.failuresPerClient) return { kind: 'exceeded', limit: 'client' }
  if (lamports === 0n) return { kind: 'opened' }
  // Every open one may fail.
  if (sums.lost + sums.open + lamports > limits.lostPerDay) return { kind: 'exceeded', limit: 'lost' }
  if (sums.spent + sums.open + lamports > limits.perDay) return { kind: 'exceeded', limit: 'day' }
  return { kind: 'opened' }
}

/** The submission with times as databases store them: in whole milliseconds. */
export function checkSubmission(submission: Submission): Submission {
  const { tx, message, slot, lamports, heldUntil, at } = submission
  checkTx(tx)
  demand(message.length === messageBytes, 'a message is named by the 32 bytes of its hash')
  demand(Number.isSafeInteger(slot), 'a slot is a whole number')
  checkFee(lamports)
  return { ...submission, heldUntil: checkTime(heldUntil), at: checkTime(Math.floor(at)) }
}

export function checkFee(lamports: bigint): void {
  demand(lamports >= 0n && lamports <= largestFee, 'a network fee is from 0 to 1,000 SOL')
}

/** The first whole millisecond that is not before a time. */
export function checkTime(time: number): number {
  const whole = Math.ceil(time)
  demand(Number.isSafeInteger(whole), 'a time is a number of milliseconds')
  return whole
}

/** The statement that an inspection reads the sums with. The columns are `spent`, `lost` and `open`. */
export function formatSums(table: string, since: number): string {
  const sum = (condition: string) => `(SELECT coalesce(sum(lamports), 0) FROM ${table} WHERE ${condition})`
  const closed = (outcome: 'landed' | 'failed') => sum(`outcome = '${outcome}' AND at >= ${checkTime(since)}`)
  return `SELECT ${closed('landed')} AS spent, ${closed('failed')} AS lost, ${sum('outcome IS NULL')} AS open`
}

export function readSums(row: Readonly<Record<string, unknown>> | undefined): SponsoredSums {
  const read = (name: string) => BigInt(String(row?.[name] ?? 0))
  return { spent: read('spent'), lost: read('lost'), open: read('open') }
}
