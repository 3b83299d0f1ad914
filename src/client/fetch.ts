/**
 * `fetch` that pays: request, 402, check against the policy, pay, resend, response.
 */

import { sha256 } from '@noble/hashes/sha2.js'
import type { Wallet } from '../chain/keypair.ts'
import { encodeBase64url } from '../core/base64url.ts'
import type { Challenge } from '../core/challenge.ts'
import { readChallenge } from '../core/challenge.ts'
import type { Network } from '../core/network.ts'
import type { Clock } from '../core/ports.ts'
import { acceptHeader, formatAccept, hashClaim } from '../core/proof.ts'
import type { ProofKind } from '../core/request-id.ts'
import { deliver, watchBody } from './deliver.ts'
import { PaymentError } from './errors.ts'
import type { Intent, Journal } from './journal.ts'
import type { Nodes } from './nodes.ts'
import type { ClientEvent, ClientOptions } from './options.ts'
import { readCall, timeoutOf } from './options.ts'
import type { PayParts } from './pay.ts'
import { land, pay } from './pay.ts'
import { candidatesOf, checkChallenge } from './policy.ts'
import { readJson } from './read-json.ts'
import { toWallet } from './wallet.ts'

export interface ClientParts {
  readonly clock: Clock
  readonly nodes: Nodes
  readonly journal: () => Journal | Promise<Journal>
  /** Nodes to use when the caller names none: `PAYSTILE_RPC`. */
  readonly defaultRpc: readonly string[] | undefined
}

export interface FetchWith402 {
  (url: string | URL | Request, options: ClientOptions & RequestInit): Promise<Response>
  (url: string | URL | Request, init: RequestInit | undefined, options: ClientOptions): Promise<Response>
}

/** One request of the caller, ready to be sent as often as it takes. */
interface Errand {
  readonly url: URL
  readonly options: ClientOptions
  readonly wallet: Wallet
  readonly journal: Journal
  readonly key: string
  readonly method: string
  /** What the caller wants done with redirects of the unpaid request. */
  readonly redirect: RequestRedirect
  readonly isCancelled: () => boolean
  readonly tell: (event: ClientEvent) => void
  readonly send: Send
}

/** `as: 'GET'` leaves method and body behind, as a redirect may demand. */
type Send = (
  url: URL,
  headers: Readonly<Record<string, string>>,
  redirect: RequestRedirect,
  as?: 'GET',
) => Promise<Response>

export function createFetchWith402(parts: ClientParts): FetchWith402 {
  return async (target: string | URL | Request, first?: RequestInit | ClientOptions, second?: ClientOptions) => {
    const { init, options } = readCall(first, second)
    const errand = await prepare(parts, target, init, options)
    const resumed = options.dryRun ? undefined : await resume(parts, errand)
    return resumed ?? buy(parts, errand)
  }
}

async function prepare(
  parts: ClientParts,
  target: string | URL | Request,
  init: RequestInit,
  options: ClientOptions,
): Promise<Errand> {
  const wallet = await toWallet(options.wallet)
  const given = target instanceof Request ? target : undefined
  const url = new URL(given?.url ?? String(target))
  const method = (init.method ?? given?.method ?? 'GET').toUpperCase()
  const body = init.body ?? (given?.body ? await given.arrayBuffer() : undefined)
  if (body instanceof ReadableStream) {
    throw new PaymentError(
      'body_not_replayable',
      'A stream can be sent only once, and paying means sending twice; pass the body as text or bytes.',
    )
  }
  const headers = new Headers(init.headers ?? given?.headers)
  const callerSignal = init.signal ?? given?.signal
  const doFetch = options.fetch ?? fetch
  return {
    url,
    options,
    wallet,
    journal: options.journal ?? (await parts.journal()),
    key: keyOf(method, url, body, wallet.address),
    method,
    redirect: init.redirect ?? given?.redirect ?? 'follow',
    isCancelled: () => callerSignal?.aborted === true,
    tell: tellOf(options),
    send: async (to, more, redirect, as) => {
      const all = new Headers(headers)
      if (as) for (const name of bodyHeaders) all.delete(name)
      for (const [name, value] of Object.entries(more)) all.set(name, value)
      // Only the wait for the answer's beginning is limited: a long answer may take its time.
      const limit = new AbortController()
      const timer = setTimeout(() => limit.abort(noAnswer()), timeoutOf(options) / 2)
      const signal = callerSignal ? AbortSignal.any([callerSignal, limit.signal]) : limit.signal
      const content = as || body === undefined || body === null ? { body: null } : { body }
      const credentials = given && !init.credentials ? { credentials: given.credentials } : {}
      try {
        const request = { ...init, ...credentials, ...content, method: as ?? method, headers: all, redirect, signal }
        return await doFetch(to, request)
      } catch (error) {
        throw limit.signal.aborted ? limit.signal.reason : error
      } finally {
        clearTimeout(timer)
      }
    },
  }
}

