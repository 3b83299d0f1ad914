/**
 * Prepared offers: the parts of a challenge that depend only on the price and the allowance. With constant prices and
 * rates, a route has one.
 */
import { formatUnits } from '../../core/money/money.ts'
import type { Amount, RateTable } from '../../core/money/rates.ts'
import { convertAll } from '../../core/money/spread.ts'
import type { Amounts, ByToken, MintTable, TokenCode } from '../../core/money/tokens.ts'
import { computeGross } from '../../core/money/transfer-fee.ts'
import { type Refusal, refuse } from '../../core/payment/refusals.ts'
import { dividePrice, type Split, type SplitPart, sumParts } from '../../core/payment/splits.ts'
import type { Offering } from '../../core/payment/token-rules.ts'
import type { ChallengeParts, Offer } from '../../core/protocol/challenge.ts'
import { fitsRequestId, prepareSeal, type Subject, type Terms } from '../../core/protocol/request-id.ts'
import type { Dialects, PreparedChallenge } from '../../dialects/join.ts'
import type { RouteConfig } from '../config/config.ts'
import type { Rates, Runtime } from '../runtime/runtime.ts'
import type { QuotedPrice } from './pricing.ts'
import type { Probe } from './token-probe.ts'

export interface PreparedOffer extends PreparedChallenge {
  seal(subject: Subject): string
  /** The price for people: "0.01". */
  readonly price: string
}

const mostOffers = 256

type Sealing = Pick<PreparedOffer, 'seal' | 'writeForeign'>

/** A requestId, and the headers that were written with it. */
export type SealedChallenge = Pick<ChallengeParts, 'requestId' | 'foreign'>

/** RequestIds of one binding that wait for their requests. */
interface SealedAhead {
  readonly offer: Sealing
  readonly proof: Subject['proof']
  /** Requests in this second. */
  asked: number
  readonly challenges: (SealedChallenge & { readonly resource: string })[]
}

const mostAhead = 64
const mostBindings = 16
/** From this many requests in a second on, a binding is frequent. */
const frequent = 8

/**
 * Seals requestIds, and writes the headers of other protocols. Between requests the processor's caches lose this code, so one
 * challenge takes much longer than each of many in a row. For a frequent binding, as many as it was requested in this second
 * are therefore sealed at once.
 *
 * An id that waited differs from a new one only in its nonce: its offer, its binding and its second are those of the
 * request. All that wait are dropped with the next second, and those of a binding with the next offer. So the blockhash in
 * waiting headers is at most a second older than the newest one.
 */
export function createSealer(): (
  offer: Sealing,
  subject: Subject,
  parts: Pick<ChallengeParts, 'resource' | 'expiresAt'>,
) => SealedChallenge {
  const waiting = new Map<Uint8Array, SealedAhead>()
  let second = -1
  return (offer, subject, parts) => {
    const { issuedAt, bindingTag, proof, claimTag } = subject
    // The claim belongs to one client.
    if (claimTag) return { requestId: offer.seal(subject) }
    if (issuedAt !== second) waiting.clear()
    second = issuedAt
    let ahead = waiting.get(bindingTag)
    if (ahead?.offer !== offer || ahead.proof !== proof) {
      if (waiting.size >= mostBindings) waiting.clear()
      ahead = { offer, proof, asked: 0, challenges: [] }
      waiting.set(bindingTag, ahead)
    }
    ahead.asked += 1
    const waited = ahead.challenges.pop()
    // Several addresses may share a binding.
    if (waited) return waited.resource === parts.resource ? waited : { requestId: waited.requestId }
    const count = ahead.asked < frequent ? 1 : Math.min(ahead.asked, mostAhead)
    const { resource, expiresAt } = parts
    for (let sealed = 1; sealed < count; sealed += 1) {
      const requestId = offer.seal(subject)
      const foreign = offer.writeForeign?.({ requestId, resource, expiresAt, proof })
      ahead.challenges.push({ requestId, resource, foreign })
    }
    return { requestId: offer.seal(subject) }
  }
}

interface OfferParts {
  readonly routeTag: Uint8Array
  readonly rates: Rates
  readonly probe: Probe
}

/** The inputs that decide the price in each token. */
interface Market {
  readonly rates: RateTable
  readonly spread: number
  readonly offered: ReadonlyMap<TokenCode, Offering>
  /** The service's own endpoints can be mounted after its first challenge. */
  readonly publicUrl: string | undefined
  /** Rewards start after the service. */
  readonly isCollected: boolean
}

export function createOffers(runtime: Runtime, config: RouteConfig, dialects: Dialects, parts: OfferParts) {
  const known = new Map<string, PreparedOffer | Refusal>()
  let last: { readonly deal: QuotedPrice; readonly offer: PreparedOffer | Refusal } | undefined
  let market: Market | undefined
  const nameOf = ({ price, allowance }: QuotedPrice): string => `${price} ${allowance.unit} ${allowance.amount}`

  const told = new Set<TokenCode>()
  const omitted = (token: TokenCode): void => {
    if (told.has(token)) return
    told.add(token)
    runtime.log.warn('token.omitted', { token, why: 'a requestId has no room for more amounts; accept fewer tokens' })
  }

  return {
    seal: createSealer(),
    /** A refusal if no accepted token currently has a price. */
    for: (deal: QuotedPrice) => {
      const [rates, offered] = [parts.rates.current(), parts.probe.offered()]
      // Both objects stay identical while their values are unchanged.
      const { publicUrl } = runtime
      const isCollected = mayCollect(runtime, config)
      const isSame = rates === market?.rates && offered === market.offered && publicUrl === market.publicUrl
      if (!isSame || isCollected !== market?.isCollected) {
        known.clear()
        last = undefined
        market = { rates, offered, spread: parts.rates.spread, publicUrl, isCollected }
      }
      // Usually all requests have the same deal.
      if (last?.deal === deal) return last.offer
      const name = nameOf(deal)
      const offer =
        known.get(name) ?? prepare(runtime, config, dialects, { routeTag: parts.routeTag, market, omitted }, deal)
      if (known.size >= mostOffers) known.clear()
      known.set(name, offer)
      last = { deal, offer }
      return offer
    },
  }
}

