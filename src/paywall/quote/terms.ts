/**
 * The terms of a route's quotes: the scope, the recipient and the parts of the request that bind a requestId to the
 * route. A route also honours the former terms of its addresses, so that a change of the configuration invalidates no
 * payment.
 */
import { equalBytes } from '../../core/encoding/hmac.ts'
import type { Incoming } from '../../core/http/http.ts'
import { type Refusal, refuse } from '../../core/payment/refusals.ts'
import { listSealable, type RecipientSet } from '../../core/payment/splits.ts'
import { type Accept, parseAccept } from '../../core/protocol/proof.ts'
import type { OpenedRequest } from '../../core/protocol/request-id.ts'
import type { Bind, BodyFacts } from '../config/binding.ts'
import { bindsBody, boundText, mayReadForm, pricedRequest, readBodyFacts } from '../config/binding.ts'
import type { RouteConfig } from '../config/config.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { QuotedPrice, RoutePricing } from './pricing.ts'

export interface QuoteTerms {
  /** The scope of the route, then the scopes that it has replaced. */
  readonly scopes: readonly string[]
  readonly tags: readonly Uint8Array[]
  /** The set of recipients of the route, then the recipients that it has replaced. */
  readonly recipientSets: readonly RecipientSet[]
  readonly binds: readonly Bind[]
  /** Whether the price depends on the request. */
  readonly isAsked: boolean
  /** Compares a requestId of these scopes with the request. */
  check(incoming: Incoming, request: OpenedRequest): Promise<Bound | Refusal>
}

/** The requestId was quoted for this request. */
interface Bound {
  readonly kind: 'bound'
  /** Whether only the method and the address of the request decided this. */
  readonly isByAddress: boolean
}

/** Former terms of an address. */
export interface FormerTerms {
  readonly terms: QuoteTerms
  /** The last second in which they were quoted. */
  readonly until: number
  /** Whether the route with these terms matched the request. */
  covers(incoming: Incoming): boolean
  /** Whether the present route has all addresses of that route. */
  readonly isContained: boolean
}

/** The quotes of a route, and the comparison of a proof's requestId with them. */
export interface RouteTerms extends QuoteTerms {
  /** The tag of a binding. `scope` covers every request of the scope. */
  tag(bind: Bind | 'scope', incoming: Incoming, body?: BodyFacts): Uint8Array
  /** The body as far as the binding needs it, or a former one if it is paid; undefined, synchronously, if it does not. */
  readBody(incoming: Incoming, isPaid: boolean): Promise<BodyFacts | Refusal> | undefined
  /**
   * The price from a provider's function. A refusal if the function and the program behind it could read different
   * values.
   */
  askPrice(incoming: Incoming, accept: Accept, body?: BodyFacts): Promise<QuotedPrice | Refusal>
}

type TermsRuntime = Pick<Runtime, 'tags'>

export function createTerms(
  { tags }: TermsRuntime,
  config: RouteConfig,
  { fixedDeal, askDeal }: RoutePricing,
): RouteTerms {
  const { bind } = config
  const scopes = [config.scope, ...config.retiredScopes]
  const binds = [bind, ...config.retiredBinds]
  const scopeTag = tags.binding('*', '*')
  const isBodyBound = { now: bindsBody(bind), ever: binds.some(bindsBody) }

  const tag: RouteTerms['tag'] = (as, incoming, body) =>
    as === 'scope' ? scopeTag : tags.binding(incoming.method, boundText(as, incoming, body))
  const readBody: RouteTerms['readBody'] = (incoming, isPaid) => {
    const isBound = isPaid ? isBodyBound.ever : isBodyBound.now
    const isForm = !fixedDeal && mayReadForm(bind, incoming)
    if (!isBound && !isForm) return undefined
    const { bodyLimitBytes: mostBytes, rawBody } = config
    return readBodyFacts(incoming, isPaid, { mostBytes, rawBody, isForm, isBound })
  }
  const askPrice: RouteTerms['askPrice'] = async (incoming, accept, body) => {
    const { request, repeated } = pricedRequest(bind, incoming, body, config.endpoint)
    const refusal = repeated()
    if (refusal) return refusal
    try {
      const dealt = await askDeal(accept, request)
      return repeated() ?? dealt
    } catch (error) {
      const why = repeated()
      if (why) return why
      throw error
    }
  }
  /**
   * The bound names are checked again with the proof, because the rest of the request can differ from the quoted one.
   * Only the function knows which form fields it must not find, so it is called again.
   */
  const findRepeated = async (bound: Bind, incoming: Incoming, body?: BodyFacts): Promise<Refusal | undefined> => {
    if (fixedDeal) return undefined
    if (!body?.form.names.length && !body?.form.unclear) return pricedRequest(bound, incoming, body).repeated()
    const accept = parseAccept(incoming.header('payment-accept'))
    const dealt = await askPrice(incoming, accept, body).catch(() => refuse('not_priced'))
    return 'code' in dealt ? dealt : undefined
  }
  return {
    scopes,
    tags: scopes.map(tags.route),
    recipientSets: [
      ...listSealable(config),
      ...config.retiredRecipients.map((recipient) => ({ recipient, splits: [] })),
    ],
    binds,
    isAsked: !fixedDeal,
    tag,
    readBody,
    askPrice,
    check: async (incoming, { bindingTag }) => {
      const tried = [...binds, 'request', 'path', 'scope'] as const
      const body = await readBody(incoming, true)
      if (body && 'code' in body) return body
      const bound = tried.find((one) => equalBytes(tag(one, incoming, body), bindingTag))
      // Requests of a whole scope have no names in common.
      const repeated = await findRepeated(bound === undefined || bound === 'scope' ? bind : bound, incoming, body)
      if (repeated) return repeated
      if (bound === undefined) return refuse('binding_mismatch')
      return { kind: 'bound', isByAddress: typeof bound === 'string' && fixedDeal !== undefined }
    },
  }
}

