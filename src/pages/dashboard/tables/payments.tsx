/** Payments in rows, each with a link to its details. */
import type { FeedRecord } from '../data/answers.ts'
import { addressWith } from '../data/route.ts'
import { Amount, Delivery, Moment, Name, Standing } from '../elements/cells.tsx'
import { Link } from '../elements/link.tsx'
import { type Column, Table } from '../elements/table.tsx'

export interface PaymentsTableProps {
  readonly caption: string
  readonly records: readonly FeedRecord[]
  /** With the time of day instead of how long ago. */
  readonly isExact?: boolean
  readonly isNew?: (record: FeedRecord) => boolean
  readonly isOpen?: (record: FeedRecord) => boolean
}

const columns: readonly Column[] = [
  ['Amount', 'number lead'],
  ['Status', 'trail'],
  ['Endpoint', 'wide'],
  ['Payer', 'wide'],
  ['Delivery', 'wide'],
  ['When', 'when wide'],
]

export function PaymentsTable({ caption, records, isExact = false, isNew, isOpen }: PaymentsTableProps) {
  const classOf = (record: FeedRecord) => (isNew?.(record) ? 'is-new' : isOpen?.(record) ? 'is-open' : undefined)
  return (
    <Table caption={caption} columns={columns}>
      {records.map((record) => (
        <tr key={record.id} class={classOf(record)}>
          <td class="number lead">
            <Link href={addressWith({ payment: record.id })} class="row-link" row={record.id}>
              <Amount amount={record.amount} token={record.token} />
              <span class="narrow">{record.endpoint}</span>
            </Link>
          </td>
          <td class="trail">
            <Standing record={record} />
            <span class="narrow">
              <Moment at={record.timestamp} isExact={isExact} />
            </span>
          </td>
          <td class="endpoint wide" title={record.endpoint}>
            {record.endpoint}
          </td>
          <td class="wide">
            <Name text={record.payer} />
          </td>
          <td class="wide">
            <Delivery delivery={record.delivery} />
          </td>
          <td class="when wide">
            {isNew?.(record) && <span class="new-mark">New</span>}
            <Moment at={record.timestamp} isExact={isExact} />
          </td>
        </tr>
      ))}
    </Table>
  )
}
