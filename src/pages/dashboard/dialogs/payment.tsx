/** One payment in a drawer: amount, actions, checks, timeline, receipt and identifiers. */
import { describeAllowance } from '../../look/allowances.ts'
import { formatAmount } from '../../look/amounts.ts'
import { compareDecimals, subtractDecimal } from '../../look/decimals.ts'
import { pageLocale } from '../../look/locale.ts'
import type { CheckName, CheckResult, PaymentDetail, TimelineEntry } from '../data/answers.ts'
import { checkNames } from '../data/answers.ts'
import { formatAddress, place } from '../data/route.ts'
import { readSession } from '../data/session.ts'
import { Amount, explainNoDelivery, Moment, PayerLink, StandingLink, Worth } from '../elements/cells.tsx'
import { CopyButton, IdLine } from '../elements/copy.tsx'
import { AmountFact, DetailTop, Fact, Part } from '../elements/fact.tsx'
import { Icon } from '../elements/icons.tsx'
import { Link } from '../elements/link.tsx'
import { ExplorerLink, Transaction } from '../elements/outgoing.tsx'
import { RecordDrawer } from './drawer.tsx'
import { PaymentActions } from './payment-refund.tsx'

/** Open on every screen if the address names a payment. */
export function PaymentDrawer() {
  // The actions depend on it. Loaded beside the payment, it moves nothing.
  if (place.value.query.has('payment')) readSession()
  return (
    <RecordDrawer<PaymentDetail>
      title="Payment"
      parameter="payment"
      path="/analytics"
      missing={['Payment not found', 'look for it in the list']}
    >
      {(payment) => <Facts payment={payment} />}
    </RecordDrawer>
  )
}

function Facts({ payment }: { readonly payment: PaymentDetail }) {
  const { checks, timeline } = payment
  return (
    <div class="detail">
      <DetailTop amount={payment.amount} token={payment.token} badge={<Badges payment={payment} />}>
        {payment.endpoint === '' ? (
          'without a requestId of this service'
        ) : (
          <>
            for <Link href={formatAddress('endpoint', { name: payment.endpoint })}>{payment.endpoint}</Link>
          </>
        )}
        {payment.payer !== '' && (
          <>
            {' '}
            by <PayerLink payer={payment.payer} />
          </>
        )}
        , <Moment at={payment.timestamp} />
      </DetailTop>
      <PaymentActions key={payment.id} payment={payment} />
      <Part title="Checks">
        {checks ? (
          <ul class="checks">
            {checkNames.map((name) => (
              <Check key={name} name={name} result={checks[name]} />
            ))}
          </ul>
        ) : (
          <p class="muted">This version of the service does not report single checks. Update paystile on its server.</p>
        )}
      </Part>
      <Part title="Timeline">
        <Timeline entries={timeline ?? shortTimeline(payment)} />
      </Part>
      <Part title="Amounts">
        <Amounts payment={payment} />
      </Part>
      <Part title="Names">
        <dl class="facts">
          {payment.tx === undefined ? (
            <Fact name="Transaction">
              <span class="muted">{readSession().owner ? 'not available' : 'visible to a signed-in owner'}</span>
            </Fact>
          ) : (
            <IdLine name="Transaction" text={payment.tx} />
          )}
          <IdLine name="Record" text={payment.id} />
          {payment.requestId !== '' && <IdLine name="Request (hash)" text={payment.requestId} />}
          {payment.payer !== '' && <IdLine name="Payer (hash)" text={payment.payer} />}
          <IdLine name="Recipient" text={payment.recipient} />
          {listSplits(payment.splits).map(({ amount, wallet }) => (
            <IdLine key={wallet} name={`Also paid: ${amount} ${payment.token}`} text={wallet} />
          ))}
          {listSplits(payment.collected).map(({ amount, wallet }) => (
            <IdLine key={wallet} name={`Owed to: ${amount} ${payment.token}`} text={wallet} />
          ))}
        </dl>
      </Part>
      <details class="detail-part raw">
        <summary>Raw JSON</summary>
        <div class="raw-tools">
          <CopyButton text={JSON.stringify(payment, null, 2)} what="the JSON" />
        </div>
        <pre>{JSON.stringify(payment, null, 2)}</pre>
      </details>
    </div>
  )
}

/** A payment above the price is accepted, and is among the problems until the surplus is refunded. */
function Badges({ payment }: { readonly payment: PaymentDetail }) {
  const { state, amount, required = '', refunded = '' } = payment
  const isAccepted = state === 'confirmed' || state === 'finalized'
  const isAbove = amount !== '' && required !== '' && compareDecimals(amount, required) > 0
  return (
    <span>
      <StandingLink record={payment} />{' '}
      {isAccepted && isAbove && refunded === '' && <StandingLink record={{ ...payment, problem: 'surplus' }} />}
    </span>
  )
}

