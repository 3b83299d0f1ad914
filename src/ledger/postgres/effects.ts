/**
 * What follows from payments that were written, as parts of the very statement that writes them: the books change, somebody
 * is to be told. Only for those that were really written, and all of it or nothing.
 *
 * Nobody waits for each other in a circle: every transaction takes payments first, lines of the books then and those of payers
 * last, each in one order for all servers. Servers mostly add to lines of their own (`lane`), so that few ever wait.
 */
import type { TokenCode } from '../../core/money/tokens.ts'
import type { LedgerEventKind } from '../../core/ports/outbox.ts'
import type { LineKey, TotalsChange } from '../rules/totals.ts'
import { nameLine } from '../rules/totals.ts'
import { formatText } from '../stored-text.ts'

export interface WriteEffect {
  readonly changes: readonly TotalsChange[]
  readonly notices: readonly LedgerEventKind[]
  readonly at: number
  /** The token in which worth was reckoned; nothing is written where the books are kept in another by now. */
  readonly reckonedIn?: TokenCode | undefined
}

/** The types of the values that `effectValues` gives, in their order. */
const types = [
  ...['bigint[]', 'text[]', 'bigint[]', 'numeric[]', 'numeric[]', 'bigint[]'],
  ...['text[]', 'bigint[]', 'text[]', 'text[]'],
  ...['smallint', 'text[]', 'bigint[]'],
] as const

export const lanes = 8

const adding = `DO UPDATE SET
  payments = kept.payments + excluded.payments, received = kept.received + excluded.received,
  worth = kept.worth + excluded.worth, unvalued = kept.unvalued + excluded.unvalued,
  refunded = kept.refunded + excluded.refunded, refunded_worth = kept.refunded_worth + excluded.refunded_worth`
export const addToKept = `ON CONFLICT (grain, at, endpoint, token, lane) ${adding}`
export const addToPayers = `ON CONFLICT (payer, at, token, lane) ${adding}`
/** Lines of this grain are kept apart. */
export const isPayer = "= 'day_payer'"

/**
 * Wraps a statement that writes payments and returns their `tx`. $1 are the transactions; the values of the effects begin
 * with `first`, and when they were paid is the value `paidAt`. The server keeps its plan, and does not know then how many there are of anything: so no table is searched
 * but by its key, and `IN (…) IS TRUE` and subscripts are looked up where a join might compare all with all.
 */
export function withEffects(statement: string, first: number, paidAt: number): string {
  const $ = (index: number) => `$${first + index}::${types[index]}`
  return `WITH written AS (${statement}),
    numbered AS MATERIALIZED (SELECT tx, number FROM unnest($1::bytea[]) WITH ORDINALITY AS asked (tx, number)
      WHERE (tx IN (SELECT tx FROM written)) IS TRUE),
    sums AS (SELECT line, sum(payments) AS payments, sum(received) AS received, sum(worth) AS worth, sum(unvalued) AS unvalued
      FROM unnest(${[0, 1, 2, 3, 4, 5].map($).join()}) AS part (number, lines, payments, received, worth, unvalued)
      CROSS JOIN LATERAL unnest(part.lines::bigint[]) AS one (line)
      WHERE (part.number IN (SELECT number FROM numbered)) IS TRUE GROUP BY line),
    entered AS (INSERT INTO paystile_rollups AS kept
        (grain, at, endpoint, token, lane, payments, received, worth, unvalued)
      SELECT ${[6, 7, 8, 9].map((index) => `(${$(index)})[line]`).join()}, ${$(10)}, payments, received, worth, unvalued
      FROM sums WHERE NOT (${$(6)})[line] ${isPayer} ORDER BY line
      ${addToKept} RETURNING 1),
    remembered AS (INSERT INTO paystile_payers AS kept (at, payer, token, lane, payments, received, worth, unvalued)
      SELECT ${[7, 8, 9].map((index) => `(${$(index)})[line]`).join()}, ${$(10)}, payments, received, worth, unvalued
      FROM sums WHERE (${$(6)})[line] ${isPayer} AND (SELECT count(*) FROM entered) >= 0 ORDER BY line
      ${addToPayers}),
    noticed AS (INSERT INTO paystile_notices (id, kind, tx, at, due)
      SELECT ${noticeId}, kind, tx, (${$(12)})[number], (${$(12)})[number]
      FROM numbered CROSS JOIN LATERAL unnest(string_to_array((${$(11)})[number], ' ')) AS one (kind)
      WHERE ${isListening}),
    ripened AS (INSERT INTO paystile_ripening (tx, paid_at, due) SELECT tx, ($${paidAt}::bigint[])[number], 0
      FROM numbered WHERE ${isSharing} AND 'payment.finalized' = ANY (string_to_array((${$(11)})[number], ' '))
      ON CONFLICT (tx) DO NOTHING)
  SELECT tx FROM written`
}

export const noticeId = "'msg_' || replace(gen_random_uuid()::text, '-', '')"
/** Somebody has asked to be told, on whichever server. */
const isListening = "EXISTS (SELECT FROM paystile_meta WHERE key = 'notices')"

/** What is final is to be shared out. */
const isSharing = "EXISTS (SELECT FROM paystile_meta WHERE key = 'rewards')"

/**
 * That nothing is registered of what was `seen`, or nothing but a late payment. What is unclaimed is cleared away only after
 * the payment was registered, and not at all where it is noted in that very moment: so nobody goes by that table alone.
 */
export const isUnclaimed = (orLate: boolean, seen = 'seen'): string =>
  `(SELECT true FROM paystile_payments AS paid WHERE paid.tx = ${seen}.tx${orLate ? ' AND NOT paid.late' : ''}) IS NULL`

/** In the order of the payments that are written. */
export function effectValues(effects: readonly WriteEffect[], lane: number): readonly unknown[] {
  const lines = new Map<string, { readonly key: LineKey; number: number }>()
  const lineOf = (key: LineKey) => {
    const name = nameLine(key)
    const known = lines.get(name) ?? { key, number: 0 }
    lines.set(name, known)
    return known
  }
  const parts = effects.flatMap(({ changes }, index) =>
    changes.map(({ keys, counts }) => ({ number: index + 1, counts, lines: keys.map(lineOf) })),
  )
  // Each line once, in the one order.
  const ordered = [...lines].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, line]) => line)
  for (const [index, line] of ordered.entries()) line.number = index + 1
  return [
    parts.map(({ number }) => number),
    parts.map((part) => `{${part.lines.map(({ number }) => number).join()}}`),
    parts.map(({ counts }) => counts.payments),
    parts.map(({ counts }) => String(counts.received)),
    parts.map(({ counts }) => String(counts.worth)),
    parts.map(({ counts }) => counts.unvalued),
    ...keyValues(ordered.map(({ key }) => key)),
    lane,
    effects.map(({ notices }) => notices.join(' ')),
    effects.map(({ at }) => at),
  ]
}

/** Column by column. */
function keyValues(keys: readonly LineKey[]): readonly (readonly unknown[])[] {
  return [
    keys.map(({ grain }) => grain),
    keys.map(({ at }) => at),
    keys.map(({ grain, endpoint }) => (grain === 'day_payer' ? endpoint : formatText(endpoint))),
    keys.map(({ token }) => token),
  ]
}
