/** Payers by pseudonym: the service stores wallets as keyed hashes only. */
import { Fragment } from 'preact'
import { useRef } from 'preact/hooks'
import { formatAmount } from '../../look/amounts.ts'
import { compareDecimals } from '../../look/decimals.ts'
import { pageLocale } from '../../look/locale.ts'
import { compareRevenue, readGross, readRefunded, revenueColumns, revenueKeys } from '../charts/revenue.tsx'
import { calmNews, useAnswer } from '../data/answer.ts'
import type { Payer, Payers as PayersAnswer } from '../data/answers.ts'
import { formatPath } from '../data/ask.ts'
import { change, changeAddress, formatAddress, place } from '../data/route.ts'
import { type Order, readOrder, sortRows, turnOrder, writeOrder } from '../data/sorting.ts'
import { Count, Moment, Name } from '../elements/cells.tsx'
import { CsvButton } from '../elements/export.tsx'
import { Link } from '../elements/link.tsx'
import { Pages, useTurning } from '../elements/pager.tsx'
import { PeriodBar, usePeriod } from '../elements/period.tsx'
import { NoneInPeriod, When } from '../elements/states.tsx'
import { type Column, type Sorting, Table } from '../elements/table.tsx'
import { CountOf, ListTotals } from '../tables/totals.tsx'
import { ScreenHead } from './shell.tsx'

const pageSize = 25
const keys = ['payer', 'payments', 'first', 'last', ...revenueKeys] as const
type Key = (typeof keys)[number]

function comparePayers(key: Key): (one: Payer, other: Payer) => number {
  const revenueKey = revenueKeys.find((one) => one === key)
  if (revenueKey) return compareRevenue(revenueKey)
  if (key === 'payments') return (one, other) => one.payments - other.payments
  return (one, other) => String(one[key]).localeCompare(String(other[key]))
}

/** The place of the shown payers in the list. It follows the loaded answer, and not the page that still loads. */
interface Extent {
  readonly first: number
  /** Whether the service has no other payers. */
  readonly isWhole: boolean
}

export function Payers() {
  const period = usePeriod(false)
  const { from, to } = period
  const { query } = place.value
  // Older addresses have `order`.
  const usual = query.get('order') === 'latest' ? 'last' : 'revenue'
  const chosen = readOrder(query.get('sort'), keys, { key: usual, isUp: false })
  const asked = chosen.key === 'last' ? 'latest' : 'revenue'
  const { cursor, pages } = useTurning(JSON.stringify([from, to, asked]))
  const path = formatPath('/analytics/payers', { from, to, order: asked, limit: pageSize, cursor })
  const loaded = useAnswer<PayersAnswer>(path, { follows: cursor === undefined ? calmNews : undefined })
  const extent = useRef<Extent>({ first: 1, isWhole: false })
  if (loaded.value && !loaded.isStale)
    extent.current = {
      first: (pages(null).number - 1) * pageSize + 1,
      isWhole: cursor === undefined && loaded.value.next === null,
    }
  const { isWhole } = extent.current
  // The service sorts a page of the payers. The largest or the latest come first.
  const order: Order<Key> = isWhole ? chosen : { key: asked === 'latest' ? 'last' : 'revenue', isUp: false }
  const own = loaded.value?.payers ?? []
  const payers = isWhole ? sortRows(own, comparePayers(order.key), order.isUp) : own
  const tokens = [...new Set(payers.flatMap(({ received }) => Object.keys(received)))]
  const cells = () => [
    ['payer', 'payments', 'revenue', 'revenueToken', ...tokens, 'first', 'last', 'gross', 'refunded'],
    ...payers.map((one) => [
      one.payer,
      String(one.payments),
      one.revenue,
      loaded.value?.revenueToken ?? '',
      ...tokens.map((token) => one.received[token] ?? '0'),
      one.first,
      one.last,
      ...[readGross(one), readRefunded(one)],
    ]),
  ]
  return (
    <>
      <ScreenHead title="Payers">
        <PeriodBar period={period} />
        <CsvButton name="payers" rows={cells} />
      </ScreenHead>
      <section class="card" aria-label="All payers">
        <div class="filters">
          <p class="muted filters-note">
            Wallets are stored as keyed hashes: a payer has the same name only within this service. Periods are extended
            to whole days in UTC.
          </p>
        </div>
        <When loaded={loaded} lines={8}>
          {({ revenueToken, next }) =>
            payers.length === 0 ? (
              <NoneInPeriod title="No payers in this period" />
            ) : (
              <>
                <PayersTotals
                  {...extent.current}
                  payers={payers}
                  token={revenueToken}
                  order={order}
                  hasMore={next !== null}
                />
                <PayersTable payers={payers} token={revenueToken} order={order} isWhole={isWhole} />
                <Pages {...pages(next)} />
              </>
            )
          }
        </When>
      </section>
    </>
  )
}

