/** Which journaled rates hold for a payment, and how they are kept: the same in every store. */
import type { JournaledRates, RateTable } from '../../core/money/rates.ts'
import { hasRates } from '../../core/money/rates.ts'
import type { TokenCode } from '../../core/money/tokens.ts'
import type { RateQuery } from '../../core/ports/journal.ts'

/** One feed, or all of a use: those whose names begin so. */
export type RateScope = { readonly feed: string } | { readonly use: string }

/** What a store is asked: an entry with a rate for all of these tokens. */
export interface RateSteps<Found> {
  /** The latest one up to a time. */
  last(scope: RateScope, time: number, tokens: readonly TokenCode[]): Found
  /** The first one after it. */
  next(scope: RateScope, time: number, tokens: readonly TokenCode[]): Found
}

/** Asks for no more than is needed. Each question is awaited where it is put. */
export function* chooseRates<Found>(
  { last, next }: RateSteps<Found>,
  { feed, time, tokens }: RateQuery,
): Generator<Found, JournaledRates | undefined, JournaledRates | undefined> {
  const own = yield last({ feed }, time, [])
  if (own && hasRates(own.table, tokens)) return own
  if (own) return (yield next({ feed }, time, tokens)) ?? own
  const all = { use: feed.slice(0, feed.indexOf('/') + 1) }
  return (yield last(all, time, tokens)) ?? (yield next(all, time, tokens)) ?? (yield next({ feed }, time, []))
}

/** As the databases keep it. */
export interface RateRow {
  readonly feed: string
  readonly at: number | bigint | string
  readonly source: string
  readonly usdc: string | null
  readonly native: string | null
  readonly sol: string | null
}

export function readRates({ feed, at, source, usdc, native, sol }: RateRow): JournaledRates {
  const rates = Object.entries({ USDC: usdc, NATIVE: native, SOL: sol }).filter(([, rate]) => rate !== null)
  return { feed, at: Number(at), source, table: Object.fromEntries(rates) }
}

export function nameScope(scope: RateScope): string {
  return 'feed' in scope ? scope.feed : scope.use
}

export function rateValues({ USDC, NATIVE, SOL }: RateTable): readonly (string | null)[] {
  return [USDC, NATIVE, SOL].map((rate) => rate ?? null)
}

/** The statements, which the two databases spell alike: values are named by `place`. */
export function rateStatements(table: string, place: (number: number) => string) {
  const [first, second] = [place(1), `CAST(${place(2)} AS bigint)`]
  const text = (number: number): string => `CAST(${place(number)} AS text)`
  const columns = 'feed, at, source, usdc, native, sol'
  const isSame = ['usdc', 'native', 'sol']
    .map((name, index) => `last.${name} IS NOT DISTINCT FROM ${text(index + 4)}`)
    .join(' AND ')
  const select = (scope: RateScope, tokens: readonly TokenCode[]): string => {
    const isIn = 'feed' in scope ? `feed = ${first}` : `substr(feed, 1, length(${text(1)})) = ${text(1)}`
    const isComplete = tokens.map((token) => ` AND ${token.toLowerCase()} IS NOT NULL`).join('')
    return `SELECT ${columns} FROM ${table} WHERE ${isIn}${isComplete}`
  }
  const last = (scope: RateScope, tokens: readonly TokenCode[]): string =>
    `${select(scope, tokens)} AND at <= ${second} ORDER BY at DESC, feed LIMIT 1`
  return {
    last,
    next: (scope: RateScope, tokens: readonly TokenCode[]): string =>
      `${select(scope, tokens)} AND at > ${second} ORDER BY at, feed LIMIT 1`,
    /** Feed, time, source and the three rates. Of two changes within a millisecond the last one stays. */
    note: `INSERT INTO ${table} (${columns}) SELECT ${text(1)}, ${second}, ${[3, 4, 5, 6].map(text).join(', ')}
      WHERE NOT EXISTS (SELECT 1 FROM (${last({ feed: '' }, [])}) AS last WHERE ${isSame})
      ON CONFLICT (feed, at) DO UPDATE SET source = excluded.source, usdc = excluded.usdc, native = excluded.native,
        sol = excluded.sol`,
    /** What was in force at the time itself stays. */
    forget: `DELETE FROM ${table} AS old WHERE at < ${first} AND EXISTS (SELECT 1 FROM ${table} AS next
      WHERE next.feed = old.feed AND next.at > old.at AND next.at <= ${first})`,
  }
}
