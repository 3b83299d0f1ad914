/**
 * A protected route: what it asks for, and how its requestIds are tied to it. Answering an unpaid request here does no
 * input or output and stores nothing, so a flood of them is harmless.
 */
import { oneRequest } from '../core/allowance.ts'
import type { Offer } from '../core/challenge.ts'
import type { Answer, Incoming } from '../core/http.ts'
import { asciiJson } from '../core/http.ts'
import { formatUnits } from '../core/money.ts'
import { decimalsOf } from '../core/network.ts'
import type { Accept } from '../core/proof.ts'
import { parseAccept } from '../core/proof.ts'
import { prepareSeal } from '../core/request-id.ts'
import type { Dialect } from '../dialects/dialect.ts'
import type { RouteConfig } from './config.ts'
import type { Service } from './service.ts'

export interface Quoted {
  readonly answer: Answer
  readonly requestId: string
}

export interface Route {
  readonly config: RouteConfig
  /** The price for people: "0.01". */
  readonly price: string
  /** Tags of its scope, and of scopes it has replaced. */
  readonly tags: readonly Uint8Array[]
  /** Its recipient, and those it has replaced. */
  readonly recipients: readonly string[]
  quote(incoming: Incoming): Quoted
  bindingOf(bind: RouteConfig['bind'], incoming: Incoming): Uint8Array
  /** The origins under which a client may have known this service. */
  originsOf(incoming: Incoming): readonly string[]
}

export function createRoute(service: Service, config: RouteConfig, dialect: Dialect): Route {
  const { recipient, scope, challengeTtlSeconds: ttlSeconds, amounts, publicUrl } = config
  const scopes = [scope, ...config.retiredScopes]
  const recipients = [recipient, ...config.retiredRecipients]
  service.register(scopes, recipients)
  service.welcome(recipient)
  const tags = scopes.map(service.tags.route)
  const [routeTag = new Uint8Array()] = tags
  const terms = { keyId: service.keyring.sealing, ttlSeconds, routeTag, allowance: oneRequest, amounts }
  const seal = prepareSeal(terms, service.sealWith(recipient), service.encode)
  const answerWith = dialect.prepare(offerOf(service, config))
  const expiry = createExpiryText()
  const publicOrigin = publicUrl === undefined ? undefined : new URL(publicUrl).origin

  const bindingOf: Route['bindingOf'] = (bind, { method, target }) => {
    if (bind === 'request') return service.tags.binding(method, target)
    const query = target.indexOf('?')
    // The star keeps it apart from the same path bound exactly, which must not open a request with a query.
    return service.tags.binding(method, `${query < 0 ? target : target.slice(0, query)}\n*`)
  }

  const placeOf = keepPlaces((incoming, origin) => ({
    bindingTag: bindingOf(config.bind, incoming),
    resource: asciiJson(`${publicUrl ?? origin}${incoming.target}`),
  }))

  return {
    config,
    price: formatUnits(config.price, decimalsOf(config.currency, config.mints) ?? 0),
    tags,
    recipients,
    bindingOf,
    originsOf: (incoming) => {
      if (publicOrigin !== undefined) return [publicOrigin]
      const host = incoming.origin().replace(/^https?:/, '')
      // Behind a proxy that ends TLS we see http where the client saw https; the host is what tells services apart.
      return [`https:${host}`, `http:${host}`]
    },
    quote: (incoming) => {
      const accept = acceptOf(config, incoming)
      const issuedAt = Math.floor(service.clock.now() / 1000)
      const { bindingTag, resource } = placeOf(incoming)
      const requestId = seal({
        issuedAt,
        proof: accept.kind,
        bindingTag,
        claimTag: accept.kind === 'claim' ? service.tags.claim(accept.hash) : undefined,
      })
      const answer = answerWith({ requestId, resource, expiresAt: expiry(issuedAt + ttlSeconds), proof: accept.kind })
      return { answer, requestId }
    },
  }
}

/** What a challenge says of the address that was asked for. */
interface Place {
  readonly bindingTag: Uint8Array
  readonly resource: string
}

/** Most requests are for a few addresses, so what is said of them is kept: about a megabyte at the most. */
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
    // A copy: a text that was cut out of a longer one would keep all of that alive.
    if (target.length + origin.length <= longestPlace)
      known.set(JSON.parse(JSON.stringify(target)), { ...place, method, origin })
    return place
  }
}

/** Where a copied proof must be worthless, a client that announced nothing is asked for its signature. */
function acceptOf(config: RouteConfig, incoming: Incoming): Accept {
  const accept = parseAccept(incoming.header('payment-accept'))
  return accept.kind === 'bare' && config.proofBinding === 'required' ? { kind: 'sig' } : accept
}

function offerOf(service: Service, config: RouteConfig): Offer {
  const { recipient, currency, price, acceptedMints, amounts, mints, description } = config
  const { network } = service.config
  return {
    recipient,
    currency,
    price,
    acceptedMints,
    amounts,
    mints,
    network,
    allowance: oneRequest,
    ...(network === 'localnet' && { genesis: service.genesis }),
    ...(description !== undefined && { description }),
  }
}

/** RFC 3339 text of a second; thousands of challenges share one. */
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