function Received({ payer: { received } }: { readonly payer: Payer }) {
  const given = Object.entries(received).filter(([, amount]) => compareDecimals(amount, '0') > 0)
  return (
    <>
      {given.map(([token, amount], index) => (
        <Fragment key={token}>
          {index > 0 && ', '}
          <span class="whole">
            {formatAmount(amount, pageLocale())} {token}
          </span>
        </Fragment>
      ))}
    </>
  )
}

interface PayersTotalsProps extends Extent {
  readonly payers: readonly Payer[]
  readonly token: string
  readonly order: Order<Key>
  readonly hasMore: boolean
}

/** The sums of all payers. Of several pages the service has none, and it sorts them by two columns only. */
function PayersTotals({ payers, token, order, first, isWhole, hasMore }: PayersTotalsProps) {
  if (isWhole) return <ListTotals lines={payers} token={token} title={<CountOf count={payers.length} one="payer" />} />
  const [said, other, key] =
    order.key === 'last'
      ? (['last payment, the latest first', 'Sort by revenue', 'revenue'] as const)
      : (['revenue, the largest first', 'Sort by last payment', 'last'] as const)
  return (
    <p class="list-totals">
      <b>
        Payers {first} to {first + payers.length - 1}
        {hasMore && ', more on the next page'}
      </b>
      <span class="muted">Sorted by {said}.</span>
      <Link href={changeAddress({ sort: writeOrder({ key, isUp: false }), order: undefined })}>{other}</Link>
    </p>
  )
}

interface PayersTableProps {
  readonly payers: readonly Payer[]
  readonly token: string
  readonly order: Order<Key>
  readonly isWhole: boolean
}

function PayersTable({ payers, token, order, isWhole }: PayersTableProps) {
  const sort = (key: Key): Sorting | undefined => {
    if (!isWhole && key !== 'revenue' && key !== 'last') return undefined
    const next = isWhole ? turnOrder(order, key, key === 'payer') : { key, isUp: false }
    return {
      way: key !== order.key ? 'none' : order.isUp ? 'ascending' : 'descending',
      turn: () => change({ sort: writeOrder(next), order: undefined }, { isReplacing: true }),
    }
  }
  const columns: readonly Column<Payer>[] = [
    {
      name: 'Payer',
      class: 'lead',
      sorting: sort('payer'),
      cell: (one) => (
        <Link href={formatAddress('payer', { name: one.payer })} class="row-link" row={one.payer || 'unknown'}>
          <Name text={one.payer} />
          <span class="narrow">
            <Moment at={one.last} />
          </span>
        </Link>
      ),
    },
    {
      name: 'Payments',
      class: 'number',
      sorting: sort('payments'),
      cell: ({ payments }) => <Count count={payments} />,
    },
    { name: 'Paid', class: 'number wide', cellClass: 'amounts', cell: (one) => <Received payer={one} /> },
    ...revenueColumns(payers, token, 'number trail', sort),
    { name: 'First', class: 'when wide', sorting: sort('first'), cell: ({ first }) => <Moment at={first} /> },
    { name: 'Last', class: 'when wide', sorting: sort('last'), cell: ({ last }) => <Moment at={last} /> },
  ]
  return <Table class="many" caption="Payers" columns={columns} rows={payers} rowKey={({ payer }) => payer} />
}