/** Whether a client may pay the whole price to the recipient. Without the chain, nobody could tell whether it did. */
function mayCollect(runtime: Runtime, { recipient, splits, verifyOnChain }: RouteConfig): boolean {
  return splits.length > 0 && verifyOnChain && runtime.isCollector(recipient)
}

interface PreparationParts {
  readonly routeTag: Uint8Array
  readonly market: Market
  /** Called for a token without room in the requestId. */
  readonly omitted: (token: TokenCode) => void
}

function prepare(
  runtime: Runtime,
  config: RouteConfig,
  dialects: Dialects,
  { routeTag, market, omitted }: PreparationParts,
  { price, allowance }: QuotedPrice,
): PreparedOffer | Refusal {
  const { recipient, splits, acceptedMints, mints, description, pricing } = config
  const { rates, spread, offered, publicUrl, isCollected } = market
  const { token, decimals } = pricing
  const { network } = runtime.config
  const prices = convertAll({ token, units: price, decimals }, acceptedMints, mints, rates, spread)
  const { amounts, gross, parts } = payable(prices, offered, splits)
  const common = { keyId: runtime.keyring.sealing, ttlSeconds: config.challengeTtlSeconds, routeTag, allowance }
  const terms = fitTerms({ ...common, amounts }, acceptedMints)
  const accepted = acceptedMints.filter((code) => terms.amounts[code] !== undefined)
  if (accepted.length === 0) return refuse('not_priced', { detail: 'No accepted token is available at the moment.' })
  for (const token of acceptedMints) if (amounts[token] !== undefined && !accepted.includes(token)) omitted(token)
  const offer: Offer = {
    recipient,
    currency: token,
    // The amount to send, if this token can be used. The first client of the protocol reads only this field.
    price: gross[token] ?? price,
    acceptedMints: accepted,
    amounts: gross,
    ...(splits.length > 0 && { splits: listSplits(splits, accepted, parts) }),
    ...(isCollected && { isCollected }),
    mints,
    network,
    allowance,
    ...(network === 'localnet' && { genesis: runtime.genesis }),
    ...(description !== undefined && { description }),
    ...(publicUrl !== undefined && config.checkout && { payPage: `${publicUrl}/pay/` }),
    // Without a rate of SOL, the sponsor's limits bound the loss.
    ...(config.sponsor &&
      isTooLow({ token, units: price, decimals }, config.sponsor.leastPrice, mints, rates) && { isUnsponsored: true }),
  }
  return {
    seal: prepareSeal(terms, runtime.sealWith({ recipient, splits, isCollected }), runtime.encode),
    ...dialects.prepare(offer),
    price: formatUnits(price, decimals),
  }
}

/** A requestId has a limited length. In the configured order, tokens are taken as long as their amounts fit. */
function fitTerms(terms: Terms, acceptedMints: readonly TokenCode[]): Terms {
  let fitting: Terms = { ...terms, amounts: {} }
  for (const code of acceptedMints) {
    const units = terms.amounts[code]
    if (units === undefined) continue
    const more = { ...terms, amounts: { ...fitting.amounts, [code]: units } }
    if (fitsRequestId(more)) fitting = more
  }
  return fitting
}

/** Whether a price is too low to be sponsored. Undefined without a rate of SOL. */
export function isTooLow(price: Amount, least: bigint, mints: MintTable, rates: RateTable): boolean | undefined {
  if (least === 0n) return false
  const { SOL } = convertAll(price, ['SOL'], mints, rates)
  return SOL === undefined ? undefined : SOL < least
}

interface Payable {
  /** The price in each offered token. */
  readonly amounts: Amounts
  /** The amount to send, which is more if the mint takes a fee. */
  readonly gross: Amounts
  /** The amounts to send to the wallets of the splits. */
  readonly parts: ByToken<readonly SplitPart[]>
}

function payable(prices: Amounts, offered: Market['offered'], splits: readonly Split[]): Payable {
  const amounts: Record<string, bigint> = {}
  const gross: Record<string, bigint> = {}
  const parts: Record<string, readonly SplitPart[]> = {}
  for (const [code, { fees, leastUnits }] of offered) {
    const price = prices[code]
    const divided = price === undefined ? undefined : dividePrice(price, splits)
    if (price === undefined || !divided) continue
    const all = [divided.own, ...divided.parts.map(({ units }) => units)]
    if (all.some((units) => units < leastUnits)) continue
    // The fee is taken from each transfer.
    const [own, ...sent] = all.map((units) => computeGross(units, fees))
    if (own === undefined || sent.includes(undefined)) continue
    amounts[code] = price
    parts[code] = divided.parts.map(({ recipient }, index) => ({ recipient, units: sent[index] ?? 0n }))
    gross[code] = own + sumParts(parts[code])
  }
  return { amounts, gross, parts }
}

function listSplits(splits: readonly Split[], accepted: readonly TokenCode[], parts: Payable['parts']) {
  return splits.map(({ recipient }) => ({
    recipient,
    amounts: Object.fromEntries(
      accepted.flatMap((code) => {
        const part = parts[code]?.find((one) => one.recipient === recipient)
        return part ? [[code, part.units] as const] : []
      }),
    ),
  }))
}
