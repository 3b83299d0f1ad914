/**
 * SQL that both databases run.
 *
 * The work of a call is a generator: it yields statements and is given their rows. SQLite runs it in one go, inside the commit
 * that it shares with others; PostgreSQL sends each statement and waits. So the work is written once, and neither database
 * has to behave like the other.
 */
import type { Sighting } from '../../core/ports/journal.ts'
import type { Period, Usage } from '../../core/ports/reports.ts'
import type { Line } from '../rules/totals.ts'

export interface Query {
  /** `?` is the place of a value, `{name}` the name of a table. */
  readonly sql: string
  readonly values: readonly unknown[]
}

export interface Statement extends Query {
  /** For a statement that may take longer than others can wait. */
  readonly timeoutMs?: number
}

export type Work<Result> = Generator<Statement, Result, readonly unknown[]>

/** Text with values, and with other queries as parts of it. Every value that is no query gets a place of its own. */
export function sql(texts: TemplateStringsArray, ...parts: readonly unknown[]): Query {
  let text = texts[0] ?? ''
  const values: unknown[] = []
  for (const [index, part] of parts.entries()) {
    if (isQuery(part)) {
      text += part.sql
      values.push(...part.values)
    } else {
      text += '?'
      values.push(part)
    }
    text += texts[index + 1] ?? ''
  }
  return { sql: text, values }
}

/** Text as it is: the name of a column, or a condition that a dialect spells in its own way. */
export function raw(text: string): Query {
  return { sql: text, values: [] }
}

export function join(queries: readonly Query[], separator: string): Query {
  return { sql: queries.map((query) => query.sql).join(separator), values: queries.flatMap(({ values }) => values) }
}

function isQuery(part: unknown): part is Query {
  return typeof part === 'object' && part !== null && 'sql' in part && 'values' in part
}

export function* all<Row>(query: Statement): Work<readonly Row[]> {
  return (yield query) as readonly Row[]
}

export function* first<Row>(query: Statement): Work<Row | undefined> {
  return (yield* all<Row>(query))[0]
}

/** Whether a statement found or, with RETURNING, changed anything. */
export function* isAny(query: Statement): Work<boolean> {
  return (yield query).length > 0
}

/** Whole numbers as databases give them: PostgreSQL as text. */
export type Whole = number | bigint | string

type ColumnType = 'text' | 'bigint' | 'numeric' | 'bytea'

/** Rows that are given to a statement: the columns with their types, and their values. */
export type Columns<Item> = Readonly<Record<string, readonly [type: ColumnType, value: (item: Item) => unknown]>>

/** What the two databases spell, lock or keep in different ways. */
export interface Dialect {
  /** That a payment came too late. `table` is the name under which the payments are. */
  late(table?: string): Query
  /** That a column of truth values is false, as indexes have it. */
  not(column: string): Query
  /** That nothing is registered of what was `seen`, or nothing but a late payment. */
  isUnclaimed(seen: string, orLate?: boolean): Query
  /** That a response is under way for a payment, at a time. */
  isHeld(now: number): Query
  /** Locks the rows of a SELECT until the commit; with `of`, those of one table. */
  lock(of?: string): Query
  /** Locks the rows of a SELECT, and leaves out those that others hold. */
  readonly skipLocked: Query
  /** That one amount is more than another, both columns. */
  isMore(one: string, other: string): Query
  /** That an amount is at least so much. */
  isAtLeast(column: string, units: bigint): Query
  /** Orders amounts, the largest first. */
  largest(column: string): Query
  /** The sum of a column of money, for `readMoney`. */
  total(column: string): Query
  /** A table `given` of the values of items. */
  given<Item>(items: readonly Item[], columns: Columns<Item>): Query
  /** A new name of a notice. */
  readonly noticeId: Query
  /** Writes down payments that were seen. Returns those that are new, or that a node has shown for the first time. */
  noteSightings(sightings: readonly Sighting[], now: number): Work<readonly Sighting[]>
  /** Part of an UPDATE of payments: nobody writes back the row as it was before. */
  readonly nextVersion: Query
  /** The columns in which the books count. */
  readonly countColumns: Query
  /** The sums of lines of the books, for `readCounts`; each line times its `sign`, where there is one. */
  sums(isSigned: boolean): Query
  /** Of lines that are grouped and signed: something was paid, or sent back. */
  readonly isAnyCounted: Query
  /** Adds to the books, in the order of the lines, which has to be that of `listLines`. */
  addLines(lines: readonly Line[]): Work<void>
  /** Adds to the counters of usage. */
  addUsage(usage: readonly Usage[]): Work<void>
  /** Those who paid most on each day. */
  topPayers(days: readonly number[], perDay: number): Work<readonly string[]>
  /** The sums of these payers in a period, by payer and token. */
  payerSums(payers: readonly string[], period: Required<Period>): Query
  /** Removes the grants on a payment, so that no lease that lapsed can come back to it: part of an UPDATE, and what follows it. */
  readonly withoutLeases: Query
  letGo(tx: Uint8Array): Work<void>
  /** Waits until no payment is being registered, and lets none be until the commit. */
  blockRegistrations(): Work<void>
  /** That a payee is owed something and nothing is reserved for it, as indexes have it. */
  readonly isFree: Query
}

/** A database as the shared parts of the ledger use it. */
export interface SqlStore {
  readonly dialect: Dialect
  /** Only reads. In PostgreSQL each statement sees what was committed when it began. */
  read<Result>(work: () => Work<Result>): Promise<Result>
  /** In PostgreSQL each statement is committed by itself. */
  write<Result>(work: () => Work<Result>): Promise<Result>
  /** All statements or none. */
  transact<Result>(work: () => Work<Result>): Promise<Result>
  /** The same, while nobody else changes what is owed or planned. */
  transactPayables<Result>(work: () => Work<Result>): Promise<Result>
  /** Everything as it was at one moment, while others go on writing. */
  snapshot<Result>(work: () => Work<Result>): Promise<Result>
  /** All statements or none, while nobody registers a payment. */
  transactAlone<Result>(work: () => Work<Result>): Promise<Result>
}

const part = 10n ** 12n

/** A sum of money as `Dialect.total` gives it: one number, or two of which the second is below 10^12. */
export function readMoney(text: string): bigint {
  const [first = '0', second] = text.split(':')
  return second === undefined ? BigInt(first) : BigInt(first) * part + BigInt(second)
}

export function readTimeOrNone(time: Whole | null | undefined): number | undefined {
  return time === null || time === undefined ? undefined : Number(time)
}

/** Bytes as a text by which they can be compared and looked up. */
export function formatHex(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')
}
