/** Every store that keeps the ledger's contract. A new store is a new row here, and nothing else. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import type { Clock, Ledger } from '../../src/core/ports.ts'
import { openLedger } from '../../src/ledger/open.ts'
import { type Postgres, startPostgres } from '../harness/postgres.mjs'
import { identity } from './payments.ts'

export interface Shelf {
  readonly ledger: Ledger
  /** Closes and removes everything. */
  clear(): Promise<void>
}

export type OpenShelf = (clock: Clock) => Promise<Shelf>

export const stores: readonly (readonly [name: string, open: OpenShelf])[] = [
  ['memory', openMemory],
  ['sqlite', openSqlite],
  ['postgres', openPostgres],
]

/** One server for all tests of a file, started by the first that needs it. */
let server: Promise<Postgres> | undefined
afterAll(async () => (await server)?.close())

export function postgresServer(): Promise<Postgres> {
  server ??= startPostgres()
  return server
}

async function openPostgres(clock: Clock): Promise<Shelf> {
  const ledger = await openLedger(await (await postgresServer()).place(), { clock, identity })
  return { ledger, clear: () => ledger.close() }
}

async function openMemory(clock: Clock): Promise<Shelf> {
  const ledger = await openLedger('memory:', { clock, identity })
  return { ledger, clear: () => ledger.close() }
}

async function openSqlite(clock: Clock): Promise<Shelf> {
  const folder = createFolder()
  const ledger = await openLedger(`sqlite:${join(folder.path, 'ledger.db')}`, { clock, identity })
  return {
    ledger,
    clear: async () => {
      await ledger.close()
      folder.remove()
    },
  }
}

/** A new folder, in memory where the machine has such a place: these tests end processes, not the power. */
export function createFolder(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'paystile-ledger-'))
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}
