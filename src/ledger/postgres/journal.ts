/** The journal in the ledger's PostgreSQL database: what was seen on chain, up to where, and what is not final yet. */
import type { TokenCode } from '../../core/money/tokens.ts'
import type { Conclusion, Journal, Sighting } from '../../core/ports/journal.ts'
import type { LedgerEventKind } from '../../core/ports/outbox.ts'
import type { Clock } from '../../core/runtime.ts'
import { readTime } from '../rules/grants.ts'
import type { SightingRow } from '../rules/observations.ts'
import {
  sightingColumns as columns,
  mostUnproven,
  oldColumns,
  readSighting,
  replacing,
  seenColumns,
} from '../rules/observations.ts'
import { changesBetween, listLines } from '../rules/totals.ts'
import { formatText } from '../stored-text.ts'
import type { Database } from './database.ts'
import { isUnclaimed, ripen, writeEvents } from './effects.ts'
import { formatHex } from './rows.ts'
import type { PostgresBookedRow } from './totals.ts'
import { addLines, bookedColumns, readBooked } from './totals.ts'

// In the order of their keys, as everywhere: two servers that note the same payments would wait for each other for ever.
const sight = `WITH given AS (SELECT * FROM unnest($1::bytea[], $2::text[], $3::text[], $4::text[], $5::text[], $6::numeric[],
    $7::bigint[], $8::bigint[], $9::text[], $10::bigint[], $11::numeric[], $12::bigint[]) AS given (${columns})),
  noted AS (INSERT INTO paystile_sightings AS kept (${seenColumns}) SELECT ${oldColumns}, $13 FROM given ORDER BY tx
    ON CONFLICT (tx) DO UPDATE SET ${replacing(seenColumns)} WHERE kept.slot = 0 AND excluded.slot > 0 RETURNING tx),
  opened AS (INSERT INTO paystile_unclaimed (${columns}, late, told)
    SELECT ${columns.replaceAll(/\w+/g, 'given.$&')}, paid.tx IS NOT NULL, false
    FROM given JOIN noted ON noted.tx = given.tx LEFT JOIN paystile_payments AS paid ON paid.tx = given.tx
    WHERE paid.tx IS NULL OR paid.late ORDER BY given.tx
    ON CONFLICT (tx) DO UPDATE SET ${replacing(columns)}, told = false)
  SELECT tx FROM noted`
// On its own, so that it holds nothing else while it waits.
const forgetOldest = `WITH oldest AS (
    SELECT tx FROM paystile_unclaimed WHERE slot = 0 ORDER BY paid_at DESC, tx DESC OFFSET ${mostUnproven}),
  held AS (SELECT tx FROM paystile_sightings WHERE tx IN (SELECT tx FROM oldest) AND slot = 0 ORDER BY tx FOR UPDATE),
  gone AS (DELETE FROM paystile_sightings AS seen USING held WHERE seen.tx = held.tx RETURNING seen.tx)
  DELETE FROM paystile_unclaimed AS seen USING gone WHERE seen.tx = gone.tx`
const setMark = `INSERT INTO paystile_marks (address, signature, slot) VALUES ($1, $2, $3)
  ON CONFLICT (address) DO UPDATE SET signature = excluded.signature, slot = excluded.slot
  WHERE excluded.slot >= paystile_marks.slot`
const unclaimed = `SELECT ${columns} FROM paystile_unclaimed AS seen
  WHERE slot > 0 AND ${isUnclaimed(true)} ORDER BY slot DESC LIMIT $1`
const unfinal = `SELECT tx, slot FROM paystile_payments 
  WHERE finality = 'confirmed' AND slot >= $2 ORDER BY slot LIMIT $1`
const hold = `SELECT ${bookedColumns} FROM paystile_payments
  WHERE tx = ANY ($1::bytea[]) AND finality = 'confirmed' ORDER BY tx FOR UPDATE`
// A new version, so that nobody writes back the row as it was. What nothing was delivered of is told as `concluded` has it.
const conclude = `UPDATE paystile_payments AS kept SET finality = given.finality, version = version + 1, concluded_at = $3,
    undelivered_at = CASE WHEN given.finality = 'finalized' AND NOT late AND unit <> 'second' AND used = 0
      AND deliveries = 0 AND positions = '' THEN coalesce(undelivered_at, $3) END
  FROM unnest($1::bytea[], $2::text[]) AS given (tx, finality) WHERE kept.tx = given.tx`
