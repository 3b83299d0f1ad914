/** From a payment that landed to its resource, and what the end of that means for the journal. */
import type { AllowanceLeft } from '../../core/payment/allowance.ts'
import { PaymentError } from '../errors.ts'
import type { Intent, Left } from '../journal/journal.ts'
import { readTimeout } from '../options.ts'
import type { Ending } from './body.ts'
import { readExtent, watchBody } from './body.ts'
import type { ClientParts, PaidRequest } from './paid-request.ts'
import { redeemProof } from './redeem-proof.ts'

export type Redeemed =
  | { readonly kind: 'brought'; readonly response: Response }
  | { readonly kind: 'used' }
  | { readonly kind: 'elsewhere' }

/**
 * The resource for a payment. One that is for a single request is held until the whole of it was read; one that is shared
 * is held by nobody. `elsewhere`: the refusals that are no more than a wrong guess, where the server has not said that it is
 * for this request.
 */
export async function redeem(
  parts: ClientParts,
  paidRequest: PaidRequest,
  intent: Intent,
  url: URL,
  elsewhere: readonly string[] = [],
): Promise<Redeemed> {
  const { clock } = parts
  const { journal, wallet, options, isCancelled, tell, asksForPart } = paidRequest
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
  const extent = readExtent(response, asksForPart, left)
  if (left?.unit === 'second') await noteWindow(paidRequest, intent, leftAfter(left, response, 0, now))
  const end = async (ending: Ending, bytes: number): Promise<void> => {
    try {
      if (intent.scope === undefined)
        await endOwn(paidRequest, intent, response, ending, left ? leftAfter(left, response, bytes, now) : {})
      else if (isCounted(paidRequest, response) && isOver(left, ending))
        await journal.end(intent.requestId, left ? leftAfter(left, response, bytes, now) : {})
    } catch {
      // The resource is here. A journal that fails now costs one question to the server the next time, and no payment.
    }
  }
  if (isRedirect(response)) {
    await end('whole', 0)
    return { kind: 'brought', response: await followRedirect(paidRequest, response, url) }
  }
  const exhausted = (offset: number, size: number | undefined) => exhaustedError(intent, offset, size)
  return { kind: 'brought', response: await watchBody(response, { extent, end, exhausted }) }
}

/** What the resource does not count as delivered gave the payment back, and the same request may use it again. */
function isCounted({ method }: PaidRequest, { status }: Response): boolean {
  return status < 400 && status !== 304 && method !== 'HEAD'
}

/** Whether nothing of this use comes back: bytes are gone when they were sent, a request only when it was answered. */
function isOver(left: AllowanceLeft | undefined, ending: Ending): boolean {
  return ending === 'whole' || (ending === 'cut' && left?.unit === 'byte')
}

async function endOwn(
  paidRequest: PaidRequest,
  intent: Intent,
  response: Response,
  ending: Ending,
  { remaining }: Left,
): Promise<void> {
  const { journal, asksForPart } = paidRequest
  // A part of a file that the caller asked for leaves the rest to be asked for. That all has come the server will say.
  // Bytes that were not needed this time are good for the same request again.
  const isDone =
    intent.unit === 'file'
      ? ending === 'whole' && !asksForPart
      : ending !== 'broken' && (intent.unit !== 'byte' || remaining === 0)
  if (isDone && isCounted(paidRequest, response)) await journal.change(intent.requestId, { state: 'done' })
  await journal.release(intent.requestId)
}

/** A window is the same for all its answers: written down when it is first heard of. */
async function noteWindow({ journal }: PaidRequest, { requestId, until }: Intent, left: Left): Promise<void> {
  if (until === undefined || left.until === undefined || Math.abs(until - left.until) > 2_000)
    await journal.change(requestId, left).catch(() => {})
}

/** What is left after an answer with so many bytes, with its end by our own clock. */
function leftAfter({ unit, remaining, until }: AllowanceLeft, response: Response, bytes: number, now: number): Left {
  if (unit === 'second') return { remaining, until: now + remaining * 1000 }
  const end = until === undefined ? Number.NaN : Date.parse(until) - readSkew(response, now)
  const isDecoded = (response.headers.get('content-encoding') ?? 'identity') !== 'identity'
  const rest = unit === 'byte' ? Math.max(0, remaining - (isDecoded ? 0 : bytes)) : remaining
  return { remaining: rest, ...(Number.isFinite(end) && { until: end }) }
}

/** How far the server's clock is ahead of ours, as its answer tells to the second. */
function readSkew(response: Response, now: number): number {
  const skew = Date.parse(response.headers.get('date') ?? '') - now
  return Math.abs(skew) > 2_000 ? skew : 0
}

function exhaustedError({ requestId, tx }: Intent, offset: number, size: number | undefined): PaymentError {
  const end = size === undefined ? '' : ` of ${size}`
  return new PaymentError(
    'allowance_exhausted',
    `What was paid for ended at byte ${offset}${end}; go on with the header Range: bytes=${offset}-, which pays for more.`,
    { requestId, ...(tx !== undefined && { tx }), offset, ...(size !== undefined && { size }) },
  )
}

function isRedirect({ type, status }: Response): boolean {
  return type === 'opaqueredirect' || (status >= 300 && status < 400 && status !== 304)
}

/** A proof never goes where the server points: a redirect is followed without it, and only within the origin. */
async function followRedirect({ send, method }: PaidRequest, response: Response, url: URL): Promise<Response> {
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
