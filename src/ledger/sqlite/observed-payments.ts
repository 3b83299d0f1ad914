/**
 * Records observed payments one by one. Tables of values would take SQLite twice the time, and every payment passes
 * here.
 */
import type { Sighting } from '../../core/ports/journal.ts'
import { replacing, seenColumns, sightingColumns } from '../rules/observations.ts'
import { sightingFields } from '../sql/sighting-fields.ts'
import { isAny, type Work } from '../sql/work.ts'

const note = `INSERT INTO sightings (${seenColumns}) VALUES (${seenColumns.replaceAll(/\w+/g, '?')})
  ON CONFLICT (tx) DO UPDATE SET ${replacing(seenColumns)} WHERE sightings.slot = 0 AND excluded.slot > 0 RETURNING 1`
const open = `INSERT INTO unclaimed (${sightingColumns}, late, told) SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12,
    paid.tx IS NOT NULL, 0
  FROM (SELECT 1) LEFT JOIN payments AS paid ON paid.tx = ?1 WHERE paid.tx IS NULL OR paid.state = 'late'
  ON CONFLICT (tx) DO UPDATE SET ${replacing(sightingColumns)}, told = 0`
const fields = Object.values(sightingFields)
const seenFields = seenColumns.split(', ').length - 1

export function* noteSightings(sightings: readonly Sighting[], now: number): Work<readonly Sighting[]> {
  const fresh: Sighting[] = []
  for (const sighting of sightings) {
    const values = fields.map(([, read]) => read(sighting))
    if (!(yield* isAny({ sql: note, values: [...values.slice(0, seenFields), now] }))) continue
    yield { sql: open, values }
    fresh.push(sighting)
  }
  return fresh
}
