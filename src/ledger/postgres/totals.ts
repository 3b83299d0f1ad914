/** The lines of the books in PostgreSQL. */
import type { Line } from '../rules/totals.ts'
import { type Columns, raw, sql, type Work } from '../sql/work.ts'
import { formatText } from '../stored-text.ts'
import { addToKept, addToPayers, isPayer } from './effects.ts'
import { createTable } from './values-table.ts'

type Numbered = readonly [number: number, line: Line]

const counts: Columns<Numbered> = {
  payments: ['bigint', ([, { payments }]) => payments],
  received: ['numeric', ([, { received }]) => String(received)],
  worth: ['numeric', ([, { worth }]) => String(worth)],
  unvalued: ['bigint', ([, { unvalued }]) => unvalued],
  refunded: ['numeric', ([, { refunded }]) => String(refunded)],
  refunded_worth: ['numeric', ([, { refundedWorth }]) => String(refundedWorth)],
}
const columns: Columns<Numbered> = {
  number: ['bigint', ([number]) => number],
  grain: ['text', ([, { grain }]) => grain],
  at: ['bigint', ([, { at }]) => at],
  endpoint: ['text', ([, { grain, endpoint }]) => (grain === 'day_payer' ? endpoint : formatText(endpoint))],
  token: ['text', ([, { token }]) => token],
  ...counts,
}
export const countColumns = Object.keys(counts)
export const sums = (factor: string): string =>
  countColumns.map((name) => `sum(${factor}${name}) AS ${name}`).join(', ')

/** The lines must be in the order of `listLines`. */
export function* addLines(lines: readonly Line[], lane: number): Work<void> {
  if (lines.length === 0) return
  const [counted, own] = [raw(countColumns.join(', ')), raw(String(lane))]
  const given = createTable([...lines.entries()], columns)
  yield sql`INSERT INTO {rollups} AS kept (grain, at, endpoint, token, lane, ${counted})
    SELECT grain, at, endpoint, token, ${own}, ${counted} FROM ${given} WHERE NOT grain ${raw(isPayer)} ORDER BY number
    ${raw(addToKept)}`
  yield sql`INSERT INTO {payers} AS kept (payer, at, token, lane, ${counted})
    SELECT endpoint, at, token, ${own}, ${counted} FROM ${given} WHERE grain ${raw(isPayer)} ORDER BY number
    ${raw(addToPayers)}`
}
