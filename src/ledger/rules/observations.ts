/** What the stores agree on about payments that were only seen. */
import type { Sighting } from '../../core/ports/journal.ts'
import { parseText } from '../stored-text.ts'

/**
 * How many are kept of those that a genuine proof named and no node has shown: anybody may name transactions that do not
 * exist.
 */
export const mostUnproven = 1_000

/** As the databases keep it: money and, in PostgreSQL, all numbers are text. */
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

/** What an earlier version has written down as well. */
export const oldColumns = 'tx, recipient, request, payer, token, received, slot, paid_at'
export const sightingColumns = `${oldColumns}, endpoint, claimable_until, required, payable_until`
/** What stays of a sighting for good. */
export const seenColumns = `${oldColumns}, seen_at`
/** To put what a node has shown in the place of what only a proof has named. */
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
