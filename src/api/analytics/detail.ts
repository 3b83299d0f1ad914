/** `GET /analytics/{id}`: one payment with the protocol's five checks, and its history from the chain to the last delivery. */
import { encodeBase58 } from '../../core/encoding/base58.ts'
import { formatUnits } from '../../core/money/money.ts'
import type { DecimalsOf, TokenCode } from '../../core/money/tokens.ts'
import type { History, PaymentListItem } from '../../core/payment/history.ts'
import { listRefunds, parseRefund } from '../../core/payouts/refunds.ts'
import type { NothingWhy } from '../../core/payouts/rewards.ts'
import { formatRefundTransaction, type RewardsParts } from '../rewards/view.ts'
import { formatShared, readRevenueToken, type WentOut } from './format.ts'
import { formatFeedRecord, readWentOut } from './records.ts'
import type { BooksParts } from './reports.ts'

type Check = 'passed' | 'failed' | 'unchecked'
export const timelineEvents = [
  ...(['claimed', 'paid', 'seen', 'registered', 'delivered', 'undelivered', 'finalized', 'reverted', 'late'] as const),
  ...(['shared', 'unshared', 'refunding', 'refunded'] as const),
] as const

interface Step {
  readonly at: number | undefined
  readonly event: (typeof timelineEvents)[number]
  readonly note?: string
  /** The amount of an outgoing transaction. */
  readonly amount?: string
  readonly token?: TokenCode
  readonly tx?: string
}

export interface DetailView {
  /** True for an owner who has signed in. */
  readonly namesTransactions: boolean
  readonly rewards: Pick<RewardsParts, 'mints' | 'refund'>
}

export async function readDetail(parts: BooksParts, tx: Uint8Array, { namesTransactions, rewards }: DetailView) {
  const history = await parts.books.history(tx)
  if (!history) return undefined
  const { payment, required, claimableUntil } = history
  const [standing, [wentOut = {}]] = await Promise.all([parts.peek(tx), readWentOut(parts, [payment])])
  const decimals = parts.decimalsOf(payment.token)
  const until = standing?.usableUntil ?? (claimableUntil || undefined)
  return {
    ...formatFeedRecord(parts, payment, await readRevenueToken(parts.books), wentOut),
    ...(namesTransactions && { tx: encodeBase58(payment.tx) }),
    required: required === undefined || decimals === undefined ? '' : formatUnits(required, decimals),
    checks: listChecks(history),
    timeline: createTimeline(history, outgoingSteps(wentOut, parts.decimalsOf, namesTransactions)).map(
      ({ at, ...step }) => ({ at: formatTime(at), ...step }),
    ),
    usableUntil: formatTime(until),
    allowance: standing ? { unit: standing.allowance.unit, amount: String(standing.allowance.amount) } : null,
    remaining: standing ? String(standing.remaining) : null,
    canRefund: rewards.refund !== undefined,
    ...describeRefunds(parts, history, wentOut, rewards),
  }
}

/** The refund of the payment, or the refunds that are possible, or the reason why there is none. */
function describeRefunds(
  { clock, decimalsOf }: BooksParts,
  history: History,
  { refund }: WentOut,
  rewards: Pick<RewardsParts, 'mints'>,
) {
  if (refund) {
    const { payment: _payment, ...ordered } = formatRefundTransaction(rewards, refund)
    return { refund: ordered, refundable: [], notRefundable: '', refundableFrom: null }
  }
  const { token } = history.payment
  const decimals = decimalsOf(token)
  const rulings = listRefunds(history, clock.now())
  const refused = rulings.find((ruling) => ruling.kind === 'refused')
  return {
    refundable: rulings.flatMap((ruling) => {
      if (ruling.kind === 'refused') return []
      const amount = decimals === undefined ? '' : formatUnits(ruling.units, decimals)
      return [{ token, amount, reason: ruling.reason }]
    }),
    notRefundable: refused?.why ?? '',
    refundableFrom: formatTime(refused?.from),
  }
}

function formatTime(time: number | undefined): string | null {
  return time === undefined ? null : new Date(time).toISOString()
}

