/**
 * The effects of written payments, as parts of the statement that writes them: changes of the books, events and
 * accruals. They apply only to the payments that were really written, completely or not at all.
 *
 * Locks are taken in one order (payments, lines of the books, lines of payers; each in the order of its keys), so
 * transactions cannot deadlock. Each server mostly adds to its own lane, so waits are rare.
 */
import type { TokenCode } from '../../core/money/tokens.ts'
import type { LedgerEventKind } from '../../core/ports/outbox.ts'
import { type LineKey, nameLine, type TotalsChange } from '../rules/totals.ts'
import { formatText } from '../stored-text.ts'

export interface WriteEffect {
  readonly changes: readonly TotalsChange[]
  readonly notices: readonly LedgerEventKind[]
  readonly at: number
  /** The report token of the value. If the books use another token by now, nothing is written. */
  readonly reckonedIn?: TokenCode | undefined
}

/** The types of the values of `effectValues`, in their order. */
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
/** Lines of this grain have their own table. */
export const isPayer = "= 'day_payer'"

/**
 * Wraps a statement that writes payments and returns their `tx`. $1 contains the transactions. The values of the
 * effects begin at `first`. The payment times are the value `paidAt`. The server keeps the plan without knowing the
 * number of rows. So tables are searched only by their keys, and `IN (…) IS TRUE` and subscripts replace joins that
 * might compare all rows with all.
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
/** Condition: a receiver of events is configured on any server. */
const isListening = "EXISTS (SELECT FROM paystile_meta WHERE key = 'notices')"

/** Condition: rewards are configured, so final payments are queued for accrual. */
const isSharing = "EXISTS (SELECT FROM paystile_meta WHERE key = 'rewards')"

/**
 * Condition: no payment is registered for the `seen` row; with `orLate`, none but a late one. The table of unclaimed
 * payments is cleaned after the registration, and not at all if the payment is observed at the same moment, so it is
 * never read alone.
 */
export const isUnclaimed = (orLate: boolean, seen = 'seen'): string =>
  `(SELECT true FROM paystile_payments AS paid WHERE paid.tx = ${seen}.tx${orLate ? ' AND NOT paid.late' : ''}) IS NULL`

/** In the order of the written payments. */
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
  // Each line once, in the common order of all servers.
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

/** The keys column by column. */
function keyValues(keys: readonly LineKey[]): readonly (readonly unknown[])[] {
  return [
    keys.map(({ grain }) => grain),
    keys.map(({ at }) => at),
    keys.map(({ grain, endpoint }) => (grain === 'day_payer' ? endpoint : formatText(endpoint))),
    keys.map(({ token }) => token),
  ]
}
