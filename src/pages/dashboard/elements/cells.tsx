/** The common cells of tables: times, amounts, names, badges. */
import { type Change, formatAmount, formatCount, shorten } from '../../look/amounts.ts'
import { pageLocale } from '../../look/locale.ts'
import { formatExact, formatMoment, formatRelative } from '../../look/times.ts'
import type { FeedRecord, State, Status } from '../data/answers.ts'
import { tick, zone } from '../data/settings.ts'

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

const tones: Readonly<Record<Status, string>> = { Verified: 'good', Pending: 'warn', Expired: 'quiet' }
const stateWords: Readonly<Record<State, string>> = {
  finalized: 'Final on chain.',
  confirmed: 'Confirmed on chain. It becomes final within seconds.',
  unclaimed: 'Paid, but not claimed yet.',
  late: 'Paid after the deadline.',
  reverted: 'Reverted by the chain.',
}

/** The status, and the state if it says more. */
export function Standing({ record: { status, state } }: { readonly record: Pick<FeedRecord, 'status' | 'state'> }) {
  const isTelling = state !== 'finalized' && state !== 'confirmed'
  return (
    <span class={`badge ${state === 'reverted' ? 'bad' : tones[status]}`} title={stateWords[state]}>
      {status}
      {isTelling && <span class="badge-more">{state}</span>}
    </span>
  )
}

const deliveryWords = { all: 'Delivered', some: 'In part', none: 'Not yet' } as const

export function Delivery({ delivery }: { readonly delivery: FeedRecord['delivery'] }) {
  return <span class={delivery === 'all' ? 'muted' : undefined}>{deliveryWords[delivery]}</span>
}

export function Trend({ change, than }: { readonly change: Change; readonly than: string }) {
  if (change.kind === 'none') return <span class="trend muted">–</span>
  if (change.kind === 'new')
    return (
      <span class="trend" title={`Nothing in the previous ${than}`}>
        <b class="up">New</b> <span class="muted">none before</span>
      </span>
    )
  const sign = { up: '↑\u2009', down: '↓\u2009', same: '' }[change.kind]
  const said = { up: 'up by', down: 'down by', same: 'changed by' }[change.kind]
  return (
    <span class="trend">
      <b class={change.kind}>
        <span aria-hidden="true">{sign}</span>
        <span class="unseen">{said} </span>
        {change.text}
      </b>{' '}
      <span class="muted">vs. previous {than}</span>
    </span>
  )
}
