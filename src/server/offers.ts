/**
 * Offers, prepared: the parts of a challenge that are the same for all who are asked the same price for the same thing.
 * Where prices and rates stand still, a route has one.
 */
import type { ChallengeParts, Offer } from '../core/challenge.ts'
import type { Refusal } from '../core/errors.ts'
import { refuse } from '../core/errors.ts'
import type { Answer } from '../core/http.ts'
import { formatUnits } from '../core/money.ts'
import type { Subject } from '../core/request-id.ts'
import { prepareSeal } from '../core/request-id.ts'
import { spreadAll } from '../core/spread.ts'
import type { Dialect } from '../dialects/dialect.ts'
import type { RouteConfig } from './config.ts'
import type { Deal } from './pricing.ts'
import type { Rates, Service } from './service.ts'

export interface PreparedOffer {
  seal(subject: Subject): string
  answerWith(parts: ChallengeParts): Answer
  /** The price for people: "0.01". */
  readonly price: string
}

export interface Offers {
  /** A refusal where no accepted token can be priced at this moment. */
  for(deal: Deal): PreparedOffer | Refusal
}

const mostOffers = 256

interface OfferParts {
  readonly routeTag: Uint8Array
  readonly rates: Rates
}

export function createOffers(service: Service, config: RouteConfig, dialect: Dialect, parts: OfferParts): Offers {
  const known = new Map<string, PreparedOffer | Refusal>()
  let last: { readonly deal: Deal; readonly offer: PreparedOffer | Refusal } | undefined
  let version: number | undefined
  const nameOf = ({ price, allowance }: Deal): string => `${price} ${allowance.unit} ${allowance.amount}`

  return {
    for: (deal) => {
      const { version: current } = parts.rates.current()
      if (current !== version) {
        known.clear()
        last = undefined
        version = current
      }
      // The usual case is one deal for all.
      if (last?.deal === deal) return last.offer
      const name = nameOf(deal)
      const offer = known.get(name) ?? prepare(service, config, dialect, parts, deal)
      if (known.size >= mostOffers) known.clear()
      known.set(name, offer)
      last = { deal, offer }
      return offer
    },
  }
}

function prepare(
  service: Service,
  config: RouteConfig,
  dialect: Dialect,
  { routeTag, rates }: OfferParts,
  { price, allowance }: Deal,
): PreparedOffer | Refusal {
  const { recipient, acceptedMints, mints, description, pricing } = config
  const { token, decimals } = pricing
  const { network } = service.config
  const amounts = spreadAll(
    { token, units: price, decimals },
    acceptedMints,
    mints,
    rates.current().table,
    rates.spread,
  )
  const accepted = acceptedMints.filter((code) => amounts[code] !== undefined)
  if (accepted.length === 0) return refuse('chain_unavailable', { detail: 'No token can be priced at this moment.' })
  const terms = {
    keyId: service.keyring.sealing,
    ttlSeconds: config.challengeTtlSeconds,
    routeTag,
    allowance,
    amounts,
  }
  const offer: Offer = {
    recipient,
    currency: token,
    price,
    acceptedMints: accepted,
    amounts,
    mints,
    network,
    allowance,
    ...(network === 'localnet' && { genesis: service.genesis }),
    ...(description !== undefined && { description }),
  }
  return {
    seal: prepareSeal(terms, service.sealWith(recipient), service.encode),
    answerWith: dialect.prepare(offer),
    price: formatUnits(price, decimals),
  }
}
