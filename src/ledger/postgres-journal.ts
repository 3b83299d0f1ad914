/** The journal in the ledger's PostgreSQL database: what was seen on chain, up to where, and what is not final yet. */
import type { TokenCode } from '../core/network.ts'
import type { Journal, Sighting } from '../core/ports.ts'
import type { Database } from './postgres-database.ts'
import { hexOf } from './postgres-rows.ts'

const columns = 'tx, recipient, request, payer, token, received, slot, paid_at'
// In the order of their keys, as everywhere: two servers that note the same payments would wait for each other for ever.
const sight = `INSERT INTO paystile_sightings (${columns})
  SELECT ${columns} FROM unnest($1::bytea[], $2::text[], $3::text[], $4::text[], $5::text[], $6::numeric[], $7::bigint[],
    $8::bigint[]) AS given (${columns}) ORDER BY tx
  ON CONFLICT (tx) DO NOTHING RETURNING tx`
const setMark = `INSERT INTO paystile_marks (address, signature, slot) VALUES ($1, $2, $3)
  ON CONFLICT (address) DO UPDATE SET signature = excluded.signature, slot = excluded.slot
  WHERE excluded.slot >= paystile_marks.slot`
const unclaimed = `SELECT ${columns} FROM paystile_sightings AS seen
  WHERE NOT EXISTS (SELECT 1 FROM paystile_payments AS paid WHERE paid.tx = seen.tx AND NOT paid.late)
  ORDER BY slot DESC LIMIT $1`
const unfinal = `SELECT tx, slot FROM paystile_payments 
  WHERE finality = 'confirmed' AND slot >= $2 ORDER BY slot LIMIT $1`
// A new version, so that nobody writes back the row as it was.
const conclude = `WITH held AS (
    SELECT tx FROM paystile_payments WHERE tx = ANY ($1::bytea[]) AND finality = 'confirmed' ORDER BY tx FOR UPDATE)
  UPDATE paystile_payments AS kept SET finality = given.finality, version = version + 1
  FROM unnest($1::bytea[], $2::text[]) AS given (tx, finality), held
  WHERE kept.tx = given.tx AND held.tx = given.tx RETURNING kept.tx`
const exposure = `SELECT recipient, payer, token, sum(received) AS units FROM paystile_payments
  WHERE finality = 'confirmed' AND NOT late GROUP BY recipient, payer, token`

interface SightingRow {
  readonly tx: Uint8Array
  readonly recipient: string
  readonly request: string
  readonly payer: string
  readonly token: TokenCode
  readonly received: string
  readonly slot: string
  readonly paid_at: string
}

export function createPostgresJournal(database: Database): Journal {
  const touched = (rows: readonly unknown[]): ReadonlySet<string> =>
    new Set((rows as readonly { readonly tx: Uint8Array }[]).map(({ tx }) => hexOf(tx)))

  return {
    async mark(address) {
      const [row] = await database.query('SELECT signature, slot FROM paystile_marks WHERE address = $1', [address])
      return row && { signature: String(row['signature']), slot: Number(row['slot']) }
    },
    async sight(sightings, read) {
      return database.transact(async (query) => {
        const fresh = sightings.length === 0 ? new Set() : touched(await query(sight, listsOf(sightings)))
        if (read) await query(setMark, [read.address, read.mark.signature, read.mark.slot])
        return sightings.filter(({ tx }) => fresh.has(hexOf(tx)))
      })
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
      const keys = conclusions.map(({ tx }) => hexOf(tx))
      const changed = touched(await database.query(conclude, [keys, conclusions.map(({ finality }) => finality)]))
      return conclusions.filter(({ tx }) => changed.has(hexOf(tx)))
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

/** Column by column, in the order of `columns`. */
function listsOf(sightings: readonly Sighting[]): readonly (readonly unknown[])[] {
  return [
    sightings.map(({ tx }) => hexOf(tx)),
    sightings.map(({ recipient }) => recipient),
    sightings.map(({ request }) => request),
    sightings.map(({ payer }) => payer),
    sightings.map(({ token }) => token),
    sightings.map(({ received }) => String(received)),
    sightings.map(({ slot }) => slot),
    sightings.map(({ paidAt }) => paidAt),
  ]
}

function readSighting({ tx, received, slot, paid_at, ...row }: SightingRow): Sighting {
  return { ...row, tx: new Uint8Array(tx), received: BigInt(received), slot: Number(slot), paidAt: Number(paid_at) }
}
