/** The payment that a quote requires, and its deadlines. */
import type { Amounts, Mint, MintTable, TokenCode } from '../money/tokens.ts'
import { findDecimals, findMint, isKnownCode, listTokens } from '../money/tokens.ts'
import { dividePrice, type RecipientSet } from './splits.ts'
import type { PaymentOption } from './verify.ts'

/** The token account of an owner for a mint. */
export type TokenAccountOf = (owner: string, mint: Mint) => Promise<string>

/** Tolerance between the chain's clock and the service's. */
const driftSeconds = 60

/** The ways to pay, as sealed in the quote, independent of the current configuration. */
export async function paymentOptions(
  amounts: Amounts,
  mints: MintTable,
  { recipient, splits, isCollected }: RecipientSet,
  tokenAccountOf: TokenAccountOf,
): Promise<readonly PaymentOption[]> {
  const options: PaymentOption[] = []
  for (const token of listTokens(mints)) {
    const price = amounts[token]
    const decimals = findDecimals(token, mints)
    const divided = price === undefined ? undefined : dividePrice(price, splits)
    if (!divided || decimals === undefined) continue
    const mint = findMint(token, mints)
    const destinationOf = async (owner: string) => (mint ? await tokenAccountOf(owner, mint) : owner)
    const destination = await destinationOf(recipient)
    const option = { token, asset: mint?.address ?? 'SOL', decimals, units: divided.own, destination }
    if (divided.parts.length === 0) options.push(option)
    else {
      const destinations = await Promise.all(divided.parts.map((part) => destinationOf(part.recipient)))
      const parts = divided.parts.map((part, index) => ({ ...part, destination: destinations[index] ?? '' }))
      options.push({ ...option, splits: parts, ...(isCollected && { isCollected }) })
    }
  }
  return options
}

interface RouteOptionsParts {
  readonly runtime: {
    readonly tokenAccountOf: TokenAccountOf
    readonly tokens: { completeFor(codes: readonly TokenCode[], mints: MintTable): Promise<MintTable> }
  }
  readonly route: { readonly config: { readonly mints: MintTable } }
}

/** The ways to pay a quote of this route, also in tokens that are no longer configured. */
export async function routeOptions(
  { runtime, route }: RouteOptionsParts,
  amounts: Amounts,
  recipientSet: RecipientSet,
) {
  const { mints } = route.config
  const hasOthers = Object.keys(amounts).some((code) => !isKnownCode(code))
  const complete = hasOthers ? await runtime.tokens.completeFor(Object.keys(amounts), mints) : mints
  return paymentOptions(amounts, complete, recipientSet, runtime.tokenAccountOf)
}

/** The time of a quote, in seconds, as its requestId contains it. */
interface QuoteTime {
  readonly issuedAt: number
  readonly ttlSeconds: number
}

/**
 * The last second in which the payment had to land. There is no first second: a requestId is unknown before it is
 * issued, so a payment that looks earlier only shows that the clock of the issuing server was ahead.
 */
export function paymentWindow({ issuedAt, ttlSeconds }: QuoteTime) {
  return { notAfter: issuedAt + ttlSeconds + driftSeconds }
}

/** The time, in milliseconds, until which a payment made in time can be claimed. */
export function claimableUntil(quote: QuoteTime, proofTtlSeconds: number): number {
  return (paymentWindow(quote).notAfter + proofTtlSeconds) * 1000
}
