/** Redeems a landed payment for its resource, and records the result in the journal. */
import { parseUrl } from '../../core/encoding/url.ts'
import type { AllowanceLeft } from '../../core/payment/allowance.ts'
import { PaymentError } from '../errors.ts'
import type { Intent, Left } from '../journal/journal.ts'
import { readTimeout } from '../options.ts'
import { type Ending, readExtent, watchBody } from './body.ts'
import type { ClientParts, PaidRequest } from './paid-request.ts'
import { ignoreJournalError } from './pay.ts'
import { redeemProof } from './redeem-proof.ts'
import { readReason } from './unreachable.ts'

export type Redeemed =
  | { readonly kind: 'brought'; readonly response: Response }
  | { readonly kind: 'used' }
  | { readonly kind: 'elsewhere' }

/**
 * Fetches the resource for a payment. A payment for a single request is held until the whole body was read; a shared
 * one is not held. `elsewhere`: the refusals that only mean a wrong guess, because the server has not stated that the
 * payment is for this request.
 */
export async function redeem(
  parts: ClientParts,
  paidRequest: PaidRequest,
  intent: Intent,
  url: URL,
  elsewhere: readonly string[] = [],
): Promise<Redeemed> {
  const { clock } = parts
  const { journal, wallet, options, isCancelled, tell, hasHeader } = paidRequest
  const timeoutMs = readTimeout(options)
  const send = (headers: Readonly<Record<string, string>>) => paidRequest.send(url, headers, 'manual')
  const delivery = await redeemProof(
    { clock, journal, wallet, timeoutMs, isCancelled, tell, elsewhere, send },
    intent,
    url,
  )
  if (delivery.kind !== 'delivered') return delivery
  const { response, left } = delivery
  const now = clock.now()
  const extent = readExtent(response, hasHeader('range'), left)
  if (left?.unit === 'second') await noteWindow(paidRequest, intent, leftAfter(left, response, 0, now))
  const isUsed = isCounted(paidRequest, response)
  // Many callers do not read the body of an error. The next call uses the payment all the same.
  if (!isUsed && intent.scope === undefined) await journal.release(intent.requestId).catch(ignoreJournalError)
  const end = async (ending: Ending, bytes: number): Promise<void> => {
    if (!isUsed) return
    try {
      if (intent.scope === undefined)
        await endOwn(paidRequest, intent, ending, left ? leftAfter(left, response, bytes, now) : {})
      else if (isOver(left, ending))
        await journal.end(intent.requestId, left ? leftAfter(left, response, bytes, now) : {})
    } catch {
      // The resource is here. A failure of the journal costs one request to the server at the next call, and no
      // payment.
    }
  }
  if (isRedirect(response)) {
    await end('whole', 0)
    return { kind: 'brought', response: await followRedirect(paidRequest, response, url) }
  }
  const exhausted = (offset: number, size: number | undefined) => exhaustedError(intent, offset, size)
  return { kind: 'brought', response: await watchBody(response, { extent, end, exhausted }) }
}

/**
 * If the server does not count a response as delivered, the payment is returned, and the same request can use it again.
 */
function isCounted({ method }: PaidRequest, { status }: Response): boolean {
  return status < 400 && status !== 304 && method !== 'HEAD'
}

/** Whether the use is consumed: bytes when they were sent, a request only when it was answered. */
function isOver(left: AllowanceLeft | undefined, ending: Ending): boolean {
  return ending === 'whole' || (ending === 'cut' && left?.unit === 'byte')
}

async function endOwn(paidRequest: PaidRequest, intent: Intent, ending: Ending, { remaining }: Left): Promise<void> {
  const { journal, hasHeader } = paidRequest
  // If the caller asked for a part of a file, the rest can still be requested; the server reports when all has arrived.
  // Bytes that were not needed remain for the same request.
  const isDone =
    intent.unit === 'file'
      ? ending === 'whole' && !hasHeader('range')
      : ending !== 'broken' && (intent.unit !== 'byte' || remaining === 0)
  if (isDone) await journal.change(intent.requestId, { state: 'done' })
  await journal.release(intent.requestId)
}

/** A window is the same for all its responses, so it is recorded once. */
async function noteWindow({ journal }: PaidRequest, { requestId, until }: Intent, left: Left): Promise<void> {
  if (until === undefined || left.until === undefined || Math.abs(until - left.until) > 2_000)
    await journal.change(requestId, left).catch(() => {})
}

/** The rest after a response with this many bytes, with its end by the server's clock. */
function leftAfter({ unit, remaining, until }: AllowanceLeft, response: Response, bytes: number, now: number): Left {
  if (unit === 'second')
    return { remaining, until: Math.min(now + readSkew(response, now) + remaining * 1000, latestTime) }
  const isDecoded = (response.headers.get('content-encoding') ?? 'identity') !== 'identity'
  const rest = unit === 'byte' ? Math.max(0, remaining - (isDecoded ? 0 : bytes)) : remaining
  return { remaining: rest, ...(until !== undefined && { until: Date.parse(until) }) }
}

/** The latest time of a `Date`. The journal could not return a much larger number. */
const latestTime = 8.64e15

/** The lead of the server's clock over the local one, with a precision of one second. */
export function readSkew(response: Response, now: number): number {
  const skew = Date.parse(response.headers.get('date') ?? '') - now
  return Math.abs(skew) > 2_000 ? skew : 0
}

function exhaustedError({ requestId, tx }: Intent, offset: number, size: number | undefined): PaymentError {
  const end = size === undefined ? '' : ` of ${size}`
  return new PaymentError(
    'allowance_exhausted',
    `The allowance ended at byte ${offset}${end}. Continue with the header Range: bytes=${offset}-, which makes another payment.`,
    { requestId, ...(tx !== undefined && { tx }), offset, ...(size !== undefined && { size }) },
  )
}

export function isRedirect({ type, status }: Response): boolean {
  return type === 'opaqueredirect' || (status >= 300 && status < 400 && status !== 304)
}

/**
 * A proof is never sent to the target of a redirect. A redirect is followed without it, only within the origin, and
 * only if the caller follows redirects.
 */
export async function followRedirect(paidRequest: PaidRequest, response: Response, url: URL): Promise<Response> {
  const { send, method, redirect } = paidRequest
  if (redirect === 'manual') return response
  const location = response.headers.get('location')
  const to = location === null ? undefined : parseUrl(location, url)
  const place = to?.href ?? 'another place'
  if (to?.origin !== url.origin) {
    throw new PaymentError(
      'redirect_refused',
      `The paid response redirects to ${place}, which was not paid. Fetch it yourself if you trust it.`,
    )
  }
  if (redirect === 'error') {
    throw new PaymentError(
      'redirect_refused',
      `The paid response redirects to ${place}, but redirect is 'error'. Fetch that address yourself: the next call makes a new payment.`,
    )
  }
  const { status } = response
  const asGet = (status === 303 && method !== 'HEAD') || ((status === 301 || status === 302) && method === 'POST')
  try {
    return await (asGet ? send(to, {}, 'follow', 'GET') : send(to, {}, 'follow'))
  } catch (error) {
    const reason = readReason(error)
    if (reason === undefined) throw error
    throw new PaymentError(
      'paid_not_delivered',
      `The payment was made, and its response redirects to ${to.href}, which cannot be reached (${reason || 'no connection'}). Fetch that address yourself: the next call makes a new payment.`,
      {},
      { cause: error },
    )
  }
}