function noAnswer(): PaymentError {
  return new PaymentError(
    'server_unavailable',
    'The server did not answer in time; try again, or give it more time with timeoutMs.',
  )
}

const bodyHeaders = ['content-type', 'content-length', 'content-encoding', 'content-language', 'content-location']

/** Whoever listens cannot come between a payment and its resource: what a listener throws is dropped. */
function tellOf({ onEvent }: ClientOptions): Errand['tell'] {
  return (event) => {
    try {
      const told: unknown = onEvent?.(event)
      if (told instanceof Promise) told.catch(() => {})
    } catch {}
  }
}

/** Finishes an earlier purchase of the same thing that was paid, or may have been, and never received. */
async function resume(parts: ClientParts, errand: Errand): Promise<Response | undefined> {
  const { journal, tell } = errand
  const intent = await journal.adopt(errand.key)
  if (!intent) return undefined
  try {
    const { tx = '', requestId } = intent
    tell({ kind: 'resumed', tx, requestId })
    const landed = intent.state === 'landed' ? intent : await follow(parts, errand, intent)
    const response = landed && (await bring(parts, errand, landed))
    if (response && response !== 'used') return response
  } catch (error) {
    await journal.release(intent.requestId)
    throw error
  }
  await journal.release(intent.requestId)
  return undefined
}

/** Undefined when the payment is known to be dead, so that a new one may be made. */
async function follow(parts: ClientParts, errand: Errand, intent: Intent): Promise<Intent | undefined> {
  const { rpc } = await connect(parts, errand, intent.network, intent.genesis)
  try {
    return await land(payParts(parts, errand, rpc), intent)
  } catch (error) {
    if (error instanceof PaymentError && error.code === 'payment_failed') return undefined
    throw error
  }
}

async function buy(parts: ClientParts, errand: Errand): Promise<Response> {
  const { options, journal } = errand
  const secret = encodeBase64url(crypto.getRandomValues(new Uint8Array(32)))
  const accept =
    options.proof === 'sig' ? ({ kind: 'sig' } as const) : ({ kind: 'claim', hash: hashClaim(secret) } as const)
  const response = await errand.send(errand.url, { [acceptHeader]: formatAccept(accept) ?? '' }, errand.redirect)
  if (response.status !== 402) return response
  const challenge = readChallenge(await readJson(response, timeoutOf(options) / 2))
  if (!challenge) return response
  const url = whereToPay(errand, response, challenge)
  const network = checkChallenge(challenge, url, options, parts.clock.now())
  const candidates = candidatesOf(challenge, network, options)
  if (options.dryRun) return response
  await response.body?.cancel()
  const proof = proofFor(challenge, accept.kind)
  const { rpc, genesis } = await connect(parts, errand, network, challenge.genesis)
  const claim = proof === 'claim' ? secret : undefined
  const purchase = { challenge, network, genesis, candidates, url, key: errand.key, claim, proof } as const
  const intent = await pay(payParts(parts, errand, rpc), purchase)
  try {
    const answer = await bring(parts, errand, intent)
    if (answer !== 'used') return answer
    throw new PaymentError('payment_refused', 'The server says that this payment has been used already.', {
      requestId: challenge.requestId,
      ...(intent.tx !== undefined && { tx: intent.tx }),
      refusal: 'payment_replay',
      status: 409,
    })
  } catch (error) {
    await journal.release(challenge.requestId)
    throw error
  }
}

/** How the payment will be shown to be ours. A server that wants what we cannot show is not paid at all. */
function proofFor({ proof = [], requestId }: Challenge, announced: ProofKind): ProofKind {
  const [wanted = 'bare', ...more] = proof
  if (more.length === 0 && (wanted === 'bare' || wanted === 'sig' || (wanted === 'claim' && announced === 'claim')))
    return wanted
  throw new PaymentError(
    'declined',
    `The server wants a proof that cannot be given (${proof.join(', ')}), so nothing was paid.`,
    { requestId },
  )
}

