/** Rules that all other protocols share. */
import type { HeaderPairs, Incoming } from '../core/http/http.ts'
import type { Mint, TokenCode } from '../core/money/tokens.ts'
import { findMint, isKnownCode } from '../core/money/tokens.ts'
import { isOneRequest } from '../core/payment/allowance.ts'
import { type Refusal, type RefusalCode, type RefusalRow, refusals } from '../core/payment/refusals.ts'
import type { Offer } from '../core/protocol/challenge.ts'
import { acceptHeader } from '../core/protocol/proof.ts'
import type { X402Entry } from '../core/protocol/x402.ts'
import type { RefusalFacts } from './dialect.ts'

/** The wallet that pays the network fee for clients. */
export interface FeePayer {
  readonly address: string
  /** Sends no request. */
  recent(): { readonly blockhash: string } | undefined
  /** Whether it pays fees at the moment. */
  isOffering(): boolean
}

export const noHeaders: HeaderPairs = []

const acceptName = acceptHeader.toLowerCase()

/** Whether a client that announces its kind of proof, as paystile's own client does, sent the request. */
export function isNativeClient(incoming: Incoming): boolean {
  return incoming.header(acceptName) !== undefined
}

export interface Priced {
  readonly token: TokenCode
  /** Undefined for SOL. */
  readonly mint: Mint | undefined
  readonly units: bigint
}

/** USDC first: unmodified clients accept few other tokens. */
const tokenOrder: readonly TokenCode[] = ['USDC', 'NATIVE', 'SOL']

/**
 * The prices of an offer that another protocol can express, the preferred one first. Only one request can be sold: other
 * allowances need a proof of who paid.
 */
export function listPrices({ allowance, acceptedMints, amounts, mints }: Offer): readonly Priced[] {
  if (!isOneRequest(allowance)) return []
  const others = acceptedMints.filter((token) => !isKnownCode(token))
  return [...tokenOrder, ...others].flatMap((token) => {
    const units = acceptedMints.includes(token) ? (amounts[token] ?? 0n) : 0n
    const mint = findMint(token, mints)
    return units > 0n && (mint || token === 'SOL') ? [{ token, mint, units }] : []
  })
}

/** The prices that x402 can express: it knows only tokens with a mint, and one recipient, which must accept the whole amount. */
export function listMintPrices(offer: Offer): readonly X402Entry[] {
  if (offer.splits && !offer.isCollected) return []
  return listPrices(offer).flatMap(({ mint, units }) => (mint ? [{ mint: mint.address, units }] : []))
}

/**
 * The status of a refusal. Clients of other protocols know 402 as the final refusal of a payment, and do not pay again
 * after a 503.
 */
export function foreignStatus(refusal: Refusal): number {
  const row: RefusalRow = refusals[refusal.code]
  if (row.status !== 403) return refusal.status ?? row.status
  return row.retryable ? 503 : 402
}

/** After these refusals nothing was signed or sent. A client that gets a challenge may pay again, and mppx does. */
export function isFreshRefusal({ code }: Refusal): boolean {
  return code === 'proof_malformed' || code === 'quote_expired'
}

/** The reasons of x402 for refusals. */
export interface RefusalReasons extends Readonly<Partial<Record<RefusalCode, string>>> {
  /** For an outage while nothing is signed. */
  readonly unavailable: string
  /** For an outage after the service has signed. */
  readonly pending: string
}

/** Undefined if the refusal is not about the payment. */
export function findReason(reasons: RefusalReasons, refusal: Refusal, { tx }: RefusalFacts): string | undefined {
  const reason = reasons[refusal.code]
  if (reason !== undefined || foreignStatus(refusal) !== 503) return reason
  return tx === undefined ? reasons.unavailable : reasons.pending
}
