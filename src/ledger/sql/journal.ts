/**
 * The journal: payments that were observed on chain, the position up to which the chain was read, and payments that are
 * not final yet.
 */
import type { TokenCode } from '../../core/money/tokens.ts'
import type { Conclusion, Journal } from '../../core/ports/journal.ts'
import type { Clock } from '../../core/runtime.ts'
import { readTime } from '../rules/grants.ts'
import { mostUnproven, readSighting, type SightingRow, sightingColumns } from '../rules/observations.ts'
import { changesBetween, listLines } from '../rules/totals.ts'
import { type BookedRow, bookedColumns, readBooked } from './books/totals.ts'
import { writeEvents } from './events.ts'
import type { Columns, Dialect, SqlStore, Whole, Work } from './work.ts'
import { all, first, formatHex, raw, readMoney, sql } from './work.ts'

const txColumn: Columns<{ readonly tx: Uint8Array }> = { tx: ['bytea', ({ tx }) => tx] }

export function createJournal(store: SqlStore, clock: Clock): Journal {
  const { dialect } = store
  return {
    mark: (address) =>
      store.read(function* () {
        const row = yield* first<{ readonly signature: string; readonly slot: Whole }>(
          sql`SELECT signature, slot FROM {marks} WHERE address = ${address}`,
        )
        return row && { signature: row.signature, slot: Number(row.slot) }
      }),
    async sight(sightings, done) {
      const noted = await store.transact(function* () {
        const fresh = sightings.length === 0 ? [] : yield* dialect.noteSightings(sightings, readTime(clock))
        if (done)
          yield sql`INSERT INTO {marks} AS kept (address, signature, slot)
            VALUES (${done.address}, ${done.mark.signature}, ${done.mark.slot})
            ON CONFLICT (address) DO UPDATE SET signature = excluded.signature, slot = excluded.slot
            WHERE excluded.slot >= kept.slot`
        return fresh
      })
      // In its own transaction, so that it holds no other locks while it waits.
      if (noted.some(({ slot }) => slot === 0)) await store.transact(() => forgetOldest(dialect))
      return noted
    },
    unclaimed: (most) =>
      store.read(function* () {
        const rows = yield* all<SightingRow>(sql`SELECT ${raw(sightingColumns)} FROM {unclaimed} AS seen
          WHERE slot > 0 AND ${dialect.isUnclaimed('seen', true)} ORDER BY slot DESC LIMIT ${most}`)
        return rows.map(readSighting)
      }),
    unfinal: (most, fromSlot = 0) =>
      store.read(function* () {
        const rows = yield* all<Pick<SightingRow, 'tx' | 'slot'>>(sql`SELECT tx, slot FROM {payments}
          WHERE finality = 'confirmed' AND slot >= ${fromSlot} ORDER BY slot LIMIT ${most}`)
        return rows.map(({ tx, slot }) => ({ tx: new Uint8Array(tx), slot: Number(slot) }))
      }),
    conclude: (conclusions) => store.transact(() => conclude(dialect, conclusions, readTime(clock))),
    exposure: () =>
      store.read(function* () {
        type Row = Record<'recipient' | 'payer' | 'units', string> & { readonly token: TokenCode }
        const rows = yield* all<Row>(sql`SELECT recipient, payer, token, ${dialect.total('received')} AS units
          FROM {payments} WHERE finality = 'confirmed' AND NOT (${dialect.late()}) GROUP BY recipient, payer, token`)
        return rows.map(({ recipient, payer, token, units }) => ({ recipient, payer, token, units: readMoney(units) }))
      }),
  }
}

function* forgetOldest({ given, lock }: Dialect): Work<void> {
  const oldest = yield* all<{ readonly tx: Uint8Array }>(sql`SELECT tx FROM {unclaimed} WHERE slot = 0
    ORDER BY paid_at DESC, tx DESC LIMIT 1000000 OFFSET ${raw(String(mostUnproven))}`)
  if (oldest.length === 0) return
  const held = yield* all<{ readonly tx: Uint8Array }>(sql`SELECT tx FROM {sightings}
    WHERE tx IN (SELECT tx FROM ${given(oldest, txColumn)}) AND slot = 0 ORDER BY tx ${lock()}`)
  for (const table of ['{sightings}', '{unclaimed}'])
    yield sql`DELETE FROM ${raw(table)} WHERE tx IN (SELECT tx FROM ${given(held, txColumn)})`
}

function* conclude(dialect: Dialect, conclusions: readonly Conclusion[], now: number): Work<readonly Conclusion[]> {
  if (conclusions.length === 0) return []
  const rows = yield* all<BookedRow>(sql`SELECT ${bookedColumns(dialect)} FROM {payments} AS paid
    WHERE paid.tx IN (SELECT tx FROM ${dialect.given(conclusions, txColumn)}) AND paid.finality = 'confirmed'
    ORDER BY paid.tx ${dialect.lock()}`)
  const held = new Map(rows.map((row) => [formatHex(row.tx), readBooked(row)]))
  const done = conclusions.flatMap((conclusion) => {
    const before = held.get(formatHex(conclusion.tx))
    // Each payment once, even if it is named several times: the first conclusion counts.
    return before && held.delete(formatHex(conclusion.tx)) ? [{ conclusion, before }] : []
  })
  if (done.length === 0) return []
  const fates = dialect.given(done, {
    tx: ['bytea', ({ conclusion }) => conclusion.tx],
    finality: ['text', ({ conclusion }) => conclusion.finality],
  })
  // The condition for undelivered payments is that of `concluded`.
  yield sql`UPDATE {payments} AS kept SET finality = given.finality, concluded_at = ${now}${dialect.nextVersion},
      undelivered_at = CASE WHEN given.finality = 'finalized' AND NOT (${dialect.late()}) AND unit <> 'second' AND used = 0
        AND deliveries = 0 AND positions = '' THEN coalesce(undelivered_at, ${now}) END
    FROM ${fates} WHERE kept.tx = given.tx`
  const changes = done.flatMap(({ conclusion: { finality }, before }) =>
    changesBetween(before, { ...before, finality }),
  )
  yield* dialect.addLines(listLines(changes))
  yield* writeEvents(
    dialect,
    done.map(({ conclusion: { tx, finality } }) => ({ tx, kind: `payment.${finality}` })),
    now,
  )
  const final = done.filter(({ conclusion: { finality }, before }) => finality === 'finalized' && !before.late)
  yield* ripen(
    dialect,
    final.map(({ before }) => before),
  )
  return done.map(({ conclusion }) => conclusion)
}

/** Queues final payments for accrual. */
function* ripen(
  { given }: Dialect,
  payments: readonly { readonly tx: Uint8Array; readonly paidAt: number }[],
): Work<void> {
  if (payments.length === 0) return
  const final = given(payments, { tx: ['bytea', ({ tx }) => tx], paid_at: ['bigint', ({ paidAt }) => paidAt] })
  yield sql`INSERT INTO {ripening} (tx, paid_at, due) SELECT tx, paid_at, 0 FROM ${final}
    WHERE EXISTS (SELECT 1 FROM {meta} WHERE key = 'rewards') ORDER BY tx ON CONFLICT (tx) DO NOTHING`
}
