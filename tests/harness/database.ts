/** The PostgreSQL server of this run, which `tests/setup/postgres.ts` started. */
import { inject } from 'vitest'
import { connectPostgres, type PostgresPlaces } from './postgres.mjs'

export function postgresServer(): PostgresPlaces {
  return connectPostgres(inject('postgres'))
}
