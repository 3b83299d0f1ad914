/**
 * A desk that quotes a price and signs its side of one transaction in which both sides are paid.
 *
 * This service composes the transaction, the desk signs exactly these bytes, and the service signs last. Only the
 * service can therefore send it, and only on the quoted terms. Nothing else from the desk is trusted.
 */
import { readFunds } from '../chain/accounts/balances.ts'
import { attachSignature, unsigned } from '../chain/send/message.ts'
import { readLifetime } from '../chain/send/send.ts'
import { usualMicroLamports } from '../chain/wallets/payment.ts'
import { composeExchange, type ExchangeTerms, exchangeComputeUnits } from '../chain/wallets/rfq-swap.ts'
import { decodeAddress, decodeSignature } from '../core/encoding/base58.ts'
import { encodeBase64url } from '../core/encoding/base64url.ts'
import type { Fields } from '../core/encoding/fields.ts'
import type { Mint } from '../core/money/tokens.ts'
import type { Signing } from '../core/payouts/outgoing-wallet.ts'
import type { Quoting, SwapOrder, Venue, VenueQuote } from '../core/payouts/venue.ts'
import type { Post } from '../core/ports/sheets.ts'
import type { Clock } from '../core/runtime.ts'
import { finish, openingRent, readPriority, type VenueParts } from './exchange-transaction.ts'
import { askVenue, readAmount, type VenueAnswer } from './responses.ts'

export interface RfqParts extends VenueParts {
  /** The desk's address. */
  readonly url: string
  readonly post: Post
  readonly clock: Clock
}

interface Ticket {
  readonly quote: string
  readonly desk: string
  /** By the monotonic clock. */
  readonly until: number
}

const askMs = 5_000
/** The minimum remaining time of a quote, sufficient to build and sign. */
const leastLeftMs = 2_000
const longestSeconds = 300

export function createRfqVenue(parts: RfqParts): Venue {
  const { genesis, wallet, clock } = parts
  const url = parts.url.replace(/\/+$/, '')
  const ask = (path: string, body: Fields): Promise<VenueAnswer> =>
    askVenue(() =>
      parts.post(`${url}/${path}`, {
        timeoutMs: askMs,
        headers: { 'content-type': 'application/json', accept: 'application/json' },
        body: JSON.stringify(body),
      }),
    )
  return {
    name: 'rfq',
    quote: async (order): Promise<Quoting> => {
      const asked = clock.monotonic()
      const request = {
        genesis,
        taker: wallet.address,
        sell: readAsset(order.sell),
        buy: readAsset(order.buy),
        units: order.units.toString(),
      }
      const answer = await ask('quote', request)
      if (answer.kind !== 'answered') return answer
      return readQuote(answer.json, order, request, asked) ?? unreadable
    },
    sign: (quote, { memo, minimum }) => sign(quote, memo, minimum, parts, ask),
  }
}

/** A desk's name for a token: its mint, or SOL. */
export function readAsset(mint: Mint | undefined): string {
  return mint?.address ?? 'SOL'
}

const unreadable = { kind: 'unavailable', why: "the desk's quote differs from the request" } as const

/** The response must repeat all requested values unchanged. */
function readQuote(json: Fields, order: SwapOrder, request: Fields, asked: number): Quoting | undefined {
  const { quote, desk, gives, seconds } = json
  if (Object.entries(request).some(([name, value]) => json[name] !== value)) return undefined
  if (typeof quote !== 'string' || !/^[A-Za-z0-9_-]{1,64}$/.test(quote)) return undefined
  // With the wallet's own address as desk, the service would trade with itself.
  if (typeof desk !== 'string' || !decodeAddress(desk) || desk === request['taker']) return undefined
  const units = readAmount(gives)
  if (units === undefined) return undefined
  if (typeof seconds !== 'number' || !(seconds > 0 && seconds <= longestSeconds)) return undefined
  const ticket: Ticket = { quote, desk, until: asked + seconds * 1000 }
  return { kind: 'quoted', quote: { order, units, least: units, ticket } }
}

async function sign(
  { order, units, ticket }: VenueQuote,
  memo: string,
  minimum: bigint,
  parts: RfqParts,
  ask: (path: string, body: Fields) => Promise<VenueAnswer>,
): Promise<Signing> {
  const { rpc, wallet, clock } = parts
  const { quote, desk, until } = ticket as Ticket
  if (clock.monotonic() + leastLeftMs > until) return { kind: 'unavailable', why: 'the quote has expired' }
  const { sell, buy } = order
  const [block, funds] = await Promise.all([
    readLifetime(rpc),
    readFunds(rpc, { wallet: wallet.address, recipient: wallet.address, mints: buy ? [buy] : [] }),
  ])
  if (!block) return { kind: 'unavailable', why: 'no node returned a recent blockhash' }
  if (funds.kind === 'unavailable') return funds
  const { blockhash, lastValidBlockHeight } = block
  const opens = funds.tokens.some(({ recipientReady }) => !recipientReady)
  const terms: ExchangeTerms = {
    taker: wallet.address,
    desk,
    sell: { mint: sell, units: order.units },
    buy: { mint: buy, units },
  }
  const budget = { computeUnits: exchangeComputeUnits, microLamports: usualMicroLamports }
  const message = await composeExchange(terms, { blockhash, memo, opens, ...budget }).catch(() => undefined)
  // For example if the desk's address is a program, which cannot sign.
  if (!message) return { kind: 'unavailable', why: 'the address of the desk is not usable in a transaction' }
  const answer = await ask('sign', { quote, message: encodeBase64url(message) })
  if (answer.kind !== 'answered') return { kind: 'unavailable', why: answer.why }
  const { signature } = answer.json
  const bytes = typeof signature === 'string' ? decodeSignature(signature) : undefined
  let transaction: Uint8Array
  try {
    transaction = await attachSignature(unsigned(message), desk, bytes ?? new Uint8Array())
  } catch {
    return { kind: 'unavailable', why: 'the desk did not sign the quoted transaction' }
  }
  const priority = readPriority(budget.computeUnits, budget.microLamports)
  const bounds = { sell, buy, units: order.units, minimum, rent: opens ? openingRent : 0n }
  return finish({ transaction, lastValidBlockHeight, slot: block.slot, bounds, priority }, parts)
}
