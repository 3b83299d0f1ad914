/**
 * A payment as people read it. The feed, the stream and every export use this one function, so an export holds what the
 * screen showed.
 */
import { encodeBase58 } from '../core/base58.ts'
import { formatUnits } from '../core/money.ts'
import type { TokenCode } from '../core/network.ts'
import type { Books, Capture, CaptureStatus } from '../core/ports.ts'
import { worthDecimals } from '../core/worth.ts'

/** SPEC.md's second spelling of a status, for the feed. */
export const feedStatuses = { pending: 'Pending', confirmed: 'Verified', expired: 'Expired' } as const satisfies Record<
  CaptureStatus,
  string
>
export type FeedStatus = (typeof feedStatuses)[CaptureStatus]

/** All text. What is not known is empty, never left out: a line of an export has as many cells as its header. */
export interface CaptureRecord {
  /** Time of the block, RFC 3339 in UTC. */
  readonly timestamp: string
  /** Keyed hash. */
  readonly requestId: string
  /** Pseudonym. */
  readonly payer: string
  readonly endpoint: string
  readonly token: TokenCode
  /** In whole tokens; empty where the service no longer knows how many decimals the token has. */
  readonly amount: string
  /** In `revenueToken`, by the rate of its moment; empty where there was none. */
  readonly worth: string
  readonly revenueToken: TokenCode
  readonly status: FeedStatus
  readonly verification: CaptureStatus
  readonly state: Capture['state']
  readonly delivery: Capture['delivery']
  readonly recipient: string
  /** Not for the feed and not for links: with it anybody can look up on chain who a pseudonym is. */
  readonly tx: string
}

/** The order of columns in every export. */
export const captureColumns = [
  'timestamp',
  'requestId',
  'payer',
  'endpoint',
  'token',
  'amount',
  'worth',
  'revenueToken',
  'status',
  'verification',
  'state',
  'delivery',
  'recipient',
  'tx',
] as const satisfies readonly (keyof CaptureRecord)[]
export type CaptureColumn = (typeof captureColumns)[number]

/** `decimalsOf(token, mints)` of core, with the service's mints at hand. */
export type DecimalsOf = (token: TokenCode) => number | undefined

export function formatCapture(capture: Capture, decimalsOf: DecimalsOf, revenueToken: TokenCode): CaptureRecord {
  const decimals = decimalsOf(capture.token)
  return {
    timestamp: new Date(capture.at).toISOString(),
    requestId: capture.request,
    payer: capture.payer,
    endpoint: capture.endpoint,
    token: capture.token,
    amount: decimals === undefined ? '' : formatUnits(capture.units, decimals),
    worth: capture.worth === undefined ? '' : formatUnits(capture.worth, worthDecimals),
    revenueToken,
    status: feedStatuses[capture.status],
    verification: capture.status,
    state: capture.state,
    delivery: capture.delivery,
    recipient: capture.recipient,
    tx: encodeBase58(capture.tx),
  }
}

/** The token in which worth is told. */
export async function revenueTokenOf(books: Pick<Books, 'reportToken'>): Promise<TokenCode> {
  return (await books.reportToken()) ?? 'USDC'
}

/** For the feed and the stream. */
export function withoutTransaction({ tx: _tx, ...record }: CaptureRecord): Omit<CaptureRecord, 'tx'> {
  return record
}
