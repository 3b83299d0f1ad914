/** The unpaid request: reads the price of the resource, and where and how to pay it. */
import { encodeBase64url } from '../../core/encoding/base64url.ts'
import type { Network } from '../../core/money/tokens.ts'
import { isShared, type Offered, readOffered } from '../../core/payment/allowance.ts'
import { type Challenge, listProofKeys, readChallenge } from '../../core/protocol/challenge.ts'
import { acceptHeader, formatAccept, hashClaim } from '../../core/protocol/proof.ts'
import { openRequest, type ProofKind } from '../../core/protocol/request-id.ts'
import { PaymentError } from '../errors.ts'
import type { Intent } from '../journal/journal.ts'
import { readTimeout } from '../options.ts'
import { checkChallenge, listCandidates, readExpiry } from '../policy.ts'
import { listPermitted, readForeignOffers } from '../protocols/choose.ts'
import { readJson } from '../read-json.ts'
import { canSignMessages } from '../wallet.ts'
import type { ForeignReading } from './foreign-purchase.ts'
import { type ClientParts, connect, digest, type PaidRequest } from './paid-request.ts'
import { pay, payParts } from './pay.ts'
import { readSkew } from './redeem.ts'
import { explainUnreachable } from './unreachable.ts'

/** A challenge that passed the policy's first checks. */
export interface ChallengeReading {
  readonly kind: 'asked'
  /** The 402, with its body unread. */
  readonly response: Response
  readonly challenge: Challenge
  /** The address that sent the challenge. */
  readonly url: URL
  readonly network: Network
  /** The kind of proof that the client announced. */
  readonly announced: ProofKind
  readonly secret: string
  /** The allowance for sale, if the server states it. */
  readonly allowance: Offered | undefined
  /** Identifies its scope, if it is for more than one request. */
  readonly scope: string | undefined
  /** The lead of the server's clock over the local one. */
  readonly skewMs: number
}

/** Sends the unpaid request. A response other than 402 is the result. */
export async function requestChallenge(
  parts: ClientParts,
  paidRequest: PaidRequest,
): Promise<ChallengeReading | ForeignReading | Response> {
  const { options, wallet } = paidRequest
  const isNative = options.protocols?.includes('paystile') ?? true
  const secret = encodeBase64url(crypto.getRandomValues(new Uint8Array(32)))
  const kind =
    options.proof === 'sig' ? ({ kind: 'sig' } as const) : ({ kind: 'claim', hash: hashClaim(secret) } as const)
  const bytes = options.prepayBytes === undefined ? {} : { bytes: BigInt(options.prepayBytes) }
  const header = formatAccept({ ...kind, ...bytes }) ?? ''
  const { url: target, redirect, send } = paidRequest
  const response = await send(target, isNative ? { [acceptHeader]: header } : {}, redirect).catch((error: unknown) => {
    throw explainUnreachable(error, target)
  })
  if (response.status !== 402) return response
  const body = await readJson(response, readTimeout(options) / 2)
  const found = isNative ? readChallenge(body) : undefined
  if (!found) return readForeign(parts, paidRequest, response, body)
  const challenge = limitExpiry(found, parts.clock.now())
  const url = whereToPay(paidRequest, response, challenge.requestId)
  const network = checkChallenge(challenge, url, options, parts.clock.now())
  const allowance = readOffered(challenge.allowance)
  const scope =
    allowance && isShared(allowance) && challenge.scope !== undefined
      ? digest([url.origin, challenge.scope, wallet.address, network, challenge.genesis ?? ''])
      : undefined
  const skewMs = readSkew(response, parts.clock.now())
  return { kind: 'asked', response, challenge, url, network, announced: kind.kind, secret, allowance, scope, skewMs }
}

/**
 * A challenge is new when it arrives, so it ends its own lifetime later at the latest. To a clock that is slow, it seems to
 * last longer.
 */
function limitExpiry(challenge: Challenge, now: number): Challenge {
  const { ttlSeconds = Number.POSITIVE_INFINITY } = openRequest(challenge.requestId) ?? {}
  const latest = now + ttlSeconds * 1000
  return readExpiry(challenge) > latest ? { ...challenge, expiresAt: new Date(latest).toISOString() } : challenge
}

/** A 402 without an offer that the client knows is the result. */
function readForeign(
  { clock }: ClientParts,
  paidRequest: PaidRequest,
  response: Response,
  body: unknown,
): ForeignReading | Response {
  const { options, wallet, hasHeader } = paidRequest
  const offers = readForeignOffers(response, body, options)
  if (offers.length === 0) return response
  const requestId = crypto.randomUUID()
  const url = whereToPay(paidRequest, response, requestId)
  const question = { url, options, payer: wallet.address, hasHeader, now: clock.now(), requestId }
  return { kind: 'foreign', response, url, requestId, permitted: listPermitted(offers, question) }
}

/** Pays the challenge. The returned intent has landed, and the caller holds it until it releases it. */
export async function payChallenge(
  parts: ClientParts,
  paidRequest: PaidRequest,
  asked: ChallengeReading,
): Promise<Intent> {
  const { challenge, url, network, allowance, scope } = asked
  const candidates = listCandidates(challenge, network, paidRequest.options)
  const proof = chooseProofKind(challenge, asked.announced)
  if (proof === 'sig' && !canSignMessages(paidRequest.wallet))
    throw new PaymentError(
      'declined',
      'The server requires a signature as proof, and this wallet cannot sign messages. Nothing was paid.',
      { requestId: challenge.requestId },
    )
  const connection = await connect(parts, paidRequest, network, challenge.genesis)
  const { genesis } = connection
  const claim = proof === 'claim' ? asked.secret : undefined
  const terms = { challenge, network, genesis, candidates, url, allowance, scope }
  // The key differs from that of earlier versions: they would treat an allowance for many requests as one for a single
  // request, and write it off.
  return pay(payParts(parts, paidRequest, connection), { ...terms, key: scope ?? paidRequest.key, claim, proof })
}

/** Chooses the kind of proof. A server that requires an unsupported kind is not paid. */
function chooseProofKind(challenge: Challenge, announced: ProofKind): ProofKind {
  const { proof = [], requestId } = challenge
  const keys = listProofKeys(challenge)
  const [wanted = 'bare', ...more] = keys ?? proof
  if (
    keys &&
    more.length === 0 &&
    (wanted === 'bare' || wanted === 'sig' || (wanted === 'claim' && announced === 'claim'))
  )
    return wanted
  throw new PaymentError(
    'declined',
    `The server requires an unsupported proof (${proof.join(', ')}). Nothing was paid.`,
    { requestId },
  )
}

/** The address that sent the challenge: the end of the redirects, if it is still the caller's host. */
function whereToPay({ url: asked, method }: PaidRequest, response: Response, requestId: string): URL {
  const url = response.url === '' ? asked : new URL(response.url)
  // A redirect may have changed the method to GET. Then the challenge is for another request than the paid one.
  if (response.redirected && method !== 'GET' && method !== 'HEAD') {
    throw new PaymentError(
      'redirect_refused',
      `The ${method} was redirected to ${url.href}, which requires payment. Call that address directly to pay it.`,
      { requestId },
    )
  }
  if (url.origin === asked.origin) return url
  throw new PaymentError(
    'wrong_origin',
    `${asked.origin} redirected to ${url.origin}, which requires payment. Call that address directly to pay it.`,
    { requestId },
  )
}