/** A registered payment has passed all checks. Only registration shows whether a payment was used. */
function listChecks({ payment, required, isShown }: History): Readonly<Record<string, Check>> {
  const { state, request, units } = payment
  if (!isShown)
    return { exists: 'unchecked', recipient: 'unchecked', amount: 'unchecked', memo: 'unchecked', unused: 'unchecked' }
  const isRegistered = state === 'confirmed' || state === 'finalized'
  const amount = required === undefined ? 'unchecked' : units >= required ? 'passed' : 'failed'
  return {
    exists: state === 'reverted' ? 'failed' : 'passed',
    recipient: 'passed',
    amount,
    memo: request === '' ? 'failed' : 'passed',
    unused: isRegistered ? 'passed' : 'unchecked',
  }
}

/** `outgoing` holds the steps of the outgoing transactions of this payment. */
function createTimeline(history: History, outgoing: readonly Step[]): readonly Step[] {
  const { payment, isShown, seenAt, registeredAt, undeliveredAt, concludedAt } = history
  if (!isShown)
    return [
      {
        at: payment.at,
        event: 'claimed',
        note: 'A proof refers to this transaction, but no node has returned it yet.',
      },
    ]
  // A proof can arrive before the watcher sees the payment.
  const begin: readonly Step[] = [
    { at: payment.at, event: 'paid' },
    ...(seenAt === undefined ? [] : [{ at: Math.min(seenAt, registeredAt ?? seenAt), event: 'seen' as const }]),
  ]
  const end: readonly Step[] = [
    ...(registeredAt === undefined
      ? []
      : [{ at: registeredAt, event: payment.state === 'late' ? ('late' as const) : ('registered' as const) }]),
    ...deliveries(history),
    ...(undeliveredAt === undefined
      ? []
      : [{ at: undeliveredAt, event: 'undelivered' as const, note: 'A response delivered nothing.' }]),
    ...(isConcluded(payment) ? [{ at: concludedAt, event: payment.state }] : []),
    ...outgoing,
  ]
  return [...begin, ...inOrder(end)]
}

const unsharedNotes: Readonly<Record<NothingWhy, string>> = {
  other_recipient: 'The recipient is not the rewards collector.',
  no_partner: 'No partner is assigned to the endpoint.',
  insider: 'The payer is one of the payees.',
  too_little: 'The amount is too small to share.',
  not_delivered: 'Nothing was delivered.',
}

function outgoingSteps({ shared, refund }: WentOut, decimalsOf: DecimalsOf, namesTransactions: boolean) {
  const steps: Step[] = []
  if (shared?.why === '')
    steps.push({ at: shared.at, event: 'shared', amount: formatShared(shared, decimalsOf), token: 'NATIVE' })
  else if (shared) steps.push({ at: shared.at, event: 'unshared', note: unsharedNotes[shared.why] })
  if (!refund) return steps
  const { units, reason, ...facts } = parseRefund(refund.about)
  const token = facts.token as TokenCode
  const decimals = decimalsOf(token)
  const what = {
    amount: decimals === undefined ? '' : formatUnits(units, decimals),
    token,
    ...(reason === 'surplus' && { note: 'The overpaid amount.' }),
  }
  steps.push({ at: refund.at, event: 'refunding', ...what })
  if (refund.state !== 'landed') return steps
  const tx = namesTransactions ? refund.signed?.signature : undefined
  return [...steps, { at: refund.changedAt, event: 'refunded' as const, ...what, ...(tx !== undefined && { tx }) }]
}

function isConcluded(
  payment: PaymentListItem,
): payment is PaymentListItem & { readonly state: 'finalized' | 'reverted' } {
  return payment.state === 'finalized' || payment.state === 'reverted'
}

function deliveries({ payment, deliveredAt, deliveredLast }: History): readonly Step[] {
  if (deliveredAt === undefined)
    // An earlier version did not record the time. A window counts as delivered from its start.
    return payment.delivery === 'some' ? [{ at: undefined, event: 'delivered' }] : []
  const first: Step = { at: deliveredAt, event: 'delivered' }
  if (deliveredLast === undefined || deliveredLast === deliveredAt) return [first]
  return [
    { ...first, note: 'The first response.' },
    { at: deliveredLast, event: 'delivered', note: 'The last response.' },
  ]
}

/** Sorts by time. A step without a time stays behind its predecessor. */
function inOrder(steps: readonly Step[]): readonly Step[] {
  let last = Number.NEGATIVE_INFINITY
  const keyed = steps.map((step) => {
    last = step.at ?? last
    return { step, key: last }
  })
  return keyed.sort((one, other) => one.key - other.key).map(({ step }) => step)
}
