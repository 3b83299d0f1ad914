/** The common rules of both databases for observed payments. */
import type { Sighting } from '../../core/ports/journal.ts'
import { parseText } from '../stored-text.ts'

/**
 * The number of stored payments that a genuine proof named and no node has confirmed. It is limited because a client
 * can name transactions that do not exist.
 */
export const mostUnproven = 1_000

/** The row in the databases. Money is text. In PostgreSQL, all numbers are text. */
export interface SightingRow {
  readonly tx: Uint8Array
  readonly recipient: string
  readonly request: string
  readonly payer: string
  readonly token: Sighting['token']
  readonly received: string
  readonly slot: number | bigint | string
  readonly paid_at: number | bigint | string
  readonly endpoint: string
  readonly claimable_until: number | bigint | string
  readonly required: string | null
  readonly payable_until: number | bigint | string
}

/** The columns that earlier versions also wrote. */
export const oldColumns = 'tx, recipient, request, payer, token, received, slot, paid_at'
export const sightingColumns = `${oldColumns}, endpoint, claimable_until, required, payable_until`
/** The columns that are kept permanently. */
export const seenColumns = `${oldColumns}, seen_at`
/** Replaces a row that only a proof named with the data of a node. */
export const replacing = (columns: string): string =>
  columns
    .split(', ')
    .slice(1)
    .map((name) => `${name} = excluded.${name}`)
    .join(', ')

export function readSighting(row: SightingRow): Sighting {
  const { recipient, request, payer, token } = row
  return {
    tx: new Uint8Array(row.tx),
    recipient,
    request,
    payer,
    token,
    received: BigInt(row.received),
    slot: Number(row.slot),
    paidAt: Number(row.paid_at),
    endpoint: parseText(row.endpoint),
    claimableUntil: Number(row.claimable_until),
    required: row.required === null ? undefined : BigInt(row.required),
    payableUntil: Number(row.payable_until),
  }
}
