/**
 * The latest refused proofs of this process, for the seller.
 *
 * Anybody can send proofs, so the log is bounded in every direction: equal refusals are one entry with a count, and
 * each reason has a limited number of entries, so that a flood of one reason does not displace the others. It stays in
 * memory, so that no stranger can write to the ledger.
 */

import type { Clock } from '../runtime.ts'
import type { RefusalCode } from './refusals.ts'

export interface RefusalEntry {
  /** The first and the last time, in milliseconds since 1970. */
  readonly first: number
  readonly last: number
  readonly count: number
  readonly endpoint: string
  /** The pseudonym of the wallet that the proof names, which nothing proves; empty without one. */
  readonly payer: string
  readonly code: RefusalCode
}

/** Entries of each reason. */
const mostEntries = 100

export function createRefusalLog(clock: Pick<Clock, 'now'>) {
  const since = clock.now()
  const byCode = new Map<RefusalCode, Map<string, RefusalEntry>>()
  return {
    /** The start of the log. */
    since,
    note: (code: RefusalCode, endpoint: string, payer: string): void => {
      const entries = byCode.get(code) ?? new Map<string, RefusalEntry>()
      byCode.set(code, entries)
      const now = clock.now()
      const key = `${payer} ${endpoint}`
      const known = entries.get(key)
      // The latest entry is the last of the map.
      entries.delete(key)
      entries.set(key, {
        first: known?.first ?? now,
        last: now,
        count: (known?.count ?? 0) + 1,
        endpoint,
        payer,
        code,
      })
      const [oldest] = entries.keys()
      if (entries.size > mostEntries && oldest !== undefined) entries.delete(oldest)
    },
    /** The latest first. */
    list: (): readonly RefusalEntry[] =>
      [...byCode.values()].flatMap((entries) => [...entries.values()]).sort((one, other) => other.last - one.last),
  }
}

export type RefusalLog = ReturnType<typeof createRefusalLog>
