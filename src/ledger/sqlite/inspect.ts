/** Inspects a SQLite ledger without changes, even while a server uses it. */
import { accessSync, constants, existsSync, realpathSync, statfsSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite'
import { checkIdentity, LedgerConfigurationError, type Remembered } from '../identity.ts'
import type { KnownIdentity, LedgerFacts, LedgerInspection } from '../inspect-answers.ts'
import { formatSums, readSums } from '../rules/submissions.ts'
import { dayMs } from '../rules/totals.ts'
import { checkOrigin, steps } from './migrations.ts'

/** Larger files are checked only for the coarsest damage. */
const longestWholeCheck = 200_000_000

export function inspectFile(given: string, identity: KnownIdentity, now: number): LedgerInspection {
  const path = resolve(given)
  let facts: LedgerFacts = { name: path }
  const bad = (why: string, remedy: string | undefined): LedgerInspection => ({ kind: 'bad', why, remedy, facts })
  const stats = statSync(path, { throwIfNoEntry: false })
  if (stats?.isDirectory()) return bad(`The ledger ${path} is a directory`, 'choose a file inside it')
  const directory = dirname(path)
  const place = placeOf(directory)
  if (place.kind === 'none')
    return bad(`The ledger ${path} cannot be created`, `create the directory ${place.missing}, or choose another file`)
  facts = { name: path, freeBytes: place.freeBytes }
  if (!canWrite(stats ? path : place.directory) || !canWrite(place.directory))
    return bad(`The ledger ${path} cannot be written`, `give this user write access to it and to ${place.directory}`)
  if (!stats) return { kind: 'new', facts }
  let db: DatabaseSyncInstance | undefined
  try {
    db = openUntouched(path)
    const version = checkOrigin(db, path)
    if (version === 0) return { kind: 'new', facts }
    facts = { ...facts, version, latest: steps.length, payments: countPayments(db) }
    checkIdentityOf(db, path, identity)
    const damage = findDamage(db, stats.size)
    if (damage === undefined) return { kind: 'good', facts: { ...facts, ...readSponsored(db, version, now) } }
    return bad(`The ledger ${path} is damaged (${damage})`, 'stop the service and restore it from a backup')
  } catch (error) {
    if (error instanceof LedgerConfigurationError) return bad(error.problem, error.remedy)
    const why = error instanceof Error ? error.message : String(error)
    return bad(`The file ${path} is not a SQLite database, or is damaged (${why})`, 'restore it, or choose another')
  } finally {
    db?.close()
  }
}

/**
 * A file that no process has open is read as immutable, because SQLite would otherwise create files beside it. A file
 * in use already has them.
 */
function openUntouched(path: string): DatabaseSyncInstance {
  // They are beside the file itself, not beside a link to it.
  const real = realpathSync(path)
  const isInUse = existsSync(`${real}-wal`) && existsSync(`${real}-shm`)
  if (isInUse) return new DatabaseSync(path, { readOnly: true })
  const url = pathToFileURL(path)
  url.searchParams.set('immutable', '1')
  return new DatabaseSync(url.href, { readOnly: true })
}

type Place =
  | { readonly kind: 'some'; readonly directory: string; readonly freeBytes: number }
  | { readonly kind: 'none'; readonly missing: string }

/** The first start creates the default directory. Any other directory must exist. */
function placeOf(directory: string): Place {
  const isUsual = directory === resolve('.paystile')
  const there = !existsSync(directory) && isUsual ? dirname(directory) : directory
  if (statSync(there, { throwIfNoEntry: false })?.isDirectory() !== true) return { kind: 'none', missing: directory }
  const { bavail, bsize } = statfsSync(there)
  return { kind: 'some', directory: there, freeBytes: bavail * bsize }
}

function canWrite(path: string): boolean {
  try {
    accessSync(path, constants.W_OK)
    return true
  } catch {
    return false
  }
}

function checkIdentityOf(db: DatabaseSyncInstance, path: string, identity: KnownIdentity): void {
  const rows = db.prepare('SELECT key, value FROM meta').all() as { readonly key: string; readonly value: string }[]
  const remembered: Remembered = Object.fromEntries(rows.map(({ key, value }) => [key, value]))
  checkIdentity(path, remembered, { ...identity, fingerprint: identity.fingerprint ?? remembered.fingerprint ?? '' })
}

function countPayments(db: DatabaseSyncInstance): number {
  const row = db.prepare('SELECT count(*) AS number FROM payments').get() as { readonly number: number }
  return Number(row.number)
}

/** A ledger with an older schema may lack the table. */
function readSponsored(db: DatabaseSyncInstance, version: number, now: number): Pick<LedgerFacts, 'sponsored'> {
  if (version < steps.length) return {}
  const row = db.prepare(formatSums('submissions', now - dayMs)).get()
  return { sponsored: readSums(row as Readonly<Record<string, unknown>> | undefined) }
}

function findDamage(db: DatabaseSyncInstance, size: number): string | undefined {
  const check = size > longestWholeCheck ? 'quick_check' : 'integrity_check'
  const rows = db.prepare(`PRAGMA ${check}(1)`).all() as Record<string, string>[]
  const [answer = 'nothing was answered'] = Object.values(rows[0] ?? {})
  return answer === 'ok' ? undefined : answer.slice(0, 120)
}
