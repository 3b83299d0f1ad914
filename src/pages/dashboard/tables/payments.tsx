/** Payments in rows, each with a link to its details. */
import { formatAmount, formatRounded } from '../../look/amounts.ts'
import { pageLocale } from '../../look/locale.ts'
import type { FeedRecord } from '../data/answers.ts'
import { changeAddress } from '../data/route.ts'
import { Delivery, EndpointLink, Moment, PayerLink, readWorth, StandingLink, Worth } from '../elements/cells.tsx'
import { Link } from '../elements/link.tsx'
import { type Column, type Sorting, Table } from '../elements/table.tsx'

export interface PaymentsTableProps {
  readonly caption: string
  readonly records: readonly FeedRecord[]
  /** Shows the time of day instead of the relative time. */
  readonly isExact?: boolean
  /** The column that all rows would repeat. */
  readonly without?: 'endpoint' | 'payer'
  readonly isNew?: (record: FeedRecord) => boolean
  readonly isOpen?: (record: FeedRecord) => boolean
  /** Undefined if the order is fixed. */
  readonly sort?: (key: PaymentKey) => Sorting
}

/** The columns by which the service sorts payments. */
export const paymentKeys = ['time', 'value'] as const
export type PaymentKey = (typeof paymentKeys)[number]

const endpointColumn: Column<FeedRecord> = {
  name: 'Endpoint',
  class: 'wide',
  cellClass: 'endpoint',
  cell: ({ endpoint }) => <EndpointLink endpoint={endpoint} />,
  title: ({ endpoint }) => endpoint,
}
const payerColumn: Column<FeedRecord> = {
  name: 'Payer',
  class: 'wide',
  cell: ({ payer }) => <PayerLink payer={payer} />,
}

export function PaymentsTable({ caption, records, isExact = false, without, isNew, isOpen, sort }: PaymentsTableProps) {
  const revenueToken = records[0]?.revenueToken
  const columns: readonly Column<FeedRecord>[] = [
    {
      name: 'Amount',
      class: 'number lead',
      cell: (record) => (
        <>
          <span class="amount">
            <Link href={changeAddress({ payment: record.id })} class="row-link" row={record.id}>
              {formatAmount(record.amount, pageLocale())}
            </Link>{' '}
            <span class="unit">{record.token}</span>
          </span>
          <span class="narrow dotted">
            {record.token !== record.revenueToken && readWorth(record) !== '' && (
              <span>{`${formatRounded(readWorth(record), pageLocale())} ${record.revenueToken}`}</span>
            )}
            {without !== 'endpoint' && <span>{record.endpoint}</span>}
          </span>
        </>
      ),
    },
    {
      name: revenueToken === undefined ? 'Value' : `Value, ${revenueToken}`,
      class: 'number wide',
      sorting: sort?.('value'),
      cell: (record) => <Worth record={record} />,
    },
    {
      name: 'Status',
      class: 'trail',
      cell: (record) => (
        <>
          <StandingLink record={record} />
          <span class="narrow">
            <Moment at={record.timestamp} isExact={isExact} />
          </span>
        </>
      ),
    },
    ...(without === 'endpoint' ? [] : [endpointColumn]),
    ...(without === 'payer' ? [] : [payerColumn]),
    { name: 'Delivery', class: 'wide spare', cell: (record) => <Delivery record={record} /> },
    {
      name: 'When',
      class: 'when wide',
      sorting: sort?.('time'),
      cell: (record) => (
        <>
          {isNew?.(record) && <span class="new-mark">New</span>}
          <Moment at={record.timestamp} isExact={isExact} />
        </>
      ),
    },
  ]
  return (
    <Table
      {...(without === undefined && { class: 'many' })}
      caption={caption}
      columns={columns}
      rows={records}
      rowKey={({ id }) => id}
      rowClass={(record) => (isNew?.(record) ? 'is-new' : isOpen?.(record) ? 'is-open' : undefined)}
    />
  )
}
