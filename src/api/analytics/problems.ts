/** `GET /analytics/problems`: payments that need the operator's attention, each with an explanation and a remedy. */
import { encodeBase58 } from '../../core/encoding/base58.ts'
import { formatUnits } from '../../core/money/money.ts'
import type { OutgoingTransaction } from '../../core/payouts/ports/outgoing.ts'
import { judgeRefund } from '../../core/payouts/refunds.ts'
import type { Problem, ProblemKind } from '../../core/ports/reports.ts'
import { cutPage } from '../http/paging.ts'
import { formatRefundTransaction, type RewardsParts } from '../rewards/view.ts'
import { readRevenueToken } from './format.ts'
import type { ProblemsQuery } from './queries.ts'
import { formatFeedRecord, readWentOut } from './records.ts'
import type { BooksParts } from './reports.ts'

/** Limit of the count for each kind. */
const mostCounted = 1_000

export interface ProblemsView {
  /** True for an owner who has signed in. */
  readonly namesTransactions: boolean
  /** Undefined if the ledger records no outgoing transactions. */
  readonly rewards: Pick<RewardsParts, 'mints'>
}

export async function readProblems(
  parts: BooksParts,
  query: ProblemsQuery,
  { namesTransactions, rewards }: ProblemsView,
) {
  const { books, cursors, clock } = parts
  const { kind, cursor, limit } = query
  const asked = { most: limit + 1, ...(kind && { kind }), ...(cursor && { after: cursor }) }
  const [revenueToken, counts, found] = await Promise.all([
    readRevenueToken(books),
    books.countProblems(mostCounted),
    books.problems(asked),
  ])
  const { shown, last } = cutPage(found, limit)
  const now = clock.now()
  const payments = shown.map(({ payment }) => payment)
  const wentOut = await readWentOut(parts, payments)
  const records = shown.map((problem, index) => {
    const decimals = parts.decimalsOf(problem.payment.token)
    const amount: Amount = (units) => (decimals === undefined ? '' : formatUnits(units, decimals))
    return {
      ...formatFeedRecord(parts, problem.payment, revenueToken, wentOut[index]),
      kind: problem.kind,
      ...(problem.required !== undefined && { required: amount(problem.required) }),
      received: amount(problem.payment.units),
      ...(namesTransactions && { tx: encodeBase58(problem.payment.tx) }),
      ...describeProblem(problem, now),
      ...readRefund(rewards, problem, wentOut[index]?.refund, amount, now),
    }
  })
  return { counts, records, next: last ? cursors.write(last.payment) : null }
}

type Amount = (units: bigint) => string

/** The existing refund, or the amount that a refund would return. */
function readRefund(
  rewards: Pick<RewardsParts, 'mints'>,
  { payment, required }: Problem,
  transaction: OutgoingTransaction | undefined,
  amount: Amount,
  now: number,
) {
  if (transaction) {
    const { payment: _payment, ...refund } = formatRefundTransaction(rewards, transaction)
    return { refund }
  }
  const ruling = judgeRefund({ payment: payment, required }, now)
  if (ruling.kind === 'refused') return {}
  return { refundable: { token: payment.token, amount: amount(ruling.units), reason: ruling.reason } }
}

interface Words {
  readonly note: string
  readonly next: string
}

const refund = 'Refund it, unless you agree otherwise with the payer.'

function describeProblem({ kind, payment, until, required }: Problem, now: number): Words {
  const isOpen = until >= now
  const words: Readonly<Record<ProblemKind, () => Words>> = {
    underpaid: () => ({
      note: 'The amount is below the price of its requestId, so it grants no access.',
      next: refund,
    }),
    late: () => ({ note: 'It was paid or claimed after its deadline, so it granted no access.', next: refund }),
    surplus: () =>
      required !== undefined && payment.units > required
        ? { note: 'The amount is above the price.', next: 'Refund the surplus.' }
        : { note: 'Another payment has the same requestId.', next: refund },
    undelivered: () =>
      isOpen
        ? {
            note: 'It was accepted, but nothing has been delivered yet.',
            next: 'Find out why the resource failed. The payer can still retry.',
          }
        : { note: 'It was accepted, but nothing was delivered before its allowance expired.', next: refund },
    unmatched: () => ({
      note: 'It has no requestId of this service, so its purpose is unknown.',
      next: 'Ask the sender about its purpose, or refund it.',
    }),
    unclaimed: () =>
      isOpen
        ? {
            note: 'It was paid in time, but no proof has been presented yet.',
            next: 'Wait: the payer can still claim it. Refund it if the payer asks, for example after losing the checkout cookie.',
          }
        : { note: 'It was paid in time, but no proof was ever presented.', next: refund },
    reverted: () => ({
      note: 'The chain reverted it after delivery, so the delivery was not paid for.',
      next: 'Check the payer, or require finality before delivery.',
    }),
  }
  return words[kind]()
}
