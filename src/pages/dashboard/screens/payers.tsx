/** Payers by pseudonym: the service stores wallets as keyed hashes only. */
import { useSignal } from '@preact/signals'
import { formatAmount } from '../../look/amounts.ts'
import { compareDecimals } from '../../look/decimals.ts'
import { pageLocale } from '../../look/locale.ts'
import { readGross, readRefunded, revenueColumns } from '../charts/revenue.tsx'
import { calmNews, useAnswer } from '../data/answer.ts'
import type { Payer, Payers as PayersAnswer } from '../data/answers.ts'
import { formatPath } from '../data/ask.ts'
import { formatAddress } from '../data/route.ts'
import { Count, Moment, Name } from '../elements/cells.tsx'
import { Choice } from '../elements/choice.tsx'
import { CsvButton } from '../elements/export.tsx'
import { Link } from '../elements/link.tsx'
import { Pages, useTurning } from '../elements/pager.tsx'
import { PeriodBar, usePeriod } from '../elements/period.tsx'
import { NoPayments, When } from '../elements/states.tsx'
import { type Column, Table } from '../elements/table.tsx'
import { ScreenHead } from './shell.tsx'

type Order = 'revenue' | 'latest'

export function Payers() {
  const period = usePeriod(false)
  const { from, to } = period
  const order = useSignal<Order>('revenue')
  const { cursor, pages } = useTurning(JSON.stringify([from, to, order.value]))
  const path = formatPath('/analytics/payers', { from, to, order: order.value, limit: 25, cursor })
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
          <Choice
            label="Order"
            options={[
              ['revenue', 'Most revenue'],
              ['latest', 'Latest'],
            ]}
            value={order.value}
            onChange={(value) => {
              order.value = value
            }}
          />
          <p class="muted filters-note">
            Wallets are stored as keyed hashes: a payer has the same name only within this service. Periods are extended
            to whole days in UTC.
          </p>
        </div>
        <When loaded={loaded} lines={8}>
          {({ revenueToken, next }) =>
            payers.length === 0 ? (
              <NoPayments what="No payers in this period" />
            ) : (
              <>
                <PayersTable payers={payers} token={revenueToken} />
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

function PayersTable({ payers, token }: { readonly payers: readonly Payer[]; readonly token: string }) {
  const columns: readonly Column<Payer>[] = [
    {
      name: 'Payer',
      class: 'lead',
      cell: (one) => (
        <Link href={formatAddress('payments', { payer: one.payer })} class="row-link" row={one.payer || 'unknown'}>
          <Name text={one.payer} />
          <span class="narrow">
            <Moment at={one.last} />
          </span>
        </Link>
      ),
    },
    { name: 'Payments', class: 'number', cell: ({ payments }) => <Count count={payments} /> },
    { name: 'Paid', class: 'number wide', cell: receivedWords },
    ...revenueColumns(payers, token, 'number trail'),
    { name: 'First', class: 'when wide', cell: ({ first }) => <Moment at={first} /> },
    { name: 'Last', class: 'when wide', cell: ({ last }) => <Moment at={last} /> },
  ]
  return <Table class="many" caption="Payers" columns={columns} rows={payers} rowKey={({ payer }) => payer} />
}