/** The terms of a requestId's quote. */
export type FoundTerms =
  | { readonly kind: 'quoted'; readonly recipientSets: readonly RecipientSet[]; readonly isByAddress: boolean }
  | Refusal

export interface TermsHistory {
  /** Also honours these from now on. */
  honour(former: readonly FormerTerms[]): void
  /** Whether a requestId for this recipient can be one of the route's. */
  knows(request: OpenedRequest, recipient: string): boolean
  /** Finds the terms for this request. `recipient` is undefined if the requestId does not name it. */
  find(incoming: Incoming, request: OpenedRequest, recipient: string | undefined): Promise<FoundTerms>
}

type HistoryRuntime = Pick<Runtime, 'tags' | 'findRoute'>

export function createTermsHistory({ tags, findRoute }: HistoryRuntime, own: QuoteTerms): TermsHistory {
  let former: readonly FormerTerms[] = []
  const scopeTag = tags.binding('*', '*')
  const hasRecipient = ({ recipientSets }: QuoteTerms, recipient: string | undefined): boolean =>
    recipient === undefined || recipientSets.some((recipientSet) => recipientSet.recipient === recipient)
  const hasTag = (terms: QuoteTerms, { routeTag }: OpenedRequest): boolean =>
    terms.tags.some((tag) => equalBytes(tag, routeTag))
  /**
   * Other routes may still sell for the former scope, and such a payment names no address. It counts only if it was
   * quoted while this address belonged to the scope. A payment that names its address is unambiguous.
   */
  const isInTime = ({ until }: FormerTerms, { bindingTag, issuedAt }: OpenedRequest): boolean =>
    issuedAt <= until || !equalBytes(bindingTag, scopeTag)

  return {
    honour: (added) => {
      former = added
    },
    knows: (request, recipient) =>
      [own, ...former.map(({ terms }) => terms)].some(
        (terms) => hasRecipient(terms, recipient) && hasTag(terms, request),
      ),
    find: async (incoming, request, recipient) => {
      const before = former.filter((one) => isInTime(one, request) && one.covers(incoming)).map(({ terms }) => terms)
      const paid = [own, ...before].filter((terms) => hasRecipient(terms, recipient))
      if (paid.length === 0) return refuse('binding_mismatch')
      const known = paid.filter((terms) => hasTag(terms, request))
      if (known.length === 0) return refuse(findRoute(request.routeTag) ? 'binding_mismatch' : 'route_unknown')
      let refusal = refuse('binding_mismatch')
      for (const { check, recipientSets } of known) {
        const outcome = await check(incoming, request)
        if (outcome.kind === 'bound') return { kind: 'quoted', recipientSets, isByAddress: outcome.isByAddress }
        // The refusal by the terms of its quote is more specific than the others.
        if (refusal.code === 'binding_mismatch') refusal = outcome
      }
      return refusal
    },
  }
}
