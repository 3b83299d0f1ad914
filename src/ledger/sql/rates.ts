/** The rate journal of the ledger. */
import { hasRates, type JournaledRates, type RateTable } from '../../core/money/rates.ts'
import type { TokenCode } from '../../core/money/tokens.ts'
import { type RateJournal, type RateQuery, ratesKeptMs } from '../../core/ports/journal.ts'
import type { Clock } from '../../core/runtime.ts'
import { readTime } from '../rules/grants.ts'
import { first, type Query, raw, type SqlStore, sql, type Whole, type Work } from './work.ts'

interface RateRow {
  readonly feed: string
  readonly at: Whole
  readonly source: string
  readonly usdc: string | null
  readonly native: string | null
  readonly sol: string | null
}

const columns = raw('feed, at, source, usdc, native, sol')

export function createRateJournal(store: SqlStore, clock: Clock): RateJournal {
  return {
    note: ({ feed, source, table }) =>
      store.write(function* () {
        const now = readTime(clock)
        const [usdc, native, sol] = rateValues(table)
        const texts = [source, usdc, native, sol].map((text) => sql`CAST(${text} AS text)`)
        const [isUsdc, isNative, isSol] = texts.slice(1)
        // Of two changes within one millisecond, the later one is stored.
        yield sql`INSERT INTO {rates} (${columns})
          SELECT CAST(${feed} AS text), CAST(${now} AS bigint), ${texts[0]}, ${isUsdc}, ${isNative}, ${isSol}
          WHERE NOT EXISTS (SELECT 1 FROM (${selectLast(inFeed(feed), now, [])}) AS last
            WHERE last.usdc IS NOT DISTINCT FROM ${isUsdc} AND last.native IS NOT DISTINCT FROM ${isNative}
              AND last.sol IS NOT DISTINCT FROM ${isSol})
          ON CONFLICT (feed, at) DO UPDATE SET source = excluded.source, usdc = excluded.usdc, native = excluded.native,
            sol = excluded.sol`
        // The rates that were in force at the oldest kept time stay.
        const oldest = now - ratesKeptMs
        yield sql`DELETE FROM {rates} AS old WHERE at < ${oldest} AND EXISTS (SELECT 1 FROM {rates} AS next
          WHERE next.feed = old.feed AND next.at > old.at AND next.at <= ${oldest})`
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
  const { feed, at, source, usdc, native, sol } = row
  const rates = Object.entries({ USDC: usdc, NATIVE: native, SOL: sol }).filter(([, rate]) => rate !== null)
  return { feed, at: Number(at), source, table: Object.fromEntries(rates) }
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
  const isComplete = tokens.map((token) => ` AND ${token.toLowerCase()} IS NOT NULL`).join('')
  return sql`SELECT ${columns} FROM {rates} WHERE ${scope}${raw(isComplete)}`
}

function rateValues({ USDC, NATIVE, SOL }: RateTable): readonly (string | null)[] {
  return [USDC, NATIVE, SOL].map((rate) => rate ?? null)
}
