/** The rate journal of the ledger. */
import { hasRates, type JournaledRates, type RateTable } from '../../core/money/rates.ts'
import { isKnownCode, isTokenCode, type TokenCode } from '../../core/money/tokens.ts'
import { type RateJournal, type RateQuery, ratesKeptMs } from '../../core/ports/journal.ts'
import type { Clock } from '../../core/runtime.ts'
import { clearedAtOnce } from '../rules/events.ts'
import { readTime } from '../rules/grants.ts'
import { first, type Query, raw, type SqlStore, sql, type Whole, type Work } from './work.ts'

interface RateRow {
  readonly feed: string
  readonly at: Whole
  readonly source: string
  readonly usdc: string | null
  readonly native: string | null
  readonly sol: string | null
  /** The rates of other tokens: JSON with sorted keys. */
  readonly others: string | null
}

const columns = raw('feed, at, source, usdc, native, sol, others')

export function createRateJournal(store: SqlStore, clock: Clock): RateJournal {
  return {
    note: ({ feed, source, table }) =>
      store.write(function* () {
        const now = readTime(clock)
        const texts = [source, ...rateValues(table)].map((text) => sql`CAST(${text} AS text)`)
        const [isUsdc, isNative, isSol, isOthers] = texts.slice(1)
        // Of two changes within one millisecond, the later one is stored.
        yield sql`INSERT INTO {rates} (${columns})
          SELECT CAST(${feed} AS text), CAST(${now} AS bigint), ${texts[0]}, ${isUsdc}, ${isNative}, ${isSol},
            ${isOthers}
          WHERE NOT EXISTS (SELECT 1 FROM (${selectLast(inFeed(feed), now, [])}) AS last
            WHERE last.usdc IS NOT DISTINCT FROM ${isUsdc} AND last.native IS NOT DISTINCT FROM ${isNative}
              AND last.sol IS NOT DISTINCT FROM ${isSol} AND last.others IS NOT DISTINCT FROM ${isOthers})
          ON CONFLICT (feed, at) DO UPDATE SET source = excluded.source, usdc = excluded.usdc, native = excluded.native,
            sol = excluded.sol, others = excluded.others`
        // The rates that were in force at the oldest kept time stay. A wrong clock may show this time, so few are deleted
        // at once, the oldest first.
        const oldest = now - ratesKeptMs
        yield sql`DELETE FROM {rates} WHERE (feed, at) IN (SELECT feed, at FROM {rates} AS old
          WHERE at < ${oldest} AND EXISTS (SELECT 1 FROM {rates} AS next
            WHERE next.feed = old.feed AND next.at > old.at AND next.at <= ${oldest})
          ORDER BY at LIMIT ${raw(String(clearedAtOnce))} ${store.dialect.skipLocked})`
      }),
    find: (query) => store.read(() => findRates(query)),
  }
}

/** Runs only the queries that it needs. */
function* findRates({ feed, time, tokens }: RateQuery): Work<JournaledRates | undefined> {
  const own = yield* ask(selectLast(inFeed(feed), time, []))
  if (own && hasRates(own.table, tokens)) return own
  if (own) return (yield* ask(selectNext(inFeed(feed), time, tokens))) ?? own
  const use = feed.slice(0, feed.indexOf('/') + 1)
  const inUse = sql`substr(feed, 1, length(CAST(${use} AS text))) = CAST(${use} AS text)`
  return (
    (yield* ask(selectLast(inUse, time, tokens))) ??
    (yield* ask(selectNext(inUse, time, tokens))) ??
    (yield* ask(selectNext(inFeed(feed), time, [])))
  )
}

function* ask(query: Query): Work<JournaledRates | undefined> {
  const row = yield* first<RateRow>(query)
  if (!row) return undefined
  const { feed, at, source, usdc, native, sol, others } = row
  const known = Object.entries({ USDC: usdc, NATIVE: native, SOL: sol }).flatMap(([token, rate]) =>
    rate === null ? [] : [[token, rate] as const],
  )
  const table: RateTable = { ...Object.fromEntries(known), ...(others === null ? {} : JSON.parse(others)) }
  return { feed, at: Number(at), source, table }
}

const inFeed = (feed: string): Query => sql`feed = ${feed}`

/** The latest entry up to a time that has rates for all these tokens. */
function selectLast(scope: Query, time: number, tokens: readonly TokenCode[]): Query {
  return sql`${select(scope, tokens)} AND at <= CAST(${time} AS bigint) ORDER BY at DESC, feed LIMIT 1`
}

/** The first entry after a time. */
function selectNext(scope: Query, time: number, tokens: readonly TokenCode[]): Query {
  return sql`${select(scope, tokens)} AND at > CAST(${time} AS bigint) ORDER BY at, feed LIMIT 1`
}

function select(scope: Query, tokens: readonly TokenCode[]): Query {
  // Only tested codes become part of the statement.
  const isComplete = tokens
    .filter(isTokenCode)
    .map((token) =>
      isKnownCode(token) ? ` AND ${token.toLowerCase()} IS NOT NULL` : ` AND others LIKE '%"${token}":%'`,
    )
  return sql`SELECT ${columns} FROM {rates} WHERE ${scope}${raw(isComplete.join(''))}`
}

function rateValues({ USDC, NATIVE, SOL, ...others }: RateTable): readonly (string | null)[] {
  const sorted = Object.entries(others).sort(([one], [other]) => (one < other ? -1 : 1))
  const text = sorted.length === 0 ? null : JSON.stringify(Object.fromEntries(sorted))
  return [...[USDC, NATIVE, SOL].map((rate) => rate ?? null), text]
}
