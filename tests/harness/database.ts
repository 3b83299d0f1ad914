/** The PostgreSQL server of this run, which `tests/setup/postgres.ts` started. */
import pg from 'pg'
import { inject } from 'vitest'
import { templateDatabase } from '../setup/postgres.ts'
import { connectPostgres, type PostgresPlaces } from './postgres.mjs'

export function postgresServer(): PostgresPlaces {
  return connectPostgres(inject('postgres'))
}

interface EmptyLedger {
  readonly url: string
  /** Call it when no connection to the ledger is needed any more. */
  giveBack(): Promise<void>
}

/** Databases of this worker that the next tests use again: a new one costs four times as much as to empty one. */
const unused: EmptyLedger[] = []

/** A database with the tables of a ledger and without rows, so that any service may make it its own. */
export async function borrowEmptyLedger(): Promise<EmptyLedger> {
  return unused.pop() ?? createEmptyLedger()
}

async function createEmptyLedger(): Promise<EmptyLedger> {
  const { url } = await postgresServer().copy(templateDatabase)
  // One connection, which does not keep the worker alive, and which the server may end.
  const owner = new pg.Pool({ connectionString: url, max: 1, idleTimeoutMillis: 0, allowExitOnIdle: true })
  owner.on('error', () => {})
  const ledger: EmptyLedger = {
    url,
    giveBack: async () => {
      await owner.query(removeRows)
      unused.push(ledger)
    },
  }
  return ledger
}

/** Ends the connections that a test left open first, because they could still write. */
const removeRows = `DO $$
  DECLARE name text;
  BEGIN
    PERFORM pg_terminate_backend(pid, 5000) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid();
    SET LOCAL session_replication_role = replica;
    FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'paystile_meta' LOOP
      EXECUTE format('DELETE FROM %I', name);
    END LOOP;
    DELETE FROM paystile_meta WHERE key <> 'schema';
  END $$`