const exposure = `SELECT recipient, payer, token, sum(received) AS units FROM paystile_payments
  WHERE finality = 'confirmed' AND NOT late GROUP BY recipient, payer, token`

export function createPostgresJournal(database: Database, clock: Clock, lane: number): Journal {
  const touched = (rows: readonly unknown[]): ReadonlySet<string> =>
    new Set((rows as readonly { readonly tx: Uint8Array }[]).map(({ tx }) => formatHex(tx)))

  return {
    async mark(address) {
      const [row] = await database.query('SELECT signature, slot FROM paystile_marks WHERE address = $1', [address])
      return row && { signature: String(row['signature']), slot: Number(row['slot']) }
    },
    async sight(sightings, read) {
      const noted = await database.transact(async (query) => {
        const fresh =
          sightings.length === 0 ? new Set() : touched(await query(sight, [...listsOf(sightings), readTime(clock)]))
        if (read) await query(setMark, [read.address, read.mark.signature, read.mark.slot])
        return sightings.filter(({ tx }) => fresh.has(formatHex(tx)))
      })
      if (noted.some(({ slot }) => slot === 0)) await database.query(forgetOldest)
      return noted
    },
    async unclaimed(most) {
      return ((await database.query(unclaimed, [most])) as unknown as SightingRow[]).map(readSighting)
    },
    async unfinal(most, fromSlot = 0) {
      const rows = (await database.query(unfinal, [most, fromSlot])) as unknown as SightingRow[]
      return rows.map(({ tx, slot }) => ({ tx: new Uint8Array(tx), slot: Number(slot) }))
    },
    async conclude(conclusions) {
      if (conclusions.length === 0) return []
      return database.transact(async (query) => {
        const rows = (await query(hold, [conclusions.map(({ tx }) => formatHex(tx))])) as unknown as PostgresBookedRow[]
        const held = new Map(rows.map((row) => [formatHex(row.tx), readBooked(row)]))
        // Each once, however often it is named: the first word counts, as everywhere.
        const unended = new Set(held.keys())
        const done = conclusions.filter(({ tx }) => unended.delete(formatHex(tx)))
        if (done.length === 0) return []
        const keys = done.map(({ tx }) => formatHex(tx))
        const now = readTime(clock)
        await query(conclude, [keys, done.map(({ finality }) => finality), now])
        const changes = done.flatMap(({ tx, finality }) => {
          const before = held.get(formatHex(tx))
          return before ? changesBetween(before, { ...before, finality }) : []
        })
        await addLines(query, listLines(changes), lane)
        await query(writeEvents, [keys, done.map(kindOf), now])
        const final = done.flatMap(({ tx, finality }) => {
          const before = held.get(formatHex(tx))
          return before && !before.late && finality === 'finalized' ? [before] : []
        })
        if (final.length > 0)
          await query(ripen, [final.map(({ tx }) => formatHex(tx)), final.map(({ paidAt }) => paidAt)])
        return done
      })
    },
    async exposure() {
      const rows = await database.query(exposure)
      return rows.map((row) => ({
        recipient: String(row['recipient']),
        payer: String(row['payer']),
        token: row['token'] as TokenCode,
        units: BigInt(String(row['units'])),
      }))
    },
  }
}

function kindOf({ finality }: Conclusion): LedgerEventKind {
  return `payment.${finality}`
}

/** Column by column, in the order of `columns`. */
function listsOf(sightings: readonly Sighting[]): readonly (readonly unknown[])[] {
  return [
    sightings.map(({ tx }) => formatHex(tx)),
    sightings.map(({ recipient }) => recipient),
    sightings.map(({ request }) => request),
    sightings.map(({ payer }) => payer),
    sightings.map(({ token }) => token),
    sightings.map(({ received }) => String(received)),
    sightings.map(({ slot }) => slot),
    sightings.map(({ paidAt }) => paidAt),
    sightings.map(({ endpoint }) => formatText(endpoint)),
    sightings.map(({ claimableUntil }) => claimableUntil),
    sightings.map(({ required }) => (required === undefined ? null : String(required))),
    sightings.map(({ payableUntil }) => payableUntil),
  ]
}