function connect({ nodes, defaultRpc }: ClientParts, { options }: Errand, network: Network, genesis?: string) {
  return nodes.connect(network, genesis, options.rpc ?? defaultRpc)
}

function payParts(parts: ClientParts, { journal, wallet, options, tell }: Errand, rpc: PayParts['rpc']): PayParts {
  return { rpc, clock: parts.clock, journal, wallet, options, tell }
}

/** The resource for a payment, which is held until the whole of it was read. */
async function bring(parts: ClientParts, errand: Errand, intent: Intent): Promise<Response | 'used'> {
  const { journal, wallet, options, isCancelled, tell } = errand
  const { requestId } = intent
  const url = new URL(intent.url)
  const response = await deliver(
    {
      clock: parts.clock,
      journal,
      wallet,
      timeoutMs: timeoutOf(options),
      isCancelled,
      tell,
      send: (headers) => errand.send(url, headers, 'manual'),
    },
    intent,
    url,
  )
  if (response === 'used') return response
  const end = async (whole: boolean): Promise<void> => {
    try {
      // What the resource does not count as delivered gave the payment back, and the same request may use it again.
      if (whole && response.status < 400 && response.status !== 304 && errand.method !== 'HEAD')
        await journal.change(requestId, { state: 'done' })
      await journal.release(requestId)
    } catch {
      // The resource is here. A journal that fails now costs one question to the server the next time, and no payment.
    }
  }
  if (!isRedirect(response)) return watchBody(response, end)
  await end(true)
  return followRedirect(errand, response, url)
}

function isRedirect({ type, status }: Response): boolean {
  return type === 'opaqueredirect' || (status >= 300 && status < 400 && status !== 304)
}

/** A proof never goes where the server points: a redirect is followed without it, and only within the origin. */
async function followRedirect({ send, method }: Errand, response: Response, url: URL): Promise<Response> {
  const location = response.headers.get('location')
  const to = location !== null && URL.canParse(location, url) ? new URL(location, url) : undefined
  if (to?.origin !== url.origin) {
    throw new PaymentError(
      'redirect_refused',
      `The paid answer points to ${to?.origin ?? 'another place'}, which was not paid; fetch it yourself if you trust it.`,
    )
  }
  const { status } = response
  const asGet = (status === 303 && method !== 'HEAD') || ((status === 301 || status === 302) && method === 'POST')
  return asGet ? send(to, {}, 'follow', 'GET') : send(to, {}, 'follow')
}

/** The address that asked for money: where the request ended up, if that is still the host the caller meant. */
function whereToPay({ url: asked, method }: Errand, response: Response, { requestId }: Challenge): URL {
  const url = response.url === '' ? asked : new URL(response.url)
  // A redirect may have made a GET of it, and then the challenge is for another request than the one we would pay for.
  if (response.redirected && method !== 'GET' && method !== 'HEAD') {
    throw new PaymentError(
      'redirect_refused',
      `The ${method} was redirected to ${url.href}, which asks for money; call that address itself if you mean it.`,
      { requestId },
    )
  }
  if (url.origin === asked.origin) return url
  throw new PaymentError(
    'wrong_origin',
    `${asked.origin} sent us to ${url.origin}, which asks for money; call that address itself if you mean it.`,
    { requestId },
  )
}

/** Equal for equal requests of one wallet. A body that cannot be compared makes every request its own. */
function keyOf(method: string, url: URL, body: unknown, wallet: string): string {
  const digest = (bytes: Uint8Array) => encodeBase64url(sha256(bytes))
  const encode = (text: string) => new TextEncoder().encode(text)
  const bytes = bytesOf(body, encode)
  return digest(encode([method, url.href, bytes ? digest(bytes) : crypto.randomUUID(), wallet].join('\n')))
}

function bytesOf(body: unknown, encode: (text: string) => Uint8Array): Uint8Array | undefined {
  if (body === undefined || body === null) return new Uint8Array()
  if (typeof body === 'string' || body instanceof URLSearchParams) return encode(String(body))
  if (body instanceof ArrayBuffer) return new Uint8Array(body)
  return ArrayBuffer.isView(body) ? new Uint8Array(body.buffer, body.byteOffset, body.byteLength) : undefined
}
