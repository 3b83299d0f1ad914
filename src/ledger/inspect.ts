/** Inspects a ledger read-only: creates, changes and migrates nothing. */
import { LedgerUnavailable } from '../core/ports/ledger.ts'
import { parseLedgerUrl } from '../core/ports/ledger-url.ts'
import { LedgerConfigurationError } from './identity.ts'
import type { KnownIdentity, LedgerInspection } from './inspect-answers.ts'
import { requireSqlite } from './sqlite/binary.ts'

/** `now` is the time in milliseconds since 1970. */
export async function inspectLedger(url: string, identity: KnownIdentity, now: number): Promise<LedgerInspection> {
  const place = parseLedgerUrl(url)
  try {
    if (place?.kind === 'sqlite') {
      await requireSqlite()
      return await (await import('./sqlite/inspect.ts')).inspectFile(place.path, identity, now)
    }
    if (place?.kind === 'postgres')
      return await (await import('./postgres/inspect.ts')).inspectServer(url, identity, now)
    if (place?.kind === 'memory') return { kind: 'new', facts: { name: 'memory:' } }
    const why = 'this version does not support the type of the ledger'
    return { kind: 'bad', why, remedy: undefined, facts: { name: 'unknown' } }
  } catch (error) {
    if (error instanceof LedgerConfigurationError)
      return { kind: 'bad', why: error.problem, remedy: error.remedy, facts: { name: 'unknown' } }
    const why = error instanceof Error ? error.message : String(error)
    return { kind: 'unavailable', why: error instanceof LedgerUnavailable ? why : `it cannot be inspected: ${why}` }
  }
}
