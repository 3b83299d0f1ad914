/** Refunding a payment: the confirmation, the order, and its state. */

import { useSignal } from '@preact/signals'
import { formatAmount, formatRounded } from '../../look/amounts.ts'
import { scaleDecimal } from '../../look/decimals.ts'
import { pageLocale } from '../../look/locale.ts'
import type { FeedRecord, ProblemRecord } from '../data/answers.ts'
import { type Outcome, post } from '../data/ask.ts'
import type { Refund, Refunds } from '../data/outgoing.ts'
import { formatAddress } from '../data/route.ts'
import { readSession } from '../data/session.ts'
import { Card } from '../elements/card.tsx'
import { Amount, Name } from '../elements/cells.tsx'
import { Command } from '../elements/copy.tsx'
import { Link } from '../elements/link.tsx'
import { lastColumns, OutBadge, type StateWords, sentence, stateColumn, Transaction } from '../elements/outgoing.tsx'
import { type Column, Table } from '../elements/table.tsx'
import { Dialog } from './dialog.tsx'

export const refundWords: StateWords = {
  planned: 'Planned',
  signed: 'On its way',
  landed: 'Refunded',
  dropped: 'Not sent',
  isRefund: true,
}
/** A payment that can be refunded. */
export interface RefundSubject extends Partial<Pick<FeedRecord, 'amount' | 'worth' | 'revenueToken' | 'delivery'>> {
  readonly id?: string
  readonly payer?: string
  readonly tx?: string | undefined
  readonly refundable?: NonNullable<ProblemRecord['refundable']> | undefined
}

/** Refunds that were ordered on this screen, by the record of their payment. */
export type Ordered = ReadonlyMap<string, Refund>

/** The current refund of a payment, if there is one. */
export function findRefund(one: ProblemRecord, ordered: Ordered, refunds: readonly Refund[]): Refund | undefined {
  const known = ordered.get(one.id ?? '') ?? one.refund
  return refunds.find(({ id }) => id === known?.id) ?? known
}

interface RefundCellProps {
  readonly one: ProblemRecord
  readonly refund: Refund | undefined
  readonly onAsk: () => void
}

/** The cell in the row of a problem. */
export function RefundCell({ one, refund, onAsk }: RefundCellProps) {
  const canAsk = one.refundable !== undefined && (refund === undefined || refund.state === 'dropped')
  if (!refund && !canAsk) return null
  return (
    <div class="refund">
      {refund && (
        <span role="status">
          <OutBadge one={refund} words={refundWords} /> {formatAmount(refund.amount, pageLocale())} {refund.token}{' '}
          {refund.state === 'dropped' ? sentence(refund.why) : refund.tx != null && <Transaction tx={refund.tx} />}
        </span>
      )}
      {canAsk && (
        <button type="button" class="button" onClick={onAsk}>
          Refund…
        </button>
      )}
    </div>
  )
}

/** The value of the refund at the rate of the payment. Undefined for the currency of the reports, or without a rate. */
function describeWorth({ refundable, amount = '', worth = '', revenueToken = '' }: RefundSubject): string | undefined {
  if (!refundable || refundable.token === revenueToken) return undefined
  const value = scaleDecimal(worth, refundable.amount, amount)
  return value && `≈ ${formatRounded(value, pageLocale())} ${revenueToken}`
}

interface RefundDialogProps {
  readonly one: RefundSubject
  readonly canSend: boolean
  /** Called with the ordered refund, if there is one. */
  readonly onClose: (refund?: Refund) => void
}

export function RefundDialog({ one, canSend, onClose }: RefundDialogProps) {
  const { refundable, payer = '', tx } = one
  if (!refundable) return null
  const amount = `${formatAmount(refundable.amount, pageLocale())} ${refundable.token}`
  const worth = describeWorth(one)
  const isWhole = one.delivery === 'all'
  return (
    <Dialog title="Refund" class="panel" onClose={() => onClose()}>
      <div class="ask">
        <p>
          <b>{amount}</b> {worth && `(${worth} when paid) `}
          {refundable.reason === 'surplus' ? 'above the price ' : ''}
          {canSend ? 'is refunded to the wallet that paid' : 'can be refunded to the wallet that paid'}, known here as{' '}
          <Name text={payer} />.
        </p>
        <p class="muted">
          The service does not store the address. It reads it from the payment on chain
          {tx !== undefined && (
            <>
              {' '}
              <Name text={tx} />
            </>
          )}
          , and it must belong to this payer.
        </p>
        {['undelivered', 'unclaimed'].includes(refundable.reason) && <p>The payment grants no access after that.</p>}
        {refundable.reason === 'delivered' && (
          <p>
            <b>The payment was delivered{isWhole ? '' : ', at least in part'}.</b> You bear the cost: shares that were
            credited for it stay.{!isWhole && ' The rest of the purchase then grants no access.'}
          </p>
        )}
        {canSend ? <Order one={one} amount={amount} onClose={onClose} /> : <ByHand one={one} />}
      </div>
    </Dialog>
  )
}

