/** The refund of one payment: the possible ones with their buttons, or the state of the one that was ordered. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { formatAmount } from '../../look/amounts.ts'
import { now } from '../../look/clock.ts'
import { pageLocale } from '../../look/locale.ts'
import { formatStart } from '../../look/times.ts'
import type { PaymentDetail } from '../data/answers.ts'
import { followRefund, isUnderWay, latestRefunds, type Refund } from '../data/outgoing.ts'
import { zone } from '../data/settings.ts'
import { isRefunded } from '../elements/cells.tsx'
import { Part } from '../elements/fact.tsx'
import { OutBadge, sentence, Transaction } from '../elements/outgoing.tsx'
import { RefundDialog, type RefundSubject, refundWords } from './refund.tsx'

export function RefundPart({ payment }: { readonly payment: PaymentDetail }) {
  const asked = useSignal<RefundSubject | undefined>(undefined)
  const ordered = useSignal<Refund | undefined>(undefined)
  const refund = useCurrent(ordered.value ?? payment.refund)
  const isPossible = refund === undefined || refund.state === 'dropped'
  // An older service sends none of these members.
  const { refundable = [], notRefundable = '', canRefund = false } = payment
  return (
    <Part title="Refund">
      {refund && (
        <p role="status">
          {/* The panel begins with the same word once the payment has been loaded again. */}
          {!isRefunded(payment) && <OutBadge one={refund} words={refundWords} />}{' '}
          {formatAmount(refund.amount, pageLocale())} {refund.token}{' '}
          {refund.state === 'dropped' ? sentence(refund.why) : <Transaction tx={refund.tx} />}
        </p>
      )}
      {isPossible && refundable.length > 0 && (
        <div class="refund-choices">
          {refundable.map((one) => (
            <button
              key={one.reason}
              type="button"
              class="button"
              onClick={() => {
                asked.value = { id: payment.id, payer: payment.payer, tx: payment.tx, refundable: one }
              }}
            >
              Refund {one.reason === 'surplus' ? 'the surplus' : 'the payment'}…
            </button>
          ))}
        </div>
      )}
      {isPossible && notRefundable !== '' && <p class="muted">{describeRefusal(payment)}</p>}
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

/** The refund, polled until it has landed. */
function useCurrent(known: Refund | undefined): Refund | undefined {
  const refund = latestRefunds.value.find(({ id }) => id === known?.id) ?? known
  const open = refund && isUnderWay(refund) ? refund.id : undefined
  useEffect(() => {
    if (open !== undefined) followRefund(open)
  }, [open])
  return refund
}
