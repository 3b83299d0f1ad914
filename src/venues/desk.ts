/**
 * A desk: a wallet that exchanges test tokens at the rate of a source, less a spread.
 *
 * A quote is for one taker and one use, and lasts half a minute. The desk signs one message for it: exactly the two
 * quoted transfers, the memo, the compute budget and, if it is missing, the taker's own account, paid by the taker. The
 * promised amount is reserved until that message can no longer land.
 */
import type { Wallet } from '../chain/keys/keypair.ts'
import { openTransaction, readAccountIndex } from '../chain/read/decode.ts'
import { signUnchanged, unsigned } from '../chain/send/message.ts'
import { readLifetime, readRecentSlot } from '../chain/send/send.ts'
import { type ExchangeTerms, readExchange } from '../chain/wallets/rfq-swap.ts'
import { decodeAddress, encodeBase58 } from '../core/encoding/base58.ts'
import { decodeBase64url } from '../core/encoding/base64url.ts'
import { type Fields, isFields } from '../core/encoding/fields.ts'
import { equalBytes } from '../core/encoding/hmac.ts'
import { decimalsIn, fairUnits, type RateTable } from '../core/money/rates.ts'
import type { MintTable, TokenCode } from '../core/money/tokens.ts'
import { findDecimals, findMint, genesisHashes, listTokens } from '../core/money/tokens.ts'
import type { VenueRefusalCode } from '../core/payouts/venue.ts'
import type { Clock, Log } from '../core/runtime.ts'
import { createStock, type Stock, type StockParts } from './desk-stock.ts'
import { readAmount } from './responses.ts'
import { readAsset } from './rfq.ts'

export interface DeskParts extends StockParts {
  readonly wallet: Wallet
  readonly mints: MintTable
  /** Fresh rates. A token without one is not traded. */
  readonly rates: () => RateTable
  /** The desk's margin, in hundredths of a percent. */
  readonly spreadBps: number
  readonly clock: Clock
  readonly log: Log
}

export interface Desk {
  readonly address: string
  quote(request: unknown): Promise<DeskAnswer>
  sign(request: unknown): Promise<DeskAnswer>
}

/** An HTTP response. */
export interface DeskAnswer {
  readonly status: number
  readonly body: Fields
}

/** A refusal in one sentence that the taker may log. */
export function refuse(status: number, why: string, code?: VenueRefusalCode): DeskAnswer {
  return { status, body: { why, ...(code !== undefined && { code }) } }
}

interface Quote {
  readonly id: string
  readonly terms: ExchangeTerms
  readonly token: TokenCode
  /** The end of the signing period, by the monotonic clock. */
  readonly until: number
  /** The signed message, and the last block height at which it can land. */
  signed?: { readonly message: Uint8Array; readonly lastHeight: number; readonly signature: Promise<string> }
}

const quoteSeconds = 30
const mostQuotes = 1_000
/** The maximum per taker while they can still land. */
const mostSigned = 8
const longestMessage = 2_000
const memoPattern = /^paystile:[A-Za-z0-9_-]{1,64}$/

/** Throws a `TypeError` on mainnet, because this desk is for test tokens only. */
export function createDesk(parts: DeskParts): Desk {
  if (parts.genesis === genesisHashes.mainnet) throw new TypeError('the desk trades only test money, not on mainnet')
  const book: Book = { parts, stock: createStock(parts), quotes: new Map() }
  return {
    address: parts.wallet.address,
    quote: (request) => quote(request, book),
    sign: (request) => sign(request, book),
  }
}

interface Book {
  readonly parts: DeskParts
  readonly stock: Stock
  readonly quotes: Map<string, Quote>
}

async function quote(request: unknown, book: Book): Promise<DeskAnswer> {
  const { parts, stock, quotes } = book
  const { genesis, wallet, mints, clock, log } = parts
  const order = readOrder(request, parts)
  if (typeof order === 'string') return refuse(400, order, order === unknownPair ? 'unknown_pair' : undefined)
  const { taker, sell, buy, units } = order
  const fair = fairUnits({ token: sell, units }, buy, { rates: parts.rates(), decimals: decimalsIn(mints) })
  if (fair === undefined) return refuse(503, 'no current rate is available for this pair')
  const gives = (fair * BigInt(10_000 - parts.spreadBps)) / 10_000n
  if (gives <= 0n) return refuse(422, 'the amount is too small')
  const [sold, bought] = [findMint(sell, mints), findMint(buy, mints)]
  const sides = { sell: { mint: sold, units }, buy: { mint: bought, units: gives } }
  const terms: ExchangeTerms = { taker, desk: wallet.address, ...sides }
  await sweep(book)
  const held = await stock.look(terms)
  if (held.kind === 'unavailable') return refuse(503, held.why)
  if (held.kind === 'short') return refuse(422, held.why, held.code)
  // From here on the code is synchronous, so the second of two concurrent requests sees the first one's promise.
  if (held.units - promised(book, buy, taker) < gives) return refuse(422, "the desk's balance is too low")
  const theirs = [...quotes.values()].filter((one) => one.terms.taker === taker)
  if (quotes.size >= mostQuotes || theirs.filter(({ signed }) => signed).length >= mostSigned)
    return refuse(503, 'too many quotes are open')
  // A taker has one quote at a time, so that it cannot reserve more than it could pay for.
  for (const { id, signed } of theirs) if (!signed) quotes.delete(id)
  const id = crypto.randomUUID()
  quotes.set(id, { id, terms, token: buy, until: clock.monotonic() + quoteSeconds * 1000 })
  log.info('desk.quoted', { quote: id, sell, buy, units: units.toString(), gives: gives.toString() })
  const named = { genesis, taker, sell: readAsset(sold), buy: readAsset(bought), units: units.toString() }
  const offer = { quote: id, desk: wallet.address, ...named, gives: gives.toString(), seconds: quoteSeconds }
  return { status: 200, body: offer }
}

