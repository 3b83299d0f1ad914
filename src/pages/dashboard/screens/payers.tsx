/** Payers by pseudonym: the service stores wallets as keyed hashes only. */
import { formatAmount } from '../../look/amounts.ts'
import { compareDecimals } from '../../look/decimals.ts'
import { pageLocale } from '../../look/locale.ts'
import { readGross, readRefunded, revenueColumns } from '../charts/revenue.tsx'
import { calmNews, useAnswer } from '../data/answer.ts'
import type { Payer, Payers as PayersAnswer } from '../data/answers.ts'
import { formatPath } from '../data/ask.ts'
import { change, formatAddress, place } from '../data/route.ts'
import { Count, Moment, Name } from '../elements/cells.tsx'
import { CsvButton } from '../elements/export.tsx'
import { Link } from '../elements/link.tsx'
import { Pages, useTurning } from '../elements/pager.tsx'
import { PeriodBar, usePeriod } from '../elements/period.tsx'
import { NoPayments, When } from '../elements/states.tsx'
import { type Column, type Sorting, Table } from '../elements/table.tsx'
import { ScreenHead } from './shell.tsx'

type Order = 'revenue' | 'latest'

export function Payers() {
  const period = usePeriod(false)
  const { from, to } = period
  const order: Order = place.value.query.get('order') === 'latest' ? 'latest' : 'revenue'
  const { cursor, pages } = useTurning(JSON.stringify([from, to, order]))
  const path = formatPath('/analytics/payers', { from, to, order, limit: 25, cursor })
  const loaded = useAnswer<PayersAnswer>(path, { follows: cursor === undefined ? calmNews : undefined })
  const payers = loaded.value?.payers ?? []
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
              <NoPayments title="No payers in this period" />
            ) : (
              <>
                <PayersTable payers={payers} token={revenueToken} order={order} />
                <Pages {...pages(next)} />
              </>
            )
          }
        </When>
      </section>
    </>
  )
}

function receivedWords({ received }: Payer): string {
  const given = Object.entries(received).filter(([, amount]) => compareDecimals(amount, '0') > 0)
  return given.map(([token, amount]) => `${formatAmount(amount, pageLocale())} ${token}`).join(', ')
}

interface PayersTableProps {
  readonly payers: readonly Payer[]
  readonly token: string
  readonly order: Order
}

function PayersTable({ payers, token, order }: PayersTableProps) {
  // The service sorts, because a page has only some of the payers. The largest and the latest come first.
  const sort = (key: Order): Sorting => ({
    way: key === order ? 'descending' : 'none',
    turn: () => change({ order: key }, { isReplacing: true }),
  })
  const columns: readonly Column<Payer>[] = [
    {
      name: 'Payer',
      class: 'lead',
      cell: (one) => (
        <Link href={formatAddress('payer', { name: one.payer })} class="row-link" row={one.payer || 'unknown'}>
          <Name text={one.payer} />
          <span class="narrow">
            <Moment at={one.last} />
          </span>
        </Link>
      ),
    },
    { name: 'Payments', class: 'number', cell: ({ payments }) => <Count count={payments} /> },
    { name: 'Paid', class: 'number wide', cell: receivedWords },
    ...revenueColumns(payers, token, 'number trail', sort('revenue')),
    { name: 'First', class: 'when wide', cell: ({ first }) => <Moment at={first} /> },
    { name: 'Last', class: 'when wide', sorting: sort('latest'), cell: ({ last }) => <Moment at={last} /> },
  ]
  return <Table class="many" caption="Payers" columns={columns} rows={payers} rowKey={({ payer }) => payer} />
}
