/** Connects Node's request and response to the paywall. All Node frameworks use this file, so each rule exists once. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Answer, BodyReading, Incoming } from '../core/http/http.ts'
import type { Delivery } from '../paywall/delivery/delivery.ts'
import type { RequestOutcome } from '../paywall/handle-request.ts'
import type { Paywall } from '../paywall/paywall.ts'
import { readNodeBody, readWebBody } from './body.ts'
import { addLines, endWith, takesLines } from './node-response/one-write.ts'
import { writeAnswerHead } from './node-response/repeated-head.ts'
import { readHeader } from './request-header.ts'

/** Sends a request through the paywall. `fail` receives unexpected errors, which are defects of paystile. */
export function enterNode(
  paywall: Paywall,
  request: IncomingMessage,
  target: string,
  turn: {
    readonly answer: (answer: Answer) => void
    readonly admit: (pass: Delivery | undefined) => void
    readonly fail: (error: unknown) => void
  },
): void {
  const proceed = (entry: RequestOutcome): void =>
    entry.kind === 'answer' ? turn.answer(entry) : turn.admit(entry.pass)
  const entry = paywall.enter(readIncoming(request, target))
  if (entry instanceof Promise) entry.then(proceed).catch(turn.fail)
  else proceed(entry)
}

/** `own` is the framework's own request, if it has one: an application can handle several inside one of Node's. */
export function readIncoming(request: IncomingMessage, target: string, own?: Request): Incoming {
  let body: Promise<BodyReading> | undefined
  return {
    request: own ?? request,
    method: own?.method ?? request.method ?? 'GET',
    target: readTarget(target),
    header: (name) => readHeader(request, name),
    rawHeaders: () => request.rawHeaders,
    peer: () => request.socket.remoteAddress,
    // Several checks of one request may need it, and it can be read once.
    body: (mostBytes) => (body ??= own ? readWebBody(own, mostBytes) : readNodeBody(request, mostBytes)),
    origin: () =>
      `${'encrypted' in request.socket ? 'https' : 'http'}://${readHeader(request, 'host') ?? readHeader(request, ':authority') ?? 'localhost'}`,
  }
}

export function readTarget(target: string): string {
  return target.startsWith('/') ? target : pathOf(target)
}

/** `GET http://host/path` requests the path. The host in it comes from the client, like the Host header. */
function pathOf(target: string): string {
  const path = target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '')
  return path === '' || path.startsWith('?') ? `/${path}` : path
}

export function sendAnswer(response: ServerResponse, answer: Answer): void {
  const { varying = [], varyingLines } = answer
  const lines = varyingLines !== undefined && takesLines(response, varying) ? varyingLines : ''
  if (lines === '') for (const [name, value] of varying) response.setHeader(name, value)
  if (answer.headers['Set-Cookie'] === undefined) writeAnswerHead(response, answer)
  else {
    const { 'Set-Cookie': cookie, ...others } = answer.headers
    // In addition to the cookies that the application has set.
    response.appendHeader('Set-Cookie', [cookie, ...(answer.cookies ?? [])])
    response.writeHead(answer.status, others)
  }
  if (lines !== '') addLines(response, lines)
  if (answer.bytes) response.end(answer.bytes)
  else endWith(response, answer.body, lines !== '')
}
