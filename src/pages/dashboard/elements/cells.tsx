/** The common cells of tables: times, amounts, names, badges. */
import { type Change, formatAmount, formatCount, formatRounded, formatShare, shorten } from '../../look/amounts.ts'
import { compareDecimals } from '../../look/decimals.ts'
import { pageLocale } from '../../look/locale.ts'
import { formatExact, formatMoment, formatRelative } from '../../look/times.ts'
import type { FeedRecord, State, Status } from '../data/answers.ts'
import { formatAddress } from '../data/route.ts'
import { tick, zone } from '../data/settings.ts'
import { Icon } from './icons.tsx'
import { Link } from './link.tsx'

/** A time, relative or absolute, with the other form as its tooltip. */
export function Moment({ at, isExact = false }: { readonly at: string; readonly isExact?: boolean }) {
  const ms = Date.parse(at)
  const relative = formatRelative(ms, tick.value, pageLocale())
  const exact = formatExact(ms, zone.value, pageLocale())
  return (
    <time dateTime={at} title={isExact ? `${exact} (${relative})` : exact}>
      {isExact ? formatMoment(ms, zone.value, pageLocale()) : relative}
    </time>
  )
}

/** The amount with all digits. */
export function Amount({ amount, token }: { readonly amount: string; readonly token: string }) {
  return (
    <span class="amount">
      {formatAmount(amount, pageLocale())} <span class="unit">{token}</span>
    </span>
  )
}

export function Count({ count }: { readonly count: number }) {
  return <>{formatCount(count, pageLocale())}</>
}

/** The share of requests for payment that were paid. */
export function Conversion({ share }: { readonly share: number | undefined }) {
  if (share !== undefined) return <>{formatShare(share, pageLocale())}</>
  const why = 'no requests for payment'
  return (
    <span title={why}>
      –<span class="unseen">, {why}</span>
    </span>
  )
}

/** The two ends of a long name, with the whole name as its tooltip. */
export function Name({ text }: { readonly text: string }) {
  if (text === '') return <span class="muted">unknown</span>
  return (
    <code class="name" title={text}>
      {shorten(text)}
    </code>
  )
}

/** The name of an endpoint, which leads to its page. Requests beyond the limit of names are counted without one. */
export function EndpointLink({ endpoint }: { readonly endpoint: string }) {
  if (endpoint === '') return <span class="muted">other paths</span>
  return (
    <Link href={formatAddress('endpoint', { name: endpoint })} class="cell-link">
      {endpoint}
    </Link>
  )
}

export function PayerLink({ payer }: { readonly payer: string }) {
  if (payer === '') return <Name text="" />
  return (
    <Link href={formatAddress('payer', { name: payer })} class="cell-link">
      <Name text={payer} />
    </Link>
  )
}

export function TokenLink({ token }: { readonly token: string }) {
  return (
    <Link href={formatAddress('payments', { token })} class="cell-link">
      {token}
      <span class="unseen">, show only these payments</span>
    </Link>
  )
}

/** The value in the currency of the reports; empty without a rate. */
export function readWorth({ worth, token, amount, revenueToken }: FeedRecord): string {
  // A payment without a claim has no rate yet.
  return worth === '' && token === revenueToken ? amount : worth
}

/** Why a payment has no value. A rate is stored with its claim. */
function explainNoWorth({ amount, state, problem }: FeedRecord): string {
  if (problem === 'not_on_chain') return 'not valued: not on chain'
  if (amount === '') return 'not valued: amount unknown'
  if (state !== 'unclaimed') return 'no rate'
  return problem === '' ? 'valued when it is claimed' : 'not valued: not accepted'
}

/** A cell without a value has a dash, and the reason for screen readers. Details state the reason. */
export function Worth({ record, isExact = false }: { readonly record: FeedRecord; readonly isExact?: boolean }) {
  const worth = readWorth(record)
  if (worth === '') {
    const why = explainNoWorth(record)
    if (isExact || why === 'no rate') return <span class="muted">{why}</span>
    return (
      <span class="muted" title={why}>
        –<span class="unseen">, {why}</span>
      </span>
    )
  }
  const exact = `${formatAmount(worth, pageLocale())} ${record.revenueToken}`
  return <span title={exact}>{isExact ? exact : formatRounded(worth, pageLocale())}</span>
}

const tones: Readonly<Record<Status, string>> = { Verified: 'good', Pending: 'warn', Expired: 'quiet' }
const stateWords: Readonly<Record<State, string>> = {
  finalized: 'Final on chain.',
  confirmed: 'Confirmed on chain. It becomes final within seconds.',
  unclaimed: 'Paid, but not claimed yet.',
  late: 'Paid or claimed after the deadline.',
  reverted: 'Reverted by the chain.',
}
type Fault = Exclude<FeedRecord['problem'], ''>
const faults: Readonly<Record<Fault, { readonly name: string; readonly means: string; readonly tone: string }>> = {
  not_on_chain: { name: 'Not on chain', means: 'A proof names it, but no node has returned it.', tone: 'quiet' },
  underpaid: { name: 'Underpaid', means: 'The amount is below the price.', tone: 'warn' },
  late: { name: 'Late', means: stateWords.late, tone: 'warn' },
  surplus: {
    name: 'Surplus',
    means: 'The amount is above the price, or the same requestId was paid twice.',
    tone: 'warn',
  },
  reverted: { name: 'Reverted', means: stateWords.reverted, tone: 'bad' },
}

