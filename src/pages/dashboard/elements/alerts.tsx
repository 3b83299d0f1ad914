/**
 * The strip at the lower edge: one sentence for each problem, with a link to the screen that explains it. The screen of
 * problems shows all of them, other screens the first ones and the number of the others.
 */
import { trimGet } from '../../look/route-names.ts'
import type { AlertKind } from '../data/answers.ts'
import { isGone } from '../data/ask.ts'
import { formatAddress, place, type Screen } from '../data/route.ts'
import { isOnline } from '../data/settings.ts'
import { status } from '../data/status.ts'
import { Icon } from './icons.tsx'
import { Link } from './link.tsx'
import { sentence } from './outgoing.tsx'

interface Words {
  readonly title: string
  /** Something cannot be sold now. */
  readonly stopsSales?: boolean
  /** The screen that explains the alert, if it is not the service's. */
  readonly screen?: Screen
}

const words: Readonly<Record<AlertKind, Words>> = {
  ledger_unavailable: { title: 'The ledger does not respond.', stopsSales: true },
  clock_wrong: { title: 'The clock of the server is wrong, so nothing is sold.', stopsSales: true },
  not_selling: { title: 'Some routes cannot sell now.', stopsSales: true },
  resource_unavailable: { title: 'A resource is down, so it is not sold.', stopsSales: true },
  token_withheld: { title: 'A token is not offered.' },
  payouts_paused: { title: 'Payouts are paused.', screen: 'rewards' },
  payouts_low: { title: 'The payout wallet is low.', screen: 'rewards' },
  sponsor_low: { title: 'The sponsor’s wallet is low.', screen: 'settlement' },
  not_converted: { title: 'No process converts the payments.', screen: 'settlement' },
}

const mostShown = 4

function stopsSales({ kind }: { readonly kind: AlertKind }): boolean {
  return words[kind]?.stopsSales ?? false
}

/** Whether the open screen is the one that an alert leads to. */
function isOfScreen(kind: AlertKind): boolean {
  return (words[kind]?.screen ?? 'service') === place.value.screen
}

export function Alerts() {
  const known = isGone.value ? [] : (status.value?.alerts ?? [])
  // The service lists the worst first within both groups.
  const alerts = [...known.filter(stopsSales), ...known.filter((one) => !stopsSales(one))]
  const gone = !isOnline.value
    ? 'You are offline. The figures may be outdated. They update when the connection is back.'
    : isGone.value
      ? 'The server does not respond. The figures may be outdated. This page retries by itself.'
      : undefined
  if (alerts.length === 0 && gone === undefined) return null
  const isWhole = place.value.screen === 'problems'
  // The last line has the number of the others.
  const shown = isWhole || alerts.length <= mostShown ? alerts : alerts.slice(0, mostShown - 1)
  // The keyboard scrolls to lines without a link.
  const tabIndex = shown.some(({ kind }) => isOfScreen(kind)) ? 0 : undefined
  return (
    <div class={isWhole ? 'alerts alerts-whole' : 'alerts'} role="alert" tabIndex={tabIndex}>
      <ul>
        {gone !== undefined && (
          <li class="alert alert-bad">
            <Icon name="problems" />
            <span>{gone}</span>
          </li>
        )}
        {shown.map((one) => {
          const { kind, detail } = one
          const { title, screen = 'service' }: Words = words[kind] ?? { title: kind }
          const isShown = isOfScreen(kind)
          return (
            <li key={`${kind}${detail}`} class={stopsSales(one) ? 'alert alert-bad' : 'alert'}>
              <Icon name="problems" />
              <span>
                <b>{title}</b> <span class={isShown ? undefined : 'alert-detail'}>{sentence(trimGet(detail))}</span>
              </span>
              {!isShown && <Link href={formatAddress(screen)}>Show</Link>}
            </li>
          )
        })}
        {shown.length < alerts.length && (
          <li class="alert alert-more">
            <span>and {alerts.length - shown.length} more</span>
            <Link href={formatAddress('problems')}>Show all</Link>
          </li>
        )}
      </ul>
    </div>
  )
}
