/** Everything the ledger ever committed, kept by triggers in the database itself: no process can forget to tell of it. */
import { DatabaseSync } from '@photostructure/sqlite'
import pg from 'pg'
import { encodeBase58 } from '../../dist/core/encoding/base58.js'

const milliseconds = 'extract(epoch FROM clock_timestamp()) * 1000'
const inPostgres = `
  CREATE TABLE torture_history (id bigserial PRIMARY KEY, at double precision NOT NULL, tx bytea NOT NULL,
    version bigint NOT NULL, fence bigint NOT NULL, used bigint NOT NULL, amount bigint NOT NULL, leases text NOT NULL,
    returned bigint NOT NULL);
  CREATE FUNCTION torture_note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO torture_history (at, tx, version, fence, used, amount, leases, returned)
    VALUES (${milliseconds}, NEW.tx, NEW.version, NEW.fence, NEW.used, NEW.amount, NEW.leases, NEW.returned_slices);
    RETURN NEW;
  END $$;
  CREATE TRIGGER torture_note AFTER INSERT OR UPDATE ON paystile_payments FOR EACH ROW EXECUTE FUNCTION torture_note()`

const note = (payment) => `
  INSERT INTO torture_history (at, tx, fence, used, amount, leases, returned)
  SELECT (julianday('now') - 2440587.5) * 86400000, tx, max(fence, coalesce((SELECT max(fence) FROM grants WHERE payment = id), 0)),
    used, amount, coalesce((SELECT group_concat(fence || ':' || amount || ':' || deadline || ':' || first, ' ')
      FROM grants WHERE payment = id), ''), returned_slices
  FROM payments WHERE id = ${payment};`
const inSqlite = `
  CREATE TABLE torture_history (id INTEGER PRIMARY KEY, at REAL, tx BLOB, version INTEGER, fence INTEGER, used INTEGER,
    amount INTEGER, leases TEXT, returned INTEGER);
  CREATE TRIGGER torture_take AFTER INSERT ON grants BEGIN ${note('NEW.payment')} END;
  CREATE TRIGGER torture_renew AFTER UPDATE ON grants BEGIN ${note('NEW.payment')} END;
  CREATE TRIGGER torture_drop AFTER DELETE ON grants BEGIN ${note('OLD.payment')} END;
  CREATE TRIGGER torture_end AFTER UPDATE ON payments BEGIN ${note('NEW.id')} END`

const read = 'SELECT at, tx, version, fence, used, amount, leases, returned FROM torture_history ORDER BY id'

/** @typedef {{ file?: string, url?: string }} Database */

/**
 * Begins to keep the history, as soon as a server has made the ledger's tables.
 *
 * @param {Database} [database]
 */
export async function keepHistory({ file, url } = {}) {
  for (let time = 0; ; time += 1) {
    try {
      return await withDatabase({ file, url }, (run) => run(file ? inSqlite : inPostgres))
    } catch (error) {
      if (time === 100) throw error
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
}

/**
 * As whom the servers have opened the ledger, to open it as well.
 *
 * @param {Database} [database]
 * @returns {Promise<any>}
 */
export async function readIdentity({ file, url } = {}) {
  const sql = `SELECT key, value FROM ${file ? 'meta' : 'paystile_meta'}`
  const rows = await withDatabase({ file, url }, (run) => run(sql))
  return Object.fromEntries(rows.map(({ key, value }) => [key, value]))
}

/**
 * What became of each payment, by transaction: its row after every change.
 *
 * @param {Database} [database]
 */
export async function readHistory({ file, url } = {}) {
  const history = new Map()
  for (const row of await withDatabase({ file, url }, (run) => run(read))) {
    const tx = encodeBase58(row.tx)
    const state = {
      at: row.at,
      version: row.version === null ? undefined : Number(row.version),
      fence: Number(row.fence),
      used: Number(row.used),
      amount: Number(row.amount),
      leases: parseLeases(row.leases),
      returned: Number(row.returned),
    }
    history.set(tx, [...(history.get(tx) ?? []), state])
  }
  return history
}

function parseLeases(text) {
  const leases = text === '' ? [] : text.split(' ').map((lease) => lease.split(':').map(Number))
  return leases.map(([fence, amount, deadline, from]) => ({ fence, amount, deadline, from }))
}

async function withDatabase({ file, url }, work) {
  if (file) {
    const database = new DatabaseSync(file, { timeout: 5_000 })
    try {
      return await work((sql) => (sql.startsWith('SELECT') ? database.prepare(sql).all() : database.exec(sql)))
    } finally {
      database.close()
    }
  }
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return await work(async (sql) => (await client.query(sql)).rows)
  } finally {
    await client.end()
  }
}
