/** Everything that the reference ledger holds, for the parts of it to look at and change. */
import type { TokenCode } from '../../../src/core/money/tokens.ts'
import type { Sighting } from '../../../src/core/ports/journal.ts'
import type { PaymentRecord } from '../../../src/core/ports/ledger.ts'
import type { LedgerEvent } from '../../../src/core/ports/outbox.ts'
import type { Usage } from '../../../src/core/ports/reports.ts'
import type { Lease, PaymentAccount } from '../../../src/ledger/rules/grants.ts'
import type { PayeeBalances } from './payee-balances.ts'
import { createPayeeBalances } from './payee-balances.ts'

export interface ReferenceEntry {
  readonly record: PaymentRecord
  readonly account: PaymentAccount
  readonly leases: ReadonlyMap<bigint, Lease>
}

/** Payments and sightings by the transaction, as `keyOf` writes it. */
export interface Room {
  readonly entries: Map<string, ReferenceEntry>
  readonly seen: Map<string, Sighting>
  /** When each was noted. */
  readonly seenAt: Map<string, number>
  /** Sightings of whose end somebody was told. */
  readonly told: Set<string>
  /** By id; `due` is when it is told, or told again. */
  readonly notices: Map<string, LedgerEvent & { readonly due: number }>
  readonly usage: Map<string, Usage>
  /** What is owed and what goes out. */
  readonly till: PayeeBalances
  reportToken: TokenCode | undefined
  /** Undefined while nobody wants to be told. */
  listensSince: number | undefined
}

export function createRoom(reportToken: TokenCode | undefined): Room {
  const sightings = { seen: new Map(), seenAt: new Map(), told: new Set<string>() }
  const maps = { entries: new Map(), ...sightings, notices: new Map(), usage: new Map() }
  return { ...maps, till: createPayeeBalances(), reportToken, listensSince: undefined }
}

export function formatKey(tx: Uint8Array): string {
  return String.fromCharCode(...tx)
}
