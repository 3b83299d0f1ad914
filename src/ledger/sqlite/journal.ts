/** The journal in the ledger's SQLite file: what was seen on chain, up to where, and what is not final yet. */
import type { TokenCode } from '../../core/money/tokens.ts'
import type { Conclusion, Journal, Sighting } from '../../core/ports/journal.ts'
import type { Clock } from '../../core/runtime.ts'
import { readTime } from '../rules/grants.ts'
import type { SightingRow } from '../rules/observations.ts'
import { mostUnproven, readSighting, replacing, seenColumns, sightingColumns } from '../rules/observations.ts'
import type { TotalsChange } from '../rules/totals.ts'
import { changesBetween } from '../rules/totals.ts'
import { formatText } from '../stored-text.ts'
import { prepareTelling } from './events.ts'
import type { SqliteFile } from './file.ts'
import { prepareRipening } from './rewards.ts'
import type { BookedRow } from './rows.ts'
import { bookedColumns, readBooked } from './rows.ts'

export function createSqliteJournal({ db, read, write }: SqliteFile, clock: Clock): Journal {
  const tell = prepareTelling(db)
  const ripen = prepareRipening(db)
  const mark = db.prepare('SELECT signature, slot FROM marks WHERE address = ?')
  const setMark = db.prepare(`
    INSERT INTO marks (address, signature, slot) VALUES (?, ?, ?)
    ON CONFLICT (address) DO UPDATE SET signature = excluded.signature, slot = excluded.slot
    WHERE excluded.slot >= marks.slot`)
  const sight = db.prepare(`
    INSERT INTO sightings (${seenColumns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (tx) DO UPDATE SET ${replacing(seenColumns)} WHERE sightings.slot = 0 AND excluded.slot > 0`)
  const open = db.prepare(`
    INSERT INTO unclaimed (${sightingColumns}, late, told) SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12,
      paid.tx IS NOT NULL, 0
    FROM (SELECT 1) LEFT JOIN payments AS paid ON paid.tx = ?1 WHERE paid.tx IS NULL OR paid.state = 'late'
    ON CONFLICT (tx) DO UPDATE SET ${replacing(sightingColumns)}, told = 0`)
  const oldest = db.prepare(`
    SELECT tx FROM unclaimed WHERE slot = 0 ORDER BY paid_at DESC, tx DESC LIMIT -1 OFFSET ${mostUnproven}`)
  const forget = ['sightings', 'unclaimed'].map((table) => db.prepare(`DELETE FROM ${table} WHERE tx = ?`))
  const unclaimed = db.prepare(`
    SELECT ${sightingColumns} FROM unclaimed WHERE slot > 0 ORDER BY slot DESC LIMIT ?`)
  const unfinal = db.prepare(`
    SELECT tx, slot FROM payments WHERE finality = 'confirmed' AND slot >= ? ORDER BY slot LIMIT ?`)
  const confirmed = db.prepare(`
    SELECT id, ${bookedColumns} FROM payments
    WHERE tx = ? AND finality = 'confirmed'`)
  confirmed.setReadBigInts(true)
  // As `concluded` has it.
  const setFinality = db.prepare(`
    UPDATE payments SET finality = ?1, concluded_at = ?2, undelivered_at = CASE WHEN ?1 = 'finalized' AND state = 'valid'
      AND unit <> 'second' AND used = 0 AND deliveries = 0 AND positions = '' THEN coalesce(undelivered_at, ?2) END
    WHERE id = ?3`)
  const exposed = db.prepare(`
    SELECT recipient, payer, token, received FROM payments WHERE finality = 'confirmed' AND state = 'valid'`)

  const note = (sighting: Sighting): boolean => {
    const { tx, recipient, request, payer, token, received, slot, paidAt, endpoint, claimableUntil } = sighting
    const { required, payableUntil } = sighting
    const facts = [tx, recipient, request, payer, token, String(received), slot, paidAt] as const
    if (Number(sight.run(...facts, readTime(clock)).changes) === 0) return false
    const asked = required === undefined ? null : String(required)
    open.run(...facts, formatText(endpoint), claimableUntil, asked, payableUntil)
    return true
  }
  const forgetOldest = (): void => {
    const rows = oldest.all() as unknown as { readonly tx: Uint8Array }[]
    for (const { tx } of rows) for (const statement of forget) statement.run(tx)
  }
  /** What it changes in the books; undefined when the payment is not open. */
  const conclude = ({ tx, finality }: Conclusion): readonly TotalsChange[] | undefined => {
    const row = confirmed.get(tx) as (BookedRow & { readonly id: bigint }) | undefined
    if (!row) return undefined
    const now = readTime(clock)
    setFinality.run(finality, now, row.id)
    tell([`payment.${finality}`], tx, now)
    const before = readBooked(row)
    if (finality === 'finalized' && !before.late) ripen(tx, before.paidAt)
    return changesBetween(before, { ...before, finality })
  }

  return {
    mark: (address) =>
      read(() => mark.get(address) as { readonly signature: string; readonly slot: number } | undefined),
    sight: (sightings, done) =>
      write(() => {
        const fresh = sightings.filter(note)
        if (fresh.some(({ slot }) => slot === 0)) forgetOldest()
        if (done) setMark.run(done.address, done.mark.signature, done.mark.slot)
        return fresh
      }),
    unclaimed: (most) => read(() => (unclaimed.all(most) as unknown as SightingRow[]).map(readSighting)),
    unfinal: (most, fromSlot = 0) =>
      read(() =>
        (unfinal.all(fromSlot, most) as unknown as { readonly tx: Uint8Array; readonly slot: number }[]).map(
          ({ tx, slot }) => ({
            tx: new Uint8Array(tx),
            slot,
          }),
        ),
      ),
    conclude: (conclusions) =>
      write((enter) =>
        conclusions.filter((conclusion) => {
          const changes = conclude(conclusion)
          enter(changes ?? [])
          return changes !== undefined
        }),
      ),
    exposure: () =>
      read(() => {
        // Money does not fit SQLite's integers, so it is added up here.
        const sums = new Map<string, bigint>()
        for (const row of exposed.all() as unknown as Record<string, string>[]) {
          const name = JSON.stringify([row['recipient'], row['payer'], row['token']])
          sums.set(name, BigInt(row['received'] ?? 0) + (sums.get(name) ?? 0n))
        }
        return [...sums].map(([name, units]) => {
          const [recipient, payer, token] = JSON.parse(name) as [string, string, TokenCode]
          return { recipient, payer, token, units }
        })
      }),
  }
}
