/** The lines of the books in SQLite. Money is two integers there, so that the database can add it up. */
import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import type { Change, Counts, Line } from './rollup.ts'
import { linesOf } from './rollup.ts'
import { formatText } from './stored-text.ts'

/** The second integer stays below it, whatever is added. */
const part = 10n ** 12n

const sum = (name: string) => `
  ${name}_hi = ${name}_hi + excluded.${name}_hi + (${name}_lo + excluded.${name}_lo) / ${part},
  ${name}_lo = (${name}_lo + excluded.${name}_lo) % ${part}`

const parts = ['payments', 'received_hi', 'received_lo', 'worth_hi', 'worth_lo', 'unvalued']
/** Adds up lines that are grouped, each with its `sign`; to be read by `readCounts`. */
export const sums = parts.map((name) => `sum(sign * ${name}) AS ${name}`).join(', ')

export interface CountsRow {
  readonly payments: bigint
  readonly received_hi: bigint
  readonly received_lo: bigint
  readonly worth_hi: bigint
  readonly worth_lo: bigint
  readonly unvalued: bigint
}

export function readCounts(row: CountsRow): Counts {
  return {
    payments: Number(row.payments),
    received: row.received_hi * part + row.received_lo,
    worth: row.worth_hi * part + row.worth_lo,
    unvalued: Number(row.unvalued),
  }
}

/** Sums as one text, to be read by `unpackCounts`. */
export const packed = parts.join(" || ' ' || ")

export function unpackCounts(texts: readonly string[]): Counts {
  const [payments = 0n, received_hi = 0n, received_lo = 0n, worth_hi = 0n, worth_lo = 0n, unvalued = 0n] =
    texts.map(BigInt)
  return readCounts({ payments, received_hi, received_lo, worth_hi, worth_lo, unvalued })
}

/** Writes what jobs that are committed together have changed, line by line. */
export function prepareRollups(db: DatabaseSyncInstance): (changes: readonly Change[]) => void {
  const counts = `payments, received_hi, received_lo, worth_hi, worth_lo, unvalued`
  const adding = `DO UPDATE SET payments = payments + excluded.payments,
    ${sum('received')}, ${sum('worth')}, unvalued = unvalued + excluded.unvalued`
  const add = db.prepare(`
    INSERT INTO rollups (grain, at, endpoint, token, ${counts}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (grain, at, endpoint, token) ${adding}`)
  const addPayer = db.prepare(`
    INSERT INTO payers (payer, at, token, ${counts}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (payer, at, token) ${adding}`)
  return (changes) => {
    for (const line of linesOf(changes)) {
      const { grain, at, endpoint, token } = line
      if (grain === 'day_payer') addPayer.run(endpoint, at, token, ...countsOf(line))
      else add.run(grain, at, formatText(endpoint), token, ...countsOf(line))
    }
  }
}

function countsOf({ payments, received, worth, unvalued }: Line) {
  return [payments, received / part, received % part, worth / part, worth % part, unvalued] as const
}