/** The parts of other wallets. An older service sends none. */
function listSplits(splits = '') {
  const parts = splits === '' ? [] : splits.split('; ')
  return parts.map((part) => {
    const [amount = '', wallet = ''] = part.split(' ')
    return { amount, wallet }
  })
}

const checkWords: Readonly<Record<CheckName, string>> = {
  exists: 'The transaction is on chain',
  recipient: 'It paid the right wallet',
  amount: 'It paid enough',
  memo: 'Its memo is the requestId',
  unused: 'It was not used earlier',
}
const checkIcons = { passed: 'check', failed: 'cross', unchecked: 'dash' } as const

function Check({ name, result }: { readonly name: CheckName; readonly result: CheckResult }) {
  return (
    <li class={`check check-${result}`}>
      <Icon name={checkIcons[result]} />
      <span>{checkWords[name]}</span>
      <span class="check-result">{result}</span>
    </li>
  )
}

const eventWords: Readonly<Record<string, string>> = {
  claimed: 'Claimed, not on chain yet',
  paid: 'Paid on chain',
  seen: 'Detected by this service',
  registered: 'Proof accepted',
  delivered: 'Delivered',
  undelivered: 'Not delivered yet',
  finalized: 'Final on chain',
  reverted: 'Reverted by the chain',
  late: 'Paid after the deadline',
  shared: 'Accrued',
  unshared: 'No rewards',
  refunding: 'Refund ordered',
  refunded: 'Refunded',
}

/** The timeline of an older service, which sends none. */
function shortTimeline({ timestamp, state, delivery }: PaymentDetail): readonly TimelineEntry[] {
  const isDelivered = delivery !== 'none'
  return [
    { at: timestamp, event: 'paid' },
    ...(state === 'late' || state === 'reverted' || state === 'finalized' ? [{ at: null, event: state }] : []),
    { at: null, event: isDelivered ? 'delivered' : 'undelivered', ...(delivery === 'some' && { note: 'In part.' }) },
  ]
}

function Timeline({ entries }: { readonly entries: readonly TimelineEntry[] }) {
  const tone = (event: string) =>
    event === 'delivered' || event === 'refunded'
      ? event
      : ['claimed', 'undelivered', 'reverted', 'late'].includes(event)
        ? 'warn'
        : 'plain'
  return (
    <ol class="timeline">
      {entries.map(({ at, event, note, amount, token, tx }, index) => (
        <li key={`${event}${index}`} class={`moment moment-${tone(event)}`}>
          <span>{eventWords[event] ?? event}</span>
          {at !== null && (
            <span class="muted">
              <Moment at={at} isExact />
            </span>
          )}
          {amount !== undefined && amount !== '' && token !== undefined && (
            <p>
              <Amount amount={amount} token={token} />
            </p>
          )}
          {tx !== undefined && (
            <p>
              <Transaction tx={tx} /> <ExplorerLink tx={tx} />
            </p>
          )}
          {note !== undefined && <p class="muted">{note}</p>}
        </li>
      ))}
    </ol>
  )
}

function Amounts({ payment }: { readonly payment: PaymentDetail }) {
  const { amount, token, revenueToken, required, usableUntil, allowance, remaining } = payment
  const { refunded = '', revenue = '' } = payment
  const locale = pageLocale()
  const isUsable = explainNoDelivery(payment) === undefined
  const more = required === undefined || required === '' || amount === '' ? '0' : subtractDecimal(amount, required)
  return (
    <dl class="facts">
      {required !== undefined && required !== '' && <AmountFact name="Asked" amount={required} token={token} />}
      <AmountFact name="Received" amount={amount} token={token} />
      {compareDecimals(more, '0') !== 0 && (
        <AmountFact name={more.startsWith('-') ? 'Missing' : 'Surplus'} amount={more.replace('-', '')} token={token} />
      )}
      <Fact name="Value when paid">
        <Worth record={payment} isExact />
      </Fact>
      {refunded !== '' && <AmountFact name="Refunded" amount={refunded} token={token} />}
      {refunded !== '' && revenue !== '' && (
        <Fact name="Revenue">{`${formatAmount(revenue, locale)} ${revenueToken}`}</Fact>
      )}
      {isUsable && allowance && <Fact name="Bought">{describeAllowance(allowance.unit, allowance.amount)}</Fact>}
      {/* A window ends at its time. */}
      {isUsable && allowance && remaining && allowance.unit !== 'second' && (
        <Fact name="Left">
          {remaining === '0'
            ? 'nothing'
            : describeAllowance(allowance.unit === 'file' ? 'byte' : allowance.unit, remaining)}
        </Fact>
      )}
      {isUsable && usableUntil && (
        <Fact name="Usable until">
          <Moment at={usableUntil} isExact />
        </Fact>
      )}
    </dl>
  )
}
