/** The shelf in the ledger's SQLite file. */
import type { KeyValueStore } from '../../core/ports/kv.ts'
import type { Clock } from '../../core/runtime.ts'
import { clearedAtOnce } from '../rules/events.ts'
import { readTime } from '../rules/grants.ts'
import { formatText, parseText } from '../stored-text.ts'
import type { SqliteFile } from './file.ts'

interface Row {
  readonly name: string
  readonly value: string
  readonly until: number
}

export function createSqliteKeyValueStore({ db, read, write }: SqliteFile, clock: Clock): KeyValueStore {
  const put = db.prepare(`
    INSERT INTO shelf (name, value, until) VALUES (?, ?, ?)
    ON CONFLICT (name) DO UPDATE SET value = excluded.value, until = excluded.until WHERE shelf.until <= ?`)
  const clear = db.prepare(`
    DELETE FROM shelf WHERE name IN (SELECT name FROM shelf WHERE until <= ? ORDER BY until LIMIT ${clearedAtOnce})`)
  const get = db.prepare('SELECT value FROM shelf WHERE name = ? AND until > ?')
  const remove = db.prepare('DELETE FROM shelf WHERE name = ? AND until > ?')
  const list = db.prepare(`
    SELECT name, value, until FROM shelf WHERE name >= ?1 AND name < ?1 || char(0x10ffff) AND until > ?2 ORDER BY name`)

  return {
    put: (name, value, until) =>
      write(() => {
        const now = readTime(clock)
        clear.run(now)
        return Number(put.run(formatText(name), formatText(value), Math.ceil(until), now).changes) > 0
      }),
    get: (name) =>
      read(() => {
        const row = get.get(formatText(name), readTime(clock)) as Pick<Row, 'value'> | undefined
        return row && parseText(row.value)
      }),
    remove: (name) => write(() => Number(remove.run(formatText(name), readTime(clock)).changes) > 0),
    list: (prefix) =>
      read(() => {
        const rows = list.all(formatText(prefix), readTime(clock)) as unknown as Row[]
        return rows.map(({ name, value, until }) => ({ name: parseText(name), value: parseText(value), until }))
      }),
  }
}