/** Releases quotes that can no longer be signed, or no longer land. */
async function sweep({ parts, stock, quotes }: Book): Promise<void> {
  const isWaiting = [...quotes.values()].some(({ signed }) => signed)
  const height = isWaiting ? await stock.height() : undefined
  const now = parts.clock.monotonic()
  for (const [id, { until, signed }] of quotes) {
    if (signed ? height !== undefined && height > signed.lastHeight : until < now) quotes.delete(id)
  }
}

/** The promised amount of a token: to other takers, and to this taker by signed messages. */
function promised({ quotes }: Book, token: TokenCode, taker: string): bigint {
  return [...quotes.values()]
    .filter((one) => one.token === token && (one.signed !== undefined || one.terms.taker !== taker))
    .reduce((sum, { terms }) => sum + terms.buy.units, 0n)
}

async function sign(request: unknown, { parts, stock, quotes }: Book): Promise<DeskAnswer> {
  const { rpc, wallet, clock, log } = parts
  const { quote: id, message: text } = isFields(request) ? request : {}
  const found = typeof id === 'string' ? quotes.get(id) : undefined
  if (!found) return refuse(404, 'the quote does not exist or has expired')
  const message = typeof text === 'string' && text.length < longestMessage ? decodeBase64url(text) : undefined
  if (!message) return refuse(400, 'message must be a transaction message in base64url')
  const details = await readExchange(message, found.terms)
  if (!details || !memoPattern.test(details.memo)) return refuse(422, 'the message differs from the quote')
  if (!(await stock.isOurChain()) || (await readRecentSlot(rpc, details.blockhash)) === undefined)
    return refuse(422, 'its blockhash is not a recent one of this chain')
  const latest = await readLifetime(rpc)
  if (!latest) return refuse(503, 'no node returned a recent blockhash')
  // From here to the mark the code is synchronous, so one of two concurrent requests is first.
  if (!found.signed) {
    if (found.until < clock.monotonic() || !quotes.has(found.id))
      return refuse(404, 'the quote does not exist or has expired')
    // No recent blockhash is valid longer than the latest.
    const { lastValidBlockHeight: lastHeight } = latest
    found.signed = { message, lastHeight, signature: signMessage(message, wallet) }
    log.info('desk.signed', { quote: found.id, memo: details.memo })
  }
  if (!equalBytes(found.signed.message, message)) return refuse(409, 'the quote was used for another message')
  return { status: 200, body: { signature: await found.signed.signature } }
}

async function signMessage(message: Uint8Array, wallet: Wallet): Promise<string> {
  const transaction = openTransaction(await signUnchanged(unsigned(message), wallet))
  return encodeBase58(transaction.signatures[readAccountIndex(transaction, wallet.address) ?? -1] ?? new Uint8Array())
}

const unknownPair = 'the desk does not trade this pair'

/** The order, or the problem with it. */
function readOrder(request: unknown, { genesis, mints, wallet }: DeskParts) {
  if (!isFields(request)) return 'the body must be { genesis, taker, sell, buy, units }'
  const { taker } = request
  if (request['genesis'] !== genesis) return 'the desk is on another chain'
  if (typeof taker !== 'string' || !decodeAddress(taker) || taker === wallet.address)
    return 'taker must be a wallet address'
  const named = (asset: unknown) =>
    listTokens(mints).find(
      (token) => findDecimals(token, mints) !== undefined && readAsset(findMint(token, mints)) === asset,
    )
  const [sell, buy, units] = [named(request['sell']), named(request['buy']), readAmount(request['units'])]
  if (sell === undefined || buy === undefined || sell === buy) return unknownPair
  if (units === undefined) return 'units must be a whole number above zero, as text'
  return { taker, sell, buy, units }
}
