/**
 * A protected route: its quotes, and the binding of its requestIds. A response to an unpaid request needs no I/O and
 * stores nothing, so a flood of such requests is harmless. Only a provider's own functions may take time.
 */

import { nameEndpoint } from '../../core/http/endpoint.ts'
import { type Answer, asciiJson, type Incoming } from '../../core/http/http.ts'
import { type Allowance, isOneRequest, isShared } from '../../core/payment/allowance.ts'
import type { Refusal } from '../../core/payment/refusals.ts'
import type { RefusedPayment } from '../../core/protocol/challenge.ts'
import { type Accept, parseAccept } from '../../core/protocol/proof.ts'
import type { Dialects } from '../../dialects/join.ts'
import type { BodyFacts } from '../config/binding.ts'
import type { RouteConfig } from '../config/config.ts'
import type { Rates, Runtime } from '../runtime/runtime.ts'
import { createOffers, type PreparedOffer } from './offers.ts'
import { createOriginCheck, type OriginCheck } from './origins.ts'
import { createRoutePricing, type QuotedPrice } from './pricing.ts'
import { clockWrong } from './readiness-report.ts'
import { createTerms, createTermsHistory, type FormerTerms, type QuoteTerms, type TermsHistory } from './terms.ts'
import type { Probe } from './token-probe.ts'

export interface Quoted {
  readonly kind: 'quoted'
  readonly answer: Answer
  readonly requestId: string
  /** The price for people: "0.01". */
  readonly price: string
  /** The name in analytics. */
  readonly endpoint: string
}

/** The terms of a route that issues no more quotes, and the last second in which it did. */
export interface ConcludedTerms {
  readonly terms: QuoteTerms
  readonly until: number
}

export interface Route {
  readonly config: RouteConfig
  readonly rates: Rates
  /** Tags of its scope, and of scopes that it has replaced. */
  readonly tags: readonly Uint8Array[]
  /** The reason that nothing is sold now, in one sentence for the operator. Completed payments are still served. */
  whyClosed(): string | undefined
  /**
   * Synchronous, unless a provider's function is called or a body is read. Throws if these fail. `refused` tells the
   * client why its payment was refused.
   */
  quote(incoming: Incoming, refused?: RefusedPayment): Quoted | Refusal | Promise<Quoted | Refusal>
  /** The same for a person in a browser, who can open the purchase again if `reopen` is set. */
  quoteVisitor(incoming: Incoming): Quoted | Refusal | Promise<Quoted | Refusal>
  /** The terms of a requestId for this request, as in `TermsHistory`. */
  readonly findTerms: TermsHistory['find']
  readonly knows: TermsHistory['knows']
  /** Stops quoting. Returns the terms of the issued quotes, for the next route. */
  conclude(): ConcludedTerms
  /** Also honours these quotes, which were issued before the quotes of this route. */
  honour(former: readonly FormerTerms[]): void
  /** Whether one of the origins under which a client may have known this service passes the check. */
  readonly hasOrigin: OriginCheck
}

