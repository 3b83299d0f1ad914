/** The journal in the ledger's SQLite file: what was seen on chain, up to where, and what is not final yet. */
import type { TokenCode } from '../core/network.ts'
import type { Clock, Conclusion, Journal, Sighting } from '../core/ports.ts'
import { timeOf } from './account.ts'
import type { Change } from './rollup.ts'
import { changesBetween } from './rollup.ts'
import type { SightingRow } from './sightings.ts'
import { mostUnproven, readSighting, sightingColumns } from './sightings.ts'
import type { SqliteFile } from './sqlite-file.ts'
import { prepareTelling } from './sqlite-notices.ts'
import type { BookedRow } from './sqlite-rows.ts'
import { readBooked } from './sqlite-rows.ts'
import { formatText } from './stored-text.ts'

export function createSqliteJournal({ db, read, write }: SqliteFile, clock: Clock): Journal {
  const tell = prepareTelling(db)
  const mark = db.prepare('SELECT signature, slot FROM marks WHERE address = ?')
  const setMark = db.prepare(`
    INSERT INTO marks (address, signature, slot) VALUES (?, ?, ?)
    ON CONFLICT (address) DO UPDATE SET signature = excluded.signature, slot = excluded.slot
    WHERE excluded.slot >= marks.slot`)
  // What a node has shown takes the place of what only a proof has named.
  const sight = db.prepare(`
    INSERT INTO sightings (${sightingColumns}, open) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?,
      coalesce((SELECT CASE state WHEN 'late' THEN 2 ELSE 0 END FROM payments WHERE tx = ?), 1))
    ON CONFLICT (tx) DO UPDATE SET recipient = excluded.recipient, request = excluded.request, payer = excluded.payer,
      token = excluded.token, received = excluded.received, slot = excluded.slot, paid_at = excluded.paid_at,
      endpoint = excluded.endpoint, claimable_until = excluded.claimable_until, open = excluded.open, told = 0
    WHERE sightings.slot = 0 AND excluded.slot > 0`)
  const dropOldest = db.prepare(`
    DELETE FROM sightings WHERE tx IN
      (SELECT tx FROM sightings WHERE slot = 0 ORDER BY paid_at DESC, tx DESC LIMIT -1 OFFSET ${mostUnproven})`)
  const unclaimed = db.prepare(`
    SELECT ${sightingColumns} FROM sightings WHERE open > 0 AND slot > 0 ORDER BY slot DESC LIMIT ?`)
  const unfinal = db.prepare(`
    SELECT tx, slot FROM payments WHERE finality = 'confirmed' AND slot >= ? ORDER BY slot LIMIT ?`)
  const confirmed = db.prepare(`
    SELECT id, paid_at, endpoint, token, received, worth, state, finality FROM payments
    WHERE tx = ? AND finality = 'confirmed'`)
  confirmed.setReadBigInts(true)
  const setFinality = db.prepare('UPDATE payments SET finality = ? WHERE id = ?')
  const exposed = db.prepare(`
    SELECT recipient, payer, token, received FROM payments WHERE finality = 'confirmed' AND state = 'valid'`)

  const note = (sighting: Sighting): boolean => {
    const { tx, recipient, request, payer, token, received, slot, paidAt, endpoint, claimableUntil } = sighting
    const facts = [tx, recipient, request, payer, token, String(received), slot, paidAt] as const
    return Number(sight.run(...facts, formatText(endpoint), claimableUntil, tx).changes) > 0
  }
  /** What it changes in the books; undefined when the payment is not open. */
  const conclude = ({ tx, finality }: Conclusion): readonly Change[] | undefined => {
    const row = confirmed.get(tx) as (BookedRow & { readonly id: bigint }) | undefined
    if (!row) return undefined
    setFinality.run(finality, row.id)
    tell([`payment.${finality}`], tx, timeOf(clock))
    const before = readBooked(row)
    return changesBetween(before, { ...before, finality })
  }

  return {
    mark: (address) =>
      read(() => mark.get(address) as { readonly signature: string; readonly slot: number } | undefined),
    sight: (sightings, done) =>
      write(() => {
        const fresh = sightings.filter(note)
        if (fresh.some(({ slot }) => slot === 0)) dropOldest.run()
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
