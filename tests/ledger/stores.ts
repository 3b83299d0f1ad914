/**
 * Every store that keeps the ledger's contract. A new store is a new row here, and nothing else. The `memory:` ledger
 * is SQLite without a file, so only the first suite of the contract repeats its tests with it.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Ledger } from '../../src/core/ports/ledger.ts'
import type { Clock } from '../../src/core/runtime.ts'
import { openLedger } from '../../src/ledger/open.ts'
import { borrowEmptyLedger } from '../harness/database.ts'
import { fastFolder } from '../harness/postgres.mjs'
import { identity } from './payments.ts'
import { createReferenceLedger } from './reference/ledger.ts'

export interface Shelf {
  readonly ledger: Ledger
  /** Closes and removes everything. */
  clear(): Promise<void>
}

export type OpenShelf = (clock: Clock) => Promise<Shelf>

export const stores: readonly (readonly [name: string, open: OpenShelf])[] = [
  ['reference', openReference],
  ['sqlite', openSqlite],
  ['postgres', openPostgres],
]
export const storesWithMemory: typeof stores = [...stores, ['memory', openMemory]]

async function openPostgres(clock: Clock): Promise<Shelf> {
  const database = await borrowEmptyLedger()
  const ledger = await openLedger(database.url, { clock, identity })
  return {
    ledger,
    clear: async () => {
      await ledger.close()
      await database.giveBack()
    },
  }
}

/** No product: the suites that compare the databases with it rely on it. */
async function openReference(clock: Clock): Promise<Shelf> {
  const ledger = createReferenceLedger({ clock, identity })
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

/** A new folder, in memory where possible: these tests end processes, not the power. */
export function createFolder(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(fastFolder(), 'paystile-ledger-'))
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}