type StatusFacts = Pick<FeedRecord, 'status' | 'state' | 'amount' | 'refunded' | 'problem'>

/** Why the payment is not accepted. An older service sends only its state. */
function readFault({ problem, state }: StatusFacts): Fault | undefined {
  return problem || (state === 'late' || state === 'reverted' ? state : undefined)
}

/** Whether the whole amount went back to the payer. An older service does not send `refunded`. */
export function isRefunded({ amount, refunded = '' }: Pick<FeedRecord, 'amount' | 'refunded'>): boolean {
  return amount !== '' && refunded !== '' && compareDecimals(refunded, amount) >= 0
}

/** The kind of its problem, or else the status. */
function Standing({ record }: { readonly record: StatusFacts }) {
  if (isRefunded(record)) return <RefundedBadge title="The whole amount was refunded." />
  const { status, state, refunded = '' } = record
  const kind = readFault(record)
  const fault = kind && faults[kind]
  return (
    <>
      <span class={`badge ${fault?.tone ?? tones[status]}`} title={fault?.means ?? stateWords[state]}>
        {fault?.name ?? status}
        {!fault && state === 'unclaimed' && <span class="badge-more">{state}</span>}
      </span>
      {compareDecimals(refunded, '0') > 0 && (
        <>
          {' '}
          <span class="badge">
            <Icon name="refund" /> part refunded
          </span>
        </>
      )}
    </>
  )
}

/** Differs from a delivered payment by its icon, also on paper and in the colours of the system. */
export function RefundedBadge({ title }: { readonly title: string }) {
  return (
    <span class="badge refunded" title={title}>
      <Icon name="refund" />
      Refunded
    </span>
  )
}

/** The same. A problem leads to the payments that have it. */
export function StandingLink({ record }: { readonly record: StatusFacts }) {
  const kind = readFault(record)
  if (kind === undefined || kind === 'not_on_chain' || isRefunded(record)) return <Standing record={record} />
  return (
    <Link href={formatAddress('problems', { kind })} class="cell-link">
      <Standing record={record} />
      <span class="unseen">, show all problems of this kind</span>
    </Link>
  )
}

const deliveryWords = { all: 'Delivered', some: 'In part', none: 'Not yet' } as const

type DeliveryFacts = StatusFacts & Pick<FeedRecord, 'delivery'>

/** Why the payment can get no delivery. Undefined if it has one, or can still get one. */
export function explainNoDelivery(record: DeliveryFacts): string | undefined {
  if (record.delivery !== 'none') return undefined
  if (isRefunded(record)) return 'refunded before a delivery'
  const fault = readFault(record)
  if (fault !== undefined && fault !== 'surplus') return 'not accepted, so nothing is delivered'
  return record.status === 'Expired' ? 'not claimed in time, so nothing is delivered' : undefined
}

/** "Not yet" promises a delivery. A payment that can get none has a dash, and the reason for screen readers. */
export function Delivery({ record }: { readonly record: DeliveryFacts }) {
  const { delivery } = record
  const why = explainNoDelivery(record)
  if (why !== undefined) {
    return (
      <span class="muted" title={why}>
        –<span class="unseen">, {why}</span>
      </span>
    )
  }
  return <span class={delivery === 'all' ? 'muted' : undefined}>{deliveryWords[delivery]}</span>
}

interface TrendProps {
  readonly change: Change
  /** The period of the previous value, as `previous 7 days`. */
  readonly than: string
  /** More is worse. */
  readonly isCost?: boolean
}

export function Trend({ change, than, isCost = false }: TrendProps) {
  if (change.kind === 'none') return <span class="trend muted">nothing to compare with</span>
  if (change.kind === 'new')
    return (
      <span class="trend" title={`Nothing in the ${than}`}>
        <b class={isCost ? 'down' : 'up'}>New</b> <span class="muted">none before</span>
      </span>
    )
  const sign = { up: '↑\u2009', down: '↓\u2009', same: '' }[change.kind]
  const said = { up: 'up by', down: 'down by', same: 'changed by' }[change.kind]
  return (
    <span class="trend">
      <b class={isCost && change.kind !== 'same' ? { up: 'down', down: 'up' }[change.kind] : change.kind}>
        <span aria-hidden="true">{sign}</span>
        <span class="unseen">{said} </span>
        {change.text}
      </b>{' '}
      <span class="muted">vs. {than}</span>
    </span>
  )
}