function Order({
  one,
  amount,
  onClose,
}: {
  one: RefundSubject
  amount: string
  onClose: RefundDialogProps['onClose']
}) {
  const state = useSignal<'idle' | 'sending' | string>('idle')
  const send = async () => {
    state.value = 'sending'
    const outcome = await post<Refund>('/api/refunds', {
      id: one.id,
      ...(one.refundable?.reason === 'delivered' && { delivered: true }),
    })
    if (outcome.kind !== 'answer') {
      state.value = describeReason(outcome)
      return
    }
    onClose(outcome.value)
  }
  const isSending = state.value === 'sending'
  return (
    <>
      <p>A refund is sent once and cannot be undone.</p>
      {state.value !== 'idle' && !isSending && (
        <p class="error" role="alert">
          {state.value}
        </p>
      )}
      <div class="ask-buttons">
        <button type="button" class="button" onClick={() => onClose()}>
          Cancel
        </button>
        <button type="button" class="button button-main" disabled={isSending} onClick={() => void send()}>
          {isSending ? 'Ordering…' : `Refund ${amount}`}
        </button>
      </div>
    </>
  )
}

/** One sentence. */
function describeReason(outcome: Exclude<Outcome<unknown>, { kind: 'answer' }>): string {
  if ('detail' in outcome) return outcome.detail
  if (outcome.kind === 'unreachable')
    return 'The service does not respond, so the outcome is unknown. You can safely order the refund again.'
  return 'Sign in as an owner to refund payments.'
}

/** Without a key in the service, its holder refunds with the command. */
function ByHand({ one: { tx, refundable } }: { readonly one: RefundSubject }) {
  return (
    <>
      <p>This server has no key for refunds. On a server with the key and the same ledger, run:</p>
      <Command
        text={`npx paystile refund ${tx ?? '<transaction>'}${refundable?.reason === 'delivered' ? ' --delivered' : ''}`}
      />
      {tx === undefined && !readSession().owner && (
        <p class="muted">
          The transaction is shown to <Link href={formatAddress('sign-in')}>an owner who is signed in</Link>.
        </p>
      )}
    </>
  )
}

const reasons: Readonly<Record<string, string>> = {
  late: 'Late',
  unmatched: 'Unmatched',
  underpaid: 'Underpaid',
  unclaimed: 'Unclaimed',
  undelivered: 'Undelivered',
  surplus: 'Surplus',
  delivered: 'Delivered',
}

const columns: readonly Column<Refund>[] = [
  {
    name: 'Amount',
    class: 'number lead',
    cell: ({ amount, token, reason }) => (
      <>
        <Amount amount={amount} token={token} />
        <span class="narrow">{reasons[reason] ?? reason}</span>
      </>
    ),
  },
  stateColumn(refundWords),
  {
    name: 'Why',
    class: 'wide',
    cellClass: 'waits',
    cell: ({ reason, state, why }) => (
      <>
        {reasons[reason] ?? reason}
        {state === 'dropped' && <span class="muted"> {sentence(why)}</span>}
      </>
    ),
  },
  { name: 'Payment', class: 'wide spare', cell: ({ payment }) => <Transaction tx={payment ?? null} /> },
  ...lastColumns,
]

export function RefundsCard({ refunds: { refunds } }: { readonly refunds: Refunds }) {
  if (refunds.length === 0) return null
  return (
    <Card id="refunds" title="Refunds">
      <Table class="many" caption="Refunds, newest first" columns={columns} rows={refunds} rowKey={({ id }) => id} />
    </Card>
  )
}
