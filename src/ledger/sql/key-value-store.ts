/** The key-value store of the ledger. */
import type { KeyValueStore } from '../../core/ports/kv.ts'
import type { Clock } from '../../core/runtime.ts'
import { clearedAtOnce } from '../rules/events.ts'
import { readTime } from '../rules/grants.ts'
import { formatText, parseText } from '../stored-text.ts'
import { all, first, isAny, raw, type SqlStore, sql, type Whole } from './work.ts'

interface Row {
  readonly name: string
  readonly value: string
  readonly until: Whole
}

const lastCharacter = String.fromCodePoint(0x10ffff)

export function createKeyValueStore(store: SqlStore, clock: Clock): KeyValueStore {
  const { skipLocked } = store.dialect
  return {
    put: (name, value, until) =>
      store.write(function* () {
        const now = readTime(clock)
        // Skips rows that another server is deleting at the same time.
        yield sql`DELETE FROM {shelf} WHERE name IN (
          SELECT name FROM {shelf} WHERE until <= ${now} ORDER BY until LIMIT ${raw(String(clearedAtOnce))} ${skipLocked})`
        return yield* isAny(sql`INSERT INTO {shelf} AS kept (name, value, until)
          VALUES (${formatText(name)}, ${formatText(value)}, ${Math.ceil(until)})
          ON CONFLICT (name) DO UPDATE SET value = excluded.value, until = excluded.until WHERE kept.until <= ${now}
          RETURNING name`)
      }),
    get: (name) =>
      store.read(function* () {
        const key = formatText(name)
        const row = yield* first<Row>(sql`SELECT value FROM {shelf} WHERE name = ${key} AND until > ${readTime(clock)}`)
        return row && parseText(row.value)
      }),
    remove: (name) =>
      store.write(() => {
        const key = formatText(name)
        return isAny(sql`DELETE FROM {shelf} WHERE name = ${key} AND until > ${readTime(clock)} RETURNING name`)
      }),
    list: (prefix) =>
      store.read(function* () {
        const [from, to] = [formatText(prefix), formatText(prefix) + lastCharacter]
        const rows = yield* all<Row>(sql`SELECT name, value, until FROM {shelf}
          WHERE name >= ${from} AND name < ${to} AND until > ${readTime(clock)} ORDER BY name`)
        return rows.map((row) => ({ name: parseText(row.name), value: parseText(row.value), until: Number(row.until) }))
      }),
  }
}
