/** The lines of the books in SQLite. Money is two integers there, so that the database can add it up. */
import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import type { Line, TotalsChange } from '../rules/totals.ts'
import { listLines } from '../rules/totals.ts'
import type { Work } from '../sql/work.ts'
import { formatText } from '../stored-text.ts'

/** The second integer stays below it, whatever is added. */
const part = 10n ** 12n

const sum = (name: string) => `
  ${name}_hi = ${name}_hi + excluded.${name}_hi + (${name}_lo + excluded.${name}_lo) / ${part},
  ${name}_lo = (${name}_lo + excluded.${name}_lo) % ${part}`

const [whole, money] = [['payments', 'unvalued'] as const, ['received', 'worth', 'refunded', 'refunded_worth'] as const]
export const countColumns = [...whole, ...money.flatMap((name) => [`${name}_hi`, `${name}_lo`])].join(', ')

/** Adds up lines that are grouped; to be read by `readCounts`. */
export const sums = (factor: string): string =>
  [
    ...whole.map((name) => `sum(${factor}${name}) AS ${name}`),
    ...money.map((name) => `sum(${factor}${name}_hi) || ':' || sum(${factor}${name}_lo) AS ${name}`),
  ].join(', ')

/** Of lines that are grouped: something was paid, or sent back. */
export const isAnyCounted = `HAVING sum(sign * payments) <> 0 OR sum(sign * refunded_hi) <> 0 OR sum(sign * refunded_lo) <> 0`

const places = countColumns.replaceAll(/\w+/g, '?')
const adding = `DO UPDATE SET payments = payments + excluded.payments, unvalued = unvalued + excluded.unvalued,
  ${money.map(sum).join(', ')}`
const add = `INSERT INTO rollups (grain, at, endpoint, token, ${countColumns}) VALUES (?, ?, ?, ?, ${places})
  ON CONFLICT (grain, at, endpoint, token) ${adding}`
const addPayer = `INSERT INTO payers (payer, at, token, ${countColumns}) VALUES (?, ?, ?, ${places})
  ON CONFLICT (payer, at, token) ${adding}`

/** Writes what jobs that are committed together have changed, line by line. */
export function prepareRollups(db: DatabaseSyncInstance): (changes: readonly TotalsChange[]) => void {
  const statements = { add: db.prepare(add), addPayer: db.prepare(addPayer) }
  return (changes) => {
    for (const line of listLines(changes))
      (isPayer(line) ? statements.addPayer : statements.add).run(...keyOf(line), ...countsOf(line))
  }
}

export function* addLines(lines: readonly Line[]): Work<void> {
  for (const line of lines) yield { sql: isPayer(line) ? addPayer : add, values: [...keyOf(line), ...countsOf(line)] }
}

/** Lines of payers are kept apart. */
function isPayer({ grain }: Line): boolean {
  return grain === 'day_payer'
}

function keyOf(line: Line) {
  const { grain, at, endpoint, token } = line
  return isPayer(line) ? [endpoint, at, token] : [grain, at, formatText(endpoint), token]
}

function countsOf({ payments, received, worth, unvalued, refunded, refundedWorth }: Line) {
  const halves = [received, worth, refunded, refundedWorth].flatMap((sum) => [sum / part, sum % part])
  return [payments, unvalued, ...halves]
}
