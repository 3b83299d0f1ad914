/** The common cells of tables: times, amounts, names, badges. */
import { type Change, formatAmount, formatCount, formatRounded, shorten } from '../../look/amounts.ts'
import { compareDecimals } from '../../look/decimals.ts'
import { pageLocale } from '../../look/locale.ts'
import { formatExact, formatMoment, formatRelative } from '../../look/times.ts'
import type { FeedRecord, State, Status } from '../data/answers.ts'
import { filterAddress, formatAddress } from '../data/route.ts'
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

/** For screen readers. */
function OnlyThese() {
  return <span class="unseen">, show only these payments</span>
}

export function TokenLink({ token }: { readonly token: string }) {
  return (
    <Link href={filterAddress({ token })} class="cell-link">
      {token}
      <OnlyThese />
    </Link>
  )
}

/** The value in the currency of the reports. */
export function Worth({ record: { token, amount, revenueToken, ...record } }: { readonly record: FeedRecord }) {
  // A payment without a claim has no rate yet.
  const worth = record.worth === '' && token === revenueToken ? amount : record.worth
  if (worth === '') return <span class="muted">no rate</span>
  const locale = pageLocale()
  return <span title={`${formatAmount(worth, locale)} ${revenueToken}`}>{formatRounded(worth, locale)}</span>
}

const tones: Readonly<Record<Status, string>> = { Verified: 'good', Pending: 'warn', Expired: 'quiet' }
const stateWords: Readonly<Record<State, string>> = {
  finalized: 'Final on chain.',
  confirmed: 'Confirmed on chain. It becomes final within seconds.',
  unclaimed: 'Paid, but not claimed yet.',
  late: 'Paid after the deadline.',
  reverted: 'Reverted by the chain.',
}

type StatusFacts = Pick<FeedRecord, 'status' | 'state' | 'amount' | 'refunded'>

/** Whether the whole amount went back to the payer. An older service does not send `refunded`. */
export function isRefunded({ amount, refunded = '' }: Pick<FeedRecord, 'amount' | 'refunded'>): boolean {
  return amount !== '' && refunded !== '' && compareDecimals(refunded, amount) >= 0
}

/** The status, and the state if it says more. */
export function Standing({ record }: { readonly record: StatusFacts }) {
  if (isRefunded(record)) return <RefundedBadge title="The whole amount was refunded." />
  const { status, state, refunded = '' } = record
  const isTelling = state !== 'finalized' && state !== 'confirmed'
  return (
    <span class={`badge ${state === 'reverted' ? 'bad' : tones[status]}`} title={stateWords[state]}>
      {status}
      {isTelling && <span class="badge-more">{state}</span>}
      {compareDecimals(refunded, '0') > 0 && (
        <span class="badge-more">
          <Icon name="refund" /> part refunded
        </span>
      )}
    </span>
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

/** The same, as a link that shows only the payments of this status. */
export function StandingLink({ record }: { readonly record: StatusFacts }) {
  if (isRefunded(record)) return <Standing record={record} />
  return (
    <Link href={filterAddress({ status: record.status })} class="cell-link">
      <Standing record={record} />
      <OnlyThese />
    </Link>
  )
}

const deliveryWords = { all: 'Delivered', some: 'In part', none: 'Not yet' } as const

export function Delivery({ delivery }: { readonly delivery: FeedRecord['delivery'] }) {
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
  if (change.kind === 'none') return <span class="trend muted">–</span>
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
