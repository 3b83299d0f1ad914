// The PostgreSQL server of a run. It ends with this process, which ends with the run.
import { startPostgres } from '../../tests/harness/postgres.mjs'

/** @param {{ flags: readonly string[] }} options */
export async function open({ flags }) {
  const postgres = await startPostgres(flags)
  return { facts: {}, answers: { place: () => postgres.place() }, close: () => postgres.close() }
}
