/**
 * Frameworks with `Request` and `Response` that hide the socket. The closest observable event to the real end of a
 * response is that its last chunk is requested and taken. A client that leaves cancels the stream, which returns the
 * grant. Node's own response, if there is one, shows whether a large body arrived.
 */
import type { ServerResponse } from 'node:http'
import { type Answer, cacheDirective, type Incoming } from '../core/http/http.ts'
import { statusHeader } from '../core/payment/delivery.ts'
import { emptyBody, findWrapping, unwrappedHeaders } from '../core/payment/envelope.ts'
import type { ByteQuota } from '../paywall/delivery/byte-quota.ts'
import type { Delivery } from '../paywall/delivery/delivery.ts'
import { readWebBody } from './body.ts'
import { awaitEnd } from './node-response/arrival.ts'
import { responseBehind } from './node-response/current-response.ts'

export function readWebIncoming(request: Request): Incoming {
  const url = new URL(request.url)
  return {
    request,
    method: request.method,
    target: `${url.pathname}${url.search}`,
    header: (name) => request.headers.get(name) ?? undefined,
    rawHeaders: () => [...request.headers].flat(),
    // Some frameworks (Next) write their own name into the URL. The Host header has the name that the client sent.
    origin: () => `${url.protocol}//${request.headers.get('host') ?? url.host}`,
    peer: () => undefined,
    body: (mostBytes) => readWebBody(request, mostBytes),
  }
}

export function createResponse(answer: Answer): Response {
  // A 204 must not have a body, not even an empty one.
  const { status, headers, cookies = [] } = answer
  const body = answer.bytes ? Uint8Array.from(answer.bytes) : answer.body
  const response = new Response(body === '' ? null : body, { status, headers })
  for (const [name, value] of answer.varying ?? []) response.headers.set(name, value)
  for (const cookie of cookies) response.headers.append('Set-Cookie', cookie)
  return response
}

/** A pass on its way through a runtime that hides the socket, and how much of the body was taken. */
export interface WebDelivery {
  readonly pass: Delivery
  readonly method: string
  readonly response: ServerResponse | undefined
  bodyBytes: number
}

/** Begins a delivery, which ends when the client leaves. Undefined when it has left already. */
export function beginDelivery(pass: Delivery, { method, signal }: Request): WebDelivery | undefined {
  const delivery = { pass, method, response: responseBehind(), bodyBytes: 0 }
  const leave = (): void => pass.end('aborted', delivery.bodyBytes)
  signal.addEventListener('abort', leave, { once: true })
  if (!signal.aborted) return delivery
  pass.end('failed', 0)
  return undefined
}

/** The response for a client that has left. */
export function ignoreNext(): Response {
  return new Response(null, { status: 499 })
}

/** The response if the lease expired before the handler finished: another request may be using the payment by now. */
function lateAnswer(): Response {
  const headers = { [statusHeader]: 'retry', 'Retry-After': '1', 'Cache-Control': 'no-store' }
  return new Response(null, { status: 503, headers })
}

/** The handler's response, watched to its end. */
export function deliver(delivery: WebDelivery, response: Response): Response {
  const { pass } = delivery
  if (!pass.isAlive()) {
    response.body?.cancel().catch(() => {})
    pass.end('failed', 0)
    return lateAnswer()
  }
  const headers = new Headers([...response.headers].filter(([name]) => !cacheDirective.test(name)))
  const known = headers.get('content-length')
  const beginning = pass.begin({
    status: response.status,
    length: known === null ? undefined : Number(known),
    contentRange: headers.get('content-range') ?? undefined,
    type: headers.get('content-type') ?? undefined,
  })
  if (beginning.instead) {
    response.body?.cancel().catch(() => {})
    pass.end('failed', 0)
    return createResponse(beginning.instead)
  }
  for (const [name, value] of beginning.headers) setPaidHeader(headers, name, value)
  const wrapping = findWrapping(pass.envelope, {
    status: response.status,
    type: headers.get('content-type') ?? undefined,
    encoding: headers.get('content-encoding') ?? undefined,
  })
  if (wrapping) {
    headers.delete('content-length')
    for (const name of unwrappedHeaders) headers.delete(name)
  }
  const { status, quota } = beginning
  const statusText = status === response.status ? response.statusText : ''
  const given = response.body ?? (wrapping ? new Response('').body : null)
  if (given === null || delivery.method === 'HEAD') {
    // Frameworks do not read the body of a response to HEAD.
    response.body?.cancel().catch(() => {})
    const whole = new Response(null, { status, statusText, headers })
    pass.end('finished', 0)
    return whole
  }
  const announced = Number(headers.get('content-length') ?? Number.NaN)
  const source = quota ? metered(quota, given, announced) : given
  const body = watch(delivery, source, announced, wrapping?.prefix, wrapping?.suffix)
  return new Response(body, { status, statusText, headers })
}

