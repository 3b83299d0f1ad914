/** Records observed payments, all in one statement. */
import type { Sighting } from '../../core/ports/journal.ts'
import { oldColumns, replacing, seenColumns, sightingColumns } from '../rules/observations.ts'
import { sightingFields } from '../sql/sighting-fields.ts'
import { all, raw, sql, type Work } from '../sql/work.ts'
import { formatHex } from './payments-and-grants.ts'
import { createTable } from './values-table.ts'

// In the order of their keys, as everywhere, so that two servers that record the same payments cannot deadlock.
const noted = raw(`INSERT INTO {sightings} AS kept (${seenColumns}) SELECT ${oldColumns}, seen_at FROM given ORDER BY tx
  ON CONFLICT (tx) DO UPDATE SET ${replacing(seenColumns)} WHERE kept.slot = 0 AND excluded.slot > 0 RETURNING tx`)
const opened = raw(`INSERT INTO {unclaimed} (${sightingColumns}, late, told)
  SELECT ${sightingColumns.replaceAll(/\w+/g, 'given.$&')}, paid.tx IS NOT NULL, false
  FROM given JOIN noted ON noted.tx = given.tx LEFT JOIN {payments} AS paid ON paid.tx = given.tx
  WHERE paid.tx IS NULL OR paid.late ORDER BY given.tx
  ON CONFLICT (tx) DO UPDATE SET ${replacing(sightingColumns)}, told = false`)

export function* noteSightings(sightings: readonly Sighting[], now: number): Work<readonly Sighting[]> {
  const given = createTable(sightings, sightingFields)
  const rows = yield* all<{
    readonly tx: Uint8Array
  }>(sql`WITH given AS (SELECT *, CAST(${now} AS bigint) AS seen_at FROM ${given}),
    noted AS (${noted}), opened AS (${opened}) SELECT tx FROM noted`)
  const fresh = new Set(rows.map(({ tx }) => formatHex(tx)))
  return sightings.filter(({ tx }) => fresh.has(formatHex(tx)))
}
