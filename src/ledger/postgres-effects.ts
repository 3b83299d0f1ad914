/**
 * What follows from payments that were written, as parts of the very statement that writes them: a sighting is not open any
 * more, the books change, somebody is to be told. Only for those that were really written, and all of it or nothing.
 *
 * Nobody waits for each other in a circle: every transaction takes payments first, then sightings, then lines of the books,
 * each in one order for all servers. A sighting that is noted at the same time takes sightings only. Servers mostly add to
 * lines of their own (`lane`), so that few ever wait.
 */
import type { NoticeKind } from '../core/ports.ts'
import type { Change, LineKey } from './rollup.ts'
import { nameOf } from './rollup.ts'
import { formatText } from './stored-text.ts'

export interface Effect {
  readonly changes: readonly Change[]
  readonly notices: readonly NoticeKind[]
  readonly at: number
}

/** The types of the values that `effectValues` gives, in their order. */
const types = [
  ...['bigint[]', 'text[]', 'bigint[]', 'numeric[]', 'numeric[]', 'bigint[]'],
  ...['text[]', 'bigint[]', 'text[]', 'text[]'],
  ...['smallint', 'text[]', 'bigint[]'],
] as const

export const lanes = 8

export const addToKept = `ON CONFLICT (grain, at, endpoint, token, lane) DO UPDATE SET
  payments = kept.payments + excluded.payments, received = kept.received + excluded.received,
  worth = kept.worth + excluded.worth, unvalued = kept.unvalued + excluded.unvalued`

/**
 * Wraps a statement that writes payments and returns their `tx` and `late`. $1 are the transactions; the values of the
 * effects begin with `first`.
 */
export function withEffects(statement: string, first: number): string {
  const $ = (index: number) => `$${first + index}::${types[index]}`
  return `WITH written AS (${statement}),
    numbered AS (SELECT tx, number FROM unnest($1::bytea[]) WITH ORDINALITY AS asked (tx, number) JOIN written USING (tx)),
    held AS (SELECT seen.tx, written.late FROM paystile_sightings AS seen JOIN written ON written.tx = seen.tx
      WHERE seen.open > 0 ORDER BY seen.tx FOR UPDATE OF seen),
    claimed AS (UPDATE paystile_sightings AS seen SET open = CASE WHEN held.late THEN 2 ELSE 0 END
      FROM held WHERE seen.tx = held.tx RETURNING seen.tx),
    sums AS (SELECT line, sum(payments) AS payments, sum(received) AS received, sum(worth) AS worth, sum(unvalued) AS unvalued
      FROM unnest(${[0, 1, 2, 3, 4, 5].map($).join()}) AS part (number, lines, payments, received, worth, unvalued)
      JOIN numbered USING (number) CROSS JOIN LATERAL unnest(part.lines::bigint[]) AS one (line) GROUP BY line),
    entered AS (INSERT INTO paystile_rollups AS kept
        (grain, at, endpoint, token, lane, payments, received, worth, unvalued)
      SELECT grain, at, endpoint, token, ${$(10)}, payments, received, worth, unvalued
      FROM unnest(${[6, 7, 8, 9].map($).join()}) WITH ORDINALITY AS key (grain, at, endpoint, token, line)
      JOIN sums USING (line) WHERE (SELECT count(*) FROM claimed) >= 0 ORDER BY line
      ${addToKept}),
    noticed AS (INSERT INTO paystile_notices (id, kind, tx, at, due)
      SELECT ${noticeId}, kind, tx, at, at
      FROM unnest(${[11, 12].map($).join()}) WITH ORDINALITY AS tell (kinds, at, number)
      JOIN numbered USING (number) CROSS JOIN LATERAL unnest(string_to_array(kinds, ' ')) AS one (kind)
      WHERE ${isListening})
  SELECT tx FROM written`
}

export const noticeId = "'msg_' || replace(gen_random_uuid()::text, '-', '')"
/** Somebody has asked to be told, on whichever server. */
const isListening = "EXISTS (SELECT FROM paystile_meta WHERE key = 'notices')"

/**
 * That nothing is registered of what was `seen`, or nothing but a late payment. Who registers a payment at the very moment when
 * it is noted does not see the sighting, nor does the sighting see the payment: so nobody goes by `open` alone.
 */
export const isUnclaimed = (orLate: boolean): string =>
  `(SELECT true FROM paystile_payments AS paid WHERE paid.tx = seen.tx${orLate ? ' AND NOT paid.late' : ''}) IS NULL`

/** $1 are transactions, $2 what is told of each, $3 the time. */
export const writeNotices = `INSERT INTO paystile_notices (id, kind, tx, at, due)
  SELECT ${noticeId}, kind, tx, $3, $3 FROM unnest($1::bytea[], $2::text[]) AS given (tx, kind) WHERE ${isListening}`

/** In the order of the payments that are written. */
export function effectValues(effects: readonly Effect[], lane: number): readonly unknown[] {
  const { keys, numbers } = numberedKeys(effects.flatMap(({ changes }) => changes))
  const parts = effects.flatMap(({ changes }, index) => changes.map((change) => ({ ...change, number: index + 1 })))
  return [
    parts.map(({ number }) => number),
    parts.map((part) => `{${part.keys.map((key) => numbers.get(nameOf(key))).join()}}`),
    parts.map(({ counts }) => counts.payments),
    parts.map(({ counts }) => String(counts.received)),
    parts.map(({ counts }) => String(counts.worth)),
    parts.map(({ counts }) => counts.unvalued),
    ...keyValues(keys),
    lane,
    effects.map(({ notices }) => notices.join(' ')),
    effects.map(({ at }) => at),
  ]
}

/** Column by column. */
export function keyValues(keys: readonly LineKey[]): readonly (readonly unknown[])[] {
  return [
    keys.map(({ grain }) => grain),
    keys.map(({ at }) => at),
    keys.map(({ endpoint }) => formatText(endpoint)),
    keys.map(({ token }) => token),
  ]
}

/** Each line once, in the one order, with its number. */
function numberedKeys(changes: readonly Change[]) {
  const named = new Map(changes.flatMap(({ keys }) => keys.map((key) => [nameOf(key), key] as const)))
  const ordered = [...named].sort(([one], [other]) => (one < other ? -1 : 1))
  return {
    keys: ordered.map(([, key]) => key),
    numbers: new Map(ordered.map(([name], index) => [name, index + 1])),
  }
}
