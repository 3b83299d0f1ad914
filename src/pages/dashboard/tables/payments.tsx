/** Payments in rows, each with a link to its details. */
import type { FeedRecord } from '../data/answers.ts'
import { changeAddress } from '../data/route.ts'
import { Amount, Delivery, Moment, Name, Standing } from '../elements/cells.tsx'
import { Link } from '../elements/link.tsx'
import { type Column, Table } from '../elements/table.tsx'

export interface PaymentsTableProps {
  readonly caption: string
  readonly records: readonly FeedRecord[]
  /** Shows the time of day instead of the relative time. */
  readonly isExact?: boolean
  readonly isNew?: (record: FeedRecord) => boolean
  readonly isOpen?: (record: FeedRecord) => boolean
}

export function PaymentsTable({ caption, records, isExact = false, isNew, isOpen }: PaymentsTableProps) {
  const columns: readonly Column<FeedRecord>[] = [
    {
      name: 'Amount',
      class: 'number lead',
      cell: ({ id, amount, token, endpoint }) => (
        <Link href={changeAddress({ payment: id })} class="row-link" row={id}>
          <Amount amount={amount} token={token} />
          <span class="narrow">{endpoint}</span>
        </Link>
      ),
    },
    {
      name: 'Status',
      class: 'trail',
      cell: (record) => (
        <>
          <Standing record={record} />
          <span class="narrow">
            <Moment at={record.timestamp} isExact={isExact} />
          </span>
        </>
      ),
    },
    {
      name: 'Endpoint',
      class: 'wide',
      cellClass: 'endpoint',
      cell: ({ endpoint }) => endpoint,
      title: ({ endpoint }) => endpoint,
    },
    { name: 'Payer', class: 'wide', cell: ({ payer }) => <Name text={payer} /> },
    { name: 'Delivery', class: 'wide', cell: ({ delivery }) => <Delivery delivery={delivery} /> },
    {
      name: 'When',
      class: 'when wide',
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
      caption={caption}
      columns={columns}
      rows={records}
      rowKey={({ id }) => id}
      rowClass={(record) => (isNew?.(record) ? 'is-new' : isOpen?.(record) ? 'is-open' : undefined)}
    />
  )
}
