/** The journal in the ledger's SQLite file: what was seen on chain, up to where, and what is not final yet. */
import type { TokenCode } from '../core/network.ts'
import type { Journal, Sighting } from '../core/ports.ts'
import type { SqliteFile } from './sqlite-file.ts'

interface SightingRow {
  readonly tx: Uint8Array
  readonly recipient: string
  readonly request: string
  readonly payer: string
  readonly token: TokenCode
  readonly received: string
  readonly slot: number
  readonly paid_at: number
}

export function createSqliteJournal({ db, read, write }: SqliteFile): Journal {
  const mark = db.prepare('SELECT signature, slot FROM marks WHERE address = ?')
  const setMark = db.prepare(`
    INSERT INTO marks (address, signature, slot) VALUES (?, ?, ?)
    ON CONFLICT (address) DO UPDATE SET signature = excluded.signature, slot = excluded.slot
    WHERE excluded.slot >= marks.slot`)
  const sight = db.prepare(`
    INSERT OR IGNORE INTO sightings (tx, recipient, request, payer, token, received, slot, paid_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)`)
  const unclaimed = db.prepare(`
    SELECT tx, recipient, request, payer, token, received, slot, paid_at FROM sightings
    WHERE NOT EXISTS (SELECT 1 FROM payments WHERE payments.tx = sightings.tx AND state = 'valid')
    ORDER BY slot DESC LIMIT ?`)
  const unfinal = db.prepare(`
    SELECT tx, slot FROM payments WHERE finality = 'confirmed' AND slot >= ? ORDER BY slot LIMIT ?`)
  const conclude = db.prepare("UPDATE payments SET finality = ? WHERE tx = ? AND finality = 'confirmed'")
  const exposed = db.prepare(`
    SELECT recipient, payer, token, received FROM payments WHERE finality = 'confirmed' AND state = 'valid'`)

  return {
    mark: (address) =>
      read(() => mark.get(address) as { readonly signature: string; readonly slot: number } | undefined),
    sight: (sightings, done) =>
      write(() => {
        const fresh = sightings.filter(({ tx, recipient, request, payer, token, received, slot, paidAt }) => {
          const { changes } = sight.run(tx, recipient, request, payer, token, String(received), slot, paidAt)
          return Number(changes) > 0
        })
        if (done) setMark.run(done.address, done.mark.signature, done.mark.slot)
        return fresh
      }),
    unclaimed: (most) => read(() => (unclaimed.all(most) as unknown as SightingRow[]).map(readSighting)),
    unfinal: (most, fromSlot = 0) =>
      read(() =>
        (unfinal.all(fromSlot, most) as unknown as Pick<SightingRow, 'tx' | 'slot'>[]).map(({ tx, slot }) => ({
          tx: new Uint8Array(tx),
          slot,
        })),
      ),
    conclude: (conclusions) =>
      write(() => conclusions.filter(({ tx, finality }) => Number(conclude.run(finality, tx).changes) > 0)),
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

function readSighting({ tx, received, paid_at, ...row }: SightingRow): Sighting {
  return { ...row, tx: new Uint8Array(tx), received: BigInt(received), paidAt: paid_at }
}