export function createRoute(runtime: Runtime, config: RouteConfig, dialects: Dialects, probe: Probe): Route {
  const { publicUrl, bind, pricing, proofTtlSeconds } = config
  const dealing = createRoutePricing(pricing)
  const { fixedDeal } = dealing
  const terms = createTerms(runtime, config, dealing)
  const history = createTermsHistory(runtime, terms)
  const about = { endpoint: config.endpoint?.path ?? '', proofTtlSeconds }
  runtime.register(terms.scopes, terms.recipientSets, about)
  const [routeTag = new Uint8Array()] = terms.tags
  const rates = runtime.openRates(config.rates, config.mints)
  rates.keep()
  const offers = createOffers(runtime, config, dialects, { routeTag, rates, probe })
  const expiry = createExpiryText()
  let concludedAt: number | undefined

  const resourceOf = (incoming: Incoming, origin: string) => asciiJson(`${publicUrl ?? origin}${incoming.target}`)
  // A payment for several requests is valid for the whole scope that the provider named, or else for one path.
  const sharedTag = (incoming: Incoming): Uint8Array => terms.tag(config.hasScope ? 'scope' : 'path', incoming)
  const isAlwaysShared = pricing.per.kind === 'allowance' && isShared(pricing.per.allowance)
  const placeOf = keepPlaces((incoming, origin) => ({
    bindingTag: isAlwaysShared ? sharedTag(incoming) : typeof bind === 'object' ? undefined : terms.tag(bind, incoming),
    resource: resourceOf(incoming, origin),
    endpoint: nameEndpoint(config.endpoint, incoming),
  }))

  const write = (
    incoming: Incoming,
    accept: Accept,
    deal: QuotedPrice,
    offer: PreparedOffer,
    { body, refused, window }: QuoteFacts,
  ): Quoted => {
    const isWide = !isOneRequest(deal.allowance)
    const proof = acceptedProof(config, accept, isWide)
    const issuedAt = concludedAt ?? runtime.quoteSecond()
    const place = placeOf(incoming)
    // Bytes at the price of a cheap request must not pay for those of an expensive one.
    const shared = !window && isShared(deal.allowance) && typeof pricing.price !== 'function'
    const known = !window && shared === isAlwaysShared ? place.bindingTag : undefined
    // The window of a visitor opens one address with its query, whatever a single request is bound to.
    const tag = () => (shared ? sharedTag(incoming) : terms.tag(window ? 'request' : bind, incoming, body))
    const bindingTag = known ?? tag()
    const claimTag = proof.kind === 'claim' ? runtime.tags.claim(proof.hash) : undefined
    const expiresAt = expiry(issuedAt + config.challengeTtlSeconds)
    const { resource, endpoint } = place
    const subject = { issuedAt, proof: proof.kind, bindingTag, claimTag }
    const { requestId, foreign } = offers.seal(offer, subject, { resource, expiresAt })
    const scopeText = shared ? { scope: runtime.encode(Uint8Array.from([...routeTag, ...bindingTag]), 12) } : {}
    const answer = offer.answerWith(
      { requestId, resource, expiresAt, proof: proof.kind, ...scopeText, foreign, refused },
      incoming,
    )
    return { kind: 'quoted', answer, requestId, price: offer.price, endpoint }
  }
  const offerFor = (incoming: Incoming, accept: Accept, dealt: QuotedPrice, facts: QuoteFacts): Quoted | Refusal => {
    const deal = facts.window ? { price: dealt.price, allowance: facts.window } : dealt
    const offer = offers.for(deal)
    return 'code' in offer ? offer : write(incoming, accept, deal, offer, facts)
  }
  const deal = (incoming: Incoming, accept: Accept, facts: QuoteFacts) => {
    if (fixedDeal) return offerFor(incoming, accept, fixedDeal(accept), facts)
    return terms
      .askPrice(incoming, accept, facts.body)
      .then((dealt) => ('code' in dealt ? dealt : offerFor(incoming, accept, dealt, facts)))
  }

  const quote = (incoming: Incoming, facts: QuoteFacts) => {
    if (runtime.clockCheck.why() !== undefined) return clockWrong
    const accept = parseAccept(incoming.header('payment-accept'))
    const reading = terms.readBody(incoming, false)
    if (!reading) return deal(incoming, accept, facts)
    return reading.then((body) => ('code' in body ? body : deal(incoming, accept, { ...facts, body })))
  }

  return {
    config,
    rates,
    tags: terms.tags,
    findTerms: history.find,
    knows: history.knows,
    conclude: () => {
      concludedAt = runtime.quoteSecond()
      return { terms, until: concludedAt }
    },
    honour: (former) => {
      history.honour(former)
      for (const { terms: before, until, isContained } of former) {
        runtime.register(isContained ? before.scopes : [], before.recipientSets, about)
        runtime.quoteAfter(until)
      }
    },
    whyClosed: () => runtime.clockCheck.why(),
    quote: (incoming, refused) => quote(incoming, { refused }),
    quoteVisitor: (incoming) => quote(incoming, { window: config.reopen }),
    hasOrigin: createOriginCheck(publicUrl),
  }
}

/** The facts of a request that a quote may need. */
interface QuoteFacts {
  readonly body?: BodyFacts
  readonly refused?: RefusedPayment | undefined
  /** The allowance of a visitor, in place of one request. */
  readonly window?: Allowance | undefined
}

/** If a copied proof must be useless, a client that announced nothing must sign. */
function acceptedProof(config: RouteConfig, accept: Accept, isWide: boolean): Accept {
  return accept.kind === 'bare' && (isWide || config.proofBinding === 'required') ? { kind: 'sig' } : accept
}

/** The parts of a challenge that depend on the requested address. */
interface Place {
  /** Undefined if the binding has more parts than the address. */
  readonly bindingTag: Uint8Array | undefined
  readonly resource: string
  readonly endpoint: string
}

/** Most requests are for a few addresses, so these parts are cached: about a megabyte at most. */
const mostPlaces = 1024
const longestPlace = 512

function keepPlaces(work: (incoming: Incoming, origin: string) => Place): (incoming: Incoming) => Place {
  const known = new Map<string, Place & { readonly method: string; readonly origin: string }>()
  return (incoming) => {
    const { method, target } = incoming
    const origin = incoming.origin()
    const found = known.get(target)
    if (found && found.method === method && found.origin === origin) return found
    const place = work(incoming, origin)
    if (known.size >= mostPlaces) known.clear()
    // A copy, because a substring would keep the whole original text in memory.
    if (target.length + origin.length <= longestPlace)
      known.set(JSON.parse(JSON.stringify(target)), { ...place, method, origin })
    return place
  }
}

/** RFC 3339 text of a second, which thousands of challenges share. */
function createExpiryText(): (second: number) => string {
  let last = -1
  let text = ''
  return (second) => {
    if (second !== last) {
      last = second
      text = new Date(second * 1000).toISOString().replace('.000Z', 'Z')
    }
    return text
  }
}
