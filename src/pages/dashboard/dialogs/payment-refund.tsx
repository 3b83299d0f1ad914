/** What an owner can do with a payment: refund it, or see the state of its refund, and download its receipt. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { formatAmount } from '../../look/amounts.ts'
import { now } from '../../look/clock.ts'
import { pageLocale } from '../../look/locale.ts'
import { formatStart } from '../../look/times.ts'
import type { PaymentDetail } from '../data/answers.ts'
import { ask, formatPath } from '../data/ask.ts'
import { followRefund, isUnderWay, latestRefunds, type Refund } from '../data/outgoing.ts'
import { readSession } from '../data/session.ts'
import { zone } from '../data/settings.ts'
import { isRefunded } from '../elements/cells.tsx'
import { saveFile } from '../elements/export.tsx'
import { Part } from '../elements/fact.tsx'
import { Icon } from '../elements/icons.tsx'
import { OutBadge, sentence, Transaction } from '../elements/outgoing.tsx'
import { RefundDialog, type RefundSubject, refundWords } from './refund.tsx'

export function PaymentActions({ payment }: { readonly payment: PaymentDetail }) {
  const asked = useSignal<RefundSubject | undefined>(undefined)
  const ordered = useSignal<Refund | undefined>(undefined)
  const refund = useCurrent(ordered.value ?? payment.refund)
  const isPossible = refund === undefined || refund.state === 'dropped'
  // An older service sends none of these members.
  const { refundable = [], notRefundable = '', canRefund = false } = payment
  return (
    <Part title={hasReceipt(payment) ? 'Refund and receipt' : 'Refund'}>
      {refund && (
        <p role="status" class="refund-state">
          {/* The panel begins with the same word once the payment has been loaded again. */}
          {!isRefunded(payment) && <OutBadge one={refund} words={refundWords} />}{' '}
          {formatAmount(refund.amount, pageLocale())} {refund.token}{' '}
          {refund.state === 'dropped' ? sentence(refund.why) : refund.tx !== null && <Transaction tx={refund.tx} />}
        </p>
      )}
      {isPossible && notRefundable !== '' && <p class="muted">{describeRefusal(payment)}</p>}
      <div class="refund-choices">
        {isPossible &&
          refundable.map((one) => (
            <button
              key={one.reason}
              type="button"
              class="button"
              onClick={() => {
                asked.value = { ...payment, refundable: one }
              }}
            >
              Refund {one.reason === 'surplus' ? 'the surplus' : 'the payment'}…
            </button>
          ))}
        {hasReceipt(payment) && <ReceiptButton key={payment.id} id={payment.id} />}
      </div>
      {asked.value && (
        <RefundDialog
          one={asked.value}
          canSend={canRefund}
          onClose={(sent) => {
            if (sent) ordered.value = sent
            asked.value = undefined
          }}
        />
      )}
    </Part>
  )
}

function describeRefusal({ notRefundable, refundableFrom = null }: PaymentDetail): string {
  if (refundableFrom === null) return `Not possible: ${notRefundable}.`
  const from = formatStart(Date.parse(refundableFrom), now(), zone.value, pageLocale())
  return `The payer can still claim it. You can refund it from ${from} on.`
}

/** Only an owner who is signed in gets the receipt. */
function hasReceipt({ state }: PaymentDetail): boolean {
  return readSession().owner === true && (state === 'confirmed' || state === 'finalized')
}

/** Downloads the signed receipt. */
function ReceiptButton({ id }: { readonly id: string }) {
  const said = useSignal('')
  const download = async () => {
    said.value = 'Reading the chain…'
    const outcome = await ask<object>(formatPath('/api/receipt', { id }))
    said.value = outcome.kind === 'answer' ? '' : 'detail' in outcome ? outcome.detail : 'The service does not respond.'
    if (outcome.kind === 'answer')
      saveFile(`receipt-${id.slice(0, 8)}.json`, 'application/json', [JSON.stringify(outcome.value, null, 2)])
  }
  return (
    <>
      <button type="button" class="button" onClick={() => void download()}>
        <Icon name="download" /> Signed receipt
      </button>
      <p role="status" class="muted">
        {said.value}
      </p>
    </>
  )
}

/** The refund, polled until it has landed. */
function useCurrent(known: Refund | undefined): Refund | undefined {
  const refund = latestRefunds.value.find(({ id }) => id === known?.id) ?? known
  const open = refund && isUnderWay(refund) ? refund.id : undefined
  useEffect(() => {
    if (open !== undefined) followRefund(open)
  }, [open])
  return refund
}
