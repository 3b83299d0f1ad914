/** Starts one PostgreSQL server for the whole run, with a template database that holds an empty ledger. */
import type { TestProject } from 'vitest/node'
import { openLedger } from '../../src/ledger/open.ts'
import { createTemplate, type Postgres, startPostgres } from '../harness/postgres.mjs'
import { createTestClock, identity } from '../ledger/payments.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The port of the PostgreSQL server. */
    readonly postgres: number
  }
}

/** A database with the ledger's tables and no identity, so that any service may make it its own. */
export const templateDatabase = 'ledger_template'

/** Every project sets itself up in the same process; all of them share one server. */
const shared = globalThis as { paystilePostgres?: Promise<Postgres>; paystilePostgresUsers?: number }

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  shared.paystilePostgres ??= startServer()
  shared.paystilePostgresUsers = (shared.paystilePostgresUsers ?? 0) + 1
  const server = await shared.paystilePostgres
  project.provide('postgres', server.port)
  return async () => {
    shared.paystilePostgresUsers = (shared.paystilePostgresUsers ?? 0) - 1
    if (shared.paystilePostgresUsers > 0) return
    delete shared.paystilePostgres
    await server.close()
  }
}

async function startServer(): Promise<Postgres> {
  const template = await createTemplate()
  const server = await startPostgres()
  await server.sql(`CREATE DATABASE ${templateDatabase}`)
  const url = `postgres://postgres@127.0.0.1:${server.port}/${templateDatabase}`
  await (await openLedger(url, { clock: createTestClock(), identity })).close()
  await server.sql("DELETE FROM paystile_meta WHERE key <> 'schema'", templateDatabase)
  return {
    ...server,
    close: async () => {
      await server.close()
      template.remove()
    },
  }
}