const flushMs = 25

/**
 * A body as far as its quota allows. A body that is cut before its announced length breaks off, so that it does not
 * look complete.
 */
function metered(quota: ByteQuota, source: ReadableStream<Uint8Array>, announced: number): ReadableStream<Uint8Array> {
  const reader = source.getReader()
  let rest: Uint8Array = new Uint8Array()
  const stop = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
    // Delayed: Node's own streams cannot be cancelled while a chunk is pending, and would end the process.
    setTimeout(() => reader.cancel().catch(() => {}), flushMs)
    if (quota.sent() === announced) return controller.close()
    // An error discards bytes that are still being sent, and their departure cannot be observed here.
    await new Promise((resolve) => setTimeout(resolve, flushMs))
    controller.error(new Error('the allowance is used up'))
  }
  const stream: UnderlyingDefaultSource<Uint8Array> = {
    pull: async (controller) => {
      while (rest.length === 0) {
        const { done, value } = await reader.read()
        if (done) return controller.close()
        rest = value
      }
      let taken = quota.take(rest.length)
      if (taken === 0) {
        if (!(await quota.more())) return stop(controller)
        taken = quota.take(rest.length)
      }
      controller.enqueue(rest.subarray(0, taken))
      rest = rest.subarray(taken)
    },
    cancel: (reason) => reader.cancel(reason),
  }
  return new ReadableStream(stream, { highWaterMark: 0 })
}

function watch(
  delivery: WebDelivery,
  source: ReadableStream<Uint8Array>,
  announced: number,
  prefix = '',
  suffix = '',
): ReadableStream<Uint8Array> {
  const { pass } = delivery
  const reader = source.getReader()
  const encoder = new TextEncoder()
  let head = prefix
  let tail = suffix
  const lost = new Error('the lease on this payment was lost')
  const checkLease = (): void => {
    if (!pass.isAlive()) throw lost
  }
  const stream: UnderlyingDefaultSource<Uint8Array> = {
    start: (controller) =>
      pass.onLost(() => {
        controller.error(lost)
        pass.end('failed', delivery.bodyBytes)
        reader.cancel(lost).catch(() => {})
      }),
    pull: async (controller) => {
      try {
        checkLease()
        if (head !== '') {
          controller.enqueue(encoder.encode(head))
          head = ''
          return
        }
        const { done, value } = await reader.read()
        checkLease()
        if (!done) {
          delivery.bodyBytes += value.byteLength
          controller.enqueue(value)
        } else if (tail !== '') {
          controller.enqueue(encoder.encode(delivery.bodyBytes === 0 ? `${emptyBody}${tail}` : tail))
          tail = ''
        } else {
          controller.close()
          // A body that ends before its announced length leaves the client waiting for the rest.
          if (delivery.bodyBytes < announced) pass.end('aborted', delivery.bodyBytes)
          else finish(delivery)
        }
      } catch (error) {
        pass.end('failed', delivery.bodyBytes)
        controller.error(error)
      }
    },
    cancel: async (reason) => {
      pass.end('aborted', delivery.bodyBytes)
      await reader.cancel(reason)
    },
  }
  // No read-ahead: a chunk is requested only after the one before was taken.
  return new ReadableStream(stream, { highWaterMark: 0 })
}

function finish({ pass, response, bodyBytes }: WebDelivery): void {
  if (!response || !pass.awaitsArrival(bodyBytes)) {
    pass.end('finished', bodyBytes)
    return
  }
  const arrive = awaitEnd(response, (hasArrived) => pass.end(hasArrived ? 'finished' : 'aborted', bodyBytes))
  pass.onLost(arrive)
}

function setPaidHeader(headers: Headers, name: string, value: string): void {
  const isList = /^(vary|access-control-expose-headers)$/i.test(name)
  if (isList && headers.has(name)) headers.append(name, value)
  else if (name !== 'Access-Control-Allow-Origin' || !headers.has(name)) headers.set(name, value)
}
