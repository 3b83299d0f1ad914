/** The shelf in the ledger's PostgreSQL database. */
import type { KeyValueStore } from '../../core/ports/kv.ts'
import type { Clock } from '../../core/runtime.ts'
import { clearedAtOnce } from '../rules/events.ts'
import { readTime } from '../rules/grants.ts'
import { formatText, parseText } from '../stored-text.ts'
import type { Database } from './database.ts'

const put = `INSERT INTO paystile_shelf AS kept (name, value, until) VALUES ($1, $2, $3)
  ON CONFLICT (name) DO UPDATE SET value = excluded.value, until = excluded.until WHERE kept.until <= $4 RETURNING name`
// What another server clears away at this moment is left to it.
const clear = `DELETE FROM paystile_shelf WHERE name IN (
  SELECT name FROM paystile_shelf WHERE until <= $1 ORDER BY until LIMIT ${clearedAtOnce} FOR UPDATE SKIP LOCKED)`
const get = 'SELECT value FROM paystile_shelf WHERE name = $1 AND until > $2'
const remove = 'DELETE FROM paystile_shelf WHERE name = $1 AND until > $2 RETURNING name'
const list = `SELECT name, value, until FROM paystile_shelf
  WHERE name >= $1 AND name < $1 || chr(1114111) AND until > $2 ORDER BY name`

export function createPostgresKeyValueStore(database: Database, clock: Clock): KeyValueStore {
  return {
    async put(name, value, until) {
      const now = readTime(clock)
      await database.query(clear, [now])
      const rows = await database.query(put, [formatText(name), formatText(value), Math.ceil(until), now])
      return rows.length > 0
    },
    async get(name) {
      const [row] = await database.query(get, [formatText(name), readTime(clock)])
      return row && parseText(String(row['value']))
    },
    async remove(name) {
      return (await database.query(remove, [formatText(name), readTime(clock)])).length > 0
    },
    async list(prefix) {
      const rows = await database.query(list, [formatText(prefix), readTime(clock)])
      return rows.map((row) => ({
        name: parseText(String(row['name'])),
        value: parseText(String(row['value'])),
        until: Number(row['until']),
      }))
    },
  }
}
