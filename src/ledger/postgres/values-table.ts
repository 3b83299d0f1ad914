/** Values as a table, passed column by column. */
import type { Columns, Query } from '../sql/work.ts'
import { formatHex } from './payments-and-grants.ts'

export function createTable<Item>(items: readonly Item[], columns: Columns<Item>): Query {
  const fields = Object.entries(columns)
  const types = fields.map(([, [type]]) => `?::${type}[]`).join(', ')
  const values = fields.map(([, [type, value]]) =>
    items.map((item) => (type === 'bytea' ? formatHex(value(item) as Uint8Array) : value(item))),
  )
  return { sql: `unnest(${types}) AS given (${fields.map(([name]) => name).join(', ')})`, values }
}
