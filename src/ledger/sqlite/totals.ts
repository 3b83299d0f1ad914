/** The lines of the books in SQLite. Money is stored as two integers, so that the database can add it. */
import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import { type Line, listLines, type TotalsChange } from '../rules/totals.ts'
import type { Work } from '../sql/work.ts'
import { formatText } from '../stored-text.ts'

/** The second integer of a stored sum is below this value. */
const part = 10n ** 12n

const sum = (name: string) => `
  ${name}_hi = ${name}_hi + excluded.${name}_hi + (${name}_lo + excluded.${name}_lo) / ${part},
  ${name}_lo = (${name}_lo + excluded.${name}_lo) % ${part}`

const [whole, money] = [['payments', 'unvalued'] as const, ['received', 'worth', 'refunded', 'refunded_worth'] as const]
export const countColumns = [...whole, ...money.flatMap((name) => [`${name}_hi`, `${name}_lo`])].join(', ')

/** Sums of grouped lines, for `readCounts`. */
export const sums = (factor: string): string =>
  [
    ...whole.map((name) => `sum(${factor}${name}) AS ${name}`),
    ...money.map((name) => `sum(${factor}${name}_hi) || ':' || sum(${factor}${name}_lo) AS ${name}`),
  ].join(', ')

/** Condition for grouped lines: a payment or a refund was counted. */
export const isAnyCounted = `HAVING sum(sign * payments) <> 0 OR sum(sign * refunded_hi) <> 0 OR sum(sign * refunded_lo) <> 0`

const places = countColumns.replaceAll(/\w+/g, '?')
const adding = `DO UPDATE SET payments = payments + excluded.payments, unvalued = unvalued + excluded.unvalued,
  ${money.map(sum).join(', ')}`
const add = `INSERT INTO rollups (grain, at, endpoint, token, ${countColumns}) VALUES (?, ?, ?, ?, ${places})
  ON CONFLICT (grain, at, endpoint, token) ${adding}`
const addPayer = `INSERT INTO payers (payer, at, token, ${countColumns}) VALUES (?, ?, ?, ${places})
  ON CONFLICT (payer, at, token) ${adding}`

/** Writes the changes of all jobs of one commit, line by line. */
export function prepareRollups(db: DatabaseSyncInstance): (changes: readonly TotalsChange[]) => void {
  const [adding, addingPayer] = [db.prepare(add), db.prepare(addPayer)]
  return (changes) => {
    for (const line of listLines(changes)) {
      const { grain, at, endpoint, token } = line
      if (grain === 'day_payer') addingPayer.run(endpoint, at, token, ...countsOf(line))
      else adding.run(grain, at, formatText(endpoint), token, ...countsOf(line))
    }
  }
}

export function* addLines(lines: readonly Line[]): Work<void> {
  for (const line of lines) {
    const { grain, at, endpoint, token } = line
    if (grain === 'day_payer') yield { sql: addPayer, values: [endpoint, at, token, ...countsOf(line)] }
    else yield { sql: add, values: [grain, at, formatText(endpoint), token, ...countsOf(line)] }
  }
}

/** In the order of `countColumns`. */
function countsOf({ payments, received, worth, unvalued, refunded, refundedWorth }: Line) {
  const halves = (sum: bigint) => [sum / part, sum % part] as const
  return [payments, unvalued, ...halves(received), ...halves(worth), ...halves(refunded), ...halves(refundedWorth)]
}
