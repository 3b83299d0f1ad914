/** The lines of the books in SQLite. Money is two integers there, so that the database can add it up. */
import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import type { Counts, Line, TotalsChange } from '../rules/totals.ts'
import { listLines } from '../rules/totals.ts'
import { formatText } from '../stored-text.ts'

/** The second integer stays below it, whatever is added. */
const part = 10n ** 12n

const sum = (name: string) => `
  ${name}_hi = ${name}_hi + excluded.${name}_hi + (${name}_lo + excluded.${name}_lo) / ${part},
  ${name}_lo = (${name}_lo + excluded.${name}_lo) % ${part}`

const parts = [
  ...['payments', 'received_hi', 'received_lo', 'worth_hi', 'worth_lo', 'unvalued'],
  ...['refunded_hi', 'refunded_lo', 'refunded_worth_hi', 'refunded_worth_lo'],
]
/** Adds up lines that are grouped, each with its `sign`; to be read by `readCounts`. */
export const sums = parts.map((name) => `sum(sign * ${name}) AS ${name}`).join(', ')

export interface CountsRow {
  readonly payments: bigint
  readonly received_hi: bigint
  readonly received_lo: bigint
  readonly worth_hi: bigint
  readonly worth_lo: bigint
  readonly unvalued: bigint
  readonly refunded_hi: bigint
  readonly refunded_lo: bigint
  readonly refunded_worth_hi: bigint
  readonly refunded_worth_lo: bigint
}

/** Of lines that are grouped: something was paid, or sent back. */
export const isAny = `HAVING sum(sign * payments) <> 0 OR sum(sign * refunded_hi) <> 0 OR sum(sign * refunded_lo) <> 0`

export function readCounts(row: CountsRow): Counts {
  return {
    payments: Number(row.payments),
    received: row.received_hi * part + row.received_lo,
    worth: row.worth_hi * part + row.worth_lo,
    unvalued: Number(row.unvalued),
    refunded: row.refunded_hi * part + row.refunded_lo,
    refundedWorth: row.refunded_worth_hi * part + row.refunded_worth_lo,
  }
}

/** Sums as one text, to be read by `unpackCounts`. */
export const packed = parts.join(" || ' ' || ")

export function unpackCounts(texts: readonly string[]): Counts {
  const values = texts.map(BigInt)
  return readCounts(Object.fromEntries(parts.map((name, index) => [name, values[index]])) as unknown as CountsRow)
}

/** Writes what jobs that are committed together have changed, line by line. */
export function prepareRollups(db: DatabaseSyncInstance): (changes: readonly TotalsChange[]) => void {
  const counts = parts.join(', ')
  const places = parts.map(() => '?').join(', ')
  const adding = `DO UPDATE SET payments = payments + excluded.payments,
    ${sum('received')}, ${sum('worth')}, unvalued = unvalued + excluded.unvalued,
    ${sum('refunded')}, ${sum('refunded_worth')}`
  const add = db.prepare(`
    INSERT INTO rollups (grain, at, endpoint, token, ${counts}) VALUES (?, ?, ?, ?, ${places})
    ON CONFLICT (grain, at, endpoint, token) ${adding}`)
  const addPayer = db.prepare(`
    INSERT INTO payers (payer, at, token, ${counts}) VALUES (?, ?, ?, ${places})
    ON CONFLICT (payer, at, token) ${adding}`)
  return (changes) => {
    for (const line of listLines(changes)) {
      const { grain, at, endpoint, token } = line
      if (grain === 'day_payer') addPayer.run(endpoint, at, token, ...countsOf(line))
      else add.run(grain, at, formatText(endpoint), token, ...countsOf(line))
    }
  }
}

function countsOf({ payments, received, worth, unvalued, refunded, refundedWorth }: Line) {
  const halves = (sum: bigint) => [sum / part, sum % part] as const
  return [payments, ...halves(received), ...halves(worth), unvalued, ...halves(refunded), ...halves(refundedWorth)]
}
