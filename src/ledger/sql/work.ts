/**
 * SQL that both databases run.
 *
 * The work of a call is a generator: it yields statements and receives their rows. SQLite runs it synchronously, inside
 * a commit that several calls share. PostgreSQL sends each statement and waits. So the work is written once, and
 * neither database has to behave like the other.
 */
import type { Sighting } from '../../core/ports/journal.ts'
import type { Period, Usage } from '../../core/ports/reports.ts'
import type { Line } from '../rules/totals.ts'

export interface Query {
  /** `?` stands for a value, `{name}` for the name of a table. */
  readonly sql: string
  readonly values: readonly unknown[]
}

export interface Statement extends Query {
  /** For statements that may run longer than the usual timeout. */
  readonly timeoutMs?: number
}

export type Work<Result> = Generator<Statement, Result, readonly unknown[]>

/** A query from text, values and other queries. Each value gets a placeholder. */
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

/** Literal SQL: the name of a column, or a condition in the syntax of a dialect. */
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

/** Whether a statement found a row or, with RETURNING, changed one. */
export function* isAny(query: Statement): Work<boolean> {
  return (yield query).length > 0
}

/** Whole numbers from a database. PostgreSQL returns them as text. */
export type Whole = number | bigint | string

type ColumnType = 'text' | 'bigint' | 'numeric' | 'bytea'

/** The columns of rows that are passed to a statement, with their types and values. */
export type Columns<Item> = Readonly<Record<string, readonly [type: ColumnType, value: (item: Item) => unknown]>>

/** The differences between the two databases in syntax, locks and storage. */
export interface Dialect {
  /** Condition: the payment is late. `table` is the alias of the payments. */
  late(table?: string): Query
  /** Condition: a boolean column is false, written as in the indexes. */
  not(column: string): Query
  /** Condition: no payment is registered for the `seen` row; with `orLate`, none but a late one. */
  isUnclaimed(seen: string, orLate?: boolean): Query
  /** Condition: a response to the payment is running at this time. */
  isHeld(now: number): Query
  /** Locks the rows of a SELECT until the commit. With `of`, only the rows of that table. */
  lock(of?: string): Query
  /** Locks the rows of a SELECT, and skips rows that other transactions hold. */
  readonly skipLocked: Query
  /** Condition: one amount column is greater than another. */
  isMore(one: string, other: string): Query
  /** Condition: an amount column is at least `units`. */
  isAtLeast(column: string, units: bigint): Query
  /** Orders by an amount, the largest first. */
  largest(column: string): Query
  /** The sum of a money column, for `readMoney`. */
  total(column: string): Query
  /** A table `given` with the values of the items. */
  given<Item>(items: readonly Item[], columns: Columns<Item>): Query
  /** A new id of an event. */
  readonly noticeId: Query
  /** Records observed payments. Returns those that are new, or that a node has confirmed for the first time. */
  noteSightings(sightings: readonly Sighting[], now: number): Work<readonly Sighting[]>
  /** Part of an UPDATE of payments: increments the version, so that no other writer restores the old row. */
  readonly nextVersion: Query
  /** The count columns of the books. */
  readonly countColumns: Query
  /** The sums of lines of the books, for `readCounts`. If `isSigned`, each line is multiplied by its `sign`. */
  sums(isSigned: boolean): Query
  /** Condition for grouped and signed lines: a payment or a refund was counted. */
  readonly isAnyCounted: Query
  /** Adds lines to the books. They must be in the order of `listLines`. */
  addLines(lines: readonly Line[]): Work<void>
  /** Adds to the usage counters. */
  addUsage(usage: readonly Usage[]): Work<void>
  /** The payers with the highest payments of each day. */
  topPayers(days: readonly number[], perDay: number): Work<readonly string[]>
  /** The sums of these payers in a period, by payer and token. */
  payerSums(payers: readonly string[], period: Required<Period>): Query
  /**
   * Removes the grants of a payment, so that no lapsed lease can return. `withoutLeases` is a part of the UPDATE, and
   * `letGo` follows it.
   */
  readonly withoutLeases: Query
  letGo(tx: Uint8Array): Work<void>
  /** Waits for running registrations, and blocks new ones until the commit. */
  blockRegistrations(): Work<void>
  /** Condition: a payee is owed an amount and has no payout under way. Written as in the indexes. */
  readonly isFree: Query
}

/** A database, as the shared parts of the ledger use it. */
export interface SqlStore {
  readonly dialect: Dialect
  /** Reads only. In PostgreSQL, each statement sees the state at its own start. */
  read<Result>(work: () => Work<Result>): Promise<Result>
  /** In PostgreSQL, each statement is committed separately. */
  write<Result>(work: () => Work<Result>): Promise<Result>
  /** Commits all statements or none. */
  transact<Result>(work: () => Work<Result>): Promise<Result>
  /** Commits all statements or none, with exclusive access to payables and outgoing transactions. */
  transactPayables<Result>(work: () => Work<Result>): Promise<Result>
  /** All statements or none, while no other transaction of this kind runs on any server. */
  transactSubmissions<Result>(work: () => Work<Result>): Promise<Result>
  /** Reads one consistent state while other transactions write. */
  snapshot<Result>(work: () => Work<Result>): Promise<Result>
  /** Commits all statements or none, while no payment can be registered. */
  transactAlone<Result>(work: () => Work<Result>): Promise<Result>
}

const part = 10n ** 12n

/** A sum from `Dialect.total`: one number, or two of which the second is below 10^12. */
export function readMoney(text: string): bigint {
  const [first = '0', second] = text.split(':')
  return second === undefined ? BigInt(first) : BigInt(first) * part + BigInt(second)
}

export function readTimeOrNone(time: Whole | null | undefined): number | undefined {
  return time === null || time === undefined ? undefined : Number(time)
}

/** Bytes as text, for comparisons and lookups. */
export function formatHex(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')
}
