/**
 * Splits: wallets that one payment pays directly, besides its recipient.
 *
 * A share is rounded down to whole base units, and the recipient gets the rest. Every unit of a price has therefore
 * exactly one owner. A recipient that collects may also receive the whole price, and then owes the parts to their wallets.
 */
import { decodeAddress } from '../encoding/base58.ts'
import { encodeBase64url } from '../encoding/base64url.ts'
import { sha256 } from '../encoding/sha256.ts'

/** A wallet's part of every price: a share of it, or a fixed amount. */
export type Split =
  | { readonly recipient: string; readonly basisPoints: bigint }
  | { readonly recipient: string; readonly units: bigint }

/** The wallets that share a payment. */
export interface RecipientSet {
  /** Receives the rest. */
  readonly recipient: string
  readonly splits: readonly Split[]
  /** Whether a payment may pay the whole price to the recipient. The rewards then pay the parts. */
  readonly isCollected?: boolean
}

/** A wallet's part of one price, in base units. */
export interface SplitPart {
  readonly recipient: string
  readonly units: bigint
}

export interface DividedPrice {
  /** The recipient's own part; with splits, at least 1. */
  readonly own: bigint
  /** In the order of the splits, without empty parts. */
  readonly parts: readonly SplitPart[]
}

/** More transfers do not fit in a transaction. */
export const mostSplits = 8
const whole = 10_000n

/** Divides a price. Undefined if nothing is left for the recipient. */
export function dividePrice(price: bigint, splits: readonly Split[]): DividedPrice | undefined {
  if (splits.length === 0) return { own: price, parts: [] }
  const parts = splits.flatMap((split) => {
    const units = 'units' in split ? split.units : (price * split.basisPoints) / whole
    return units > 0n ? [{ recipient: split.recipient, units }] : []
  })
  const own = price - sumParts(parts)
  return own > 0n ? { own, parts } : undefined
}

export function sumParts(parts: readonly SplitPart[]): bigint {
  return parts.reduce((sum, { units }) => sum + units, 0n)
}

/** Writes splits as text: one line for each, in their order. Equal text means equal splits. */
export function formatSplits(splits: readonly Split[]): string {
  return splits
    .map((split) => `${split.recipient} ${'units' in split ? `units ${split.units}` : `share ${split.basisPoints}`}`)
    .join('\n')
}

/** Reads text that `formatSplits` wrote. Undefined for other text. */
export function parseSplits(text: string): readonly Split[] | undefined {
  const splits = text.split('\n').flatMap((line): readonly Split[] => {
    const [, recipient = '', kind, number = ''] = /^(\w{32,44}) (share|units) ([1-9]\d{0,19})$/.exec(line) ?? []
    if (kind === undefined || !decodeAddress(recipient)) return []
    return [kind === 'share' ? { recipient, basisPoints: BigInt(number) } : { recipient, units: BigInt(number) }]
  })
  return formatSplits(splits) === text ? splits : undefined
}

/** The digest that a seal covers: SHA-256 of `formatSplits`, with one more line if the price is collected. */
export function digestSplits({ splits, isCollected = false }: Omit<RecipientSet, 'recipient'>): Uint8Array {
  return sha256(new TextEncoder().encode(`${formatSplits(splits)}${isCollected ? '\ncollected' : ''}`))
}

/** The sets of recipients that a quote with these splits may be sealed for. */
export function listSealable({ recipient, splits }: RecipientSet): readonly RecipientSet[] {
  return [{ recipient, splits }, ...(splits.length === 0 ? [] : [{ recipient, splits, isCollected: true }])]
}

/** Names a set of recipients. Different sets of recipients have different names. */
export function nameRecipientSet(recipientSet: RecipientSet): string {
  const { recipient, splits } = recipientSet
  return splits.length === 0 ? recipient : `${recipient}/${encodeBase64url(digestSplits(recipientSet))}`
}
