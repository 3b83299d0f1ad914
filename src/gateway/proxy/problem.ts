/** Error responses of the gateway itself: RFC 9457 for programs, pages for people. */
import type { ServerResponse } from 'node:http'
import { readIncoming, sendAnswer } from '../../adapters/bridge.ts'
import { type Answer, asciiJson } from '../../core/http/http.ts'
import { compressPage } from '../../paywall/pages/compress.ts'
import { type ErrorPageParts, showProblem } from '../../paywall/pages/error-page.ts'

/** Undefined if people get no pages. */
export type ErrorPages = ErrorPageParts | undefined

export function sendProblem(
  response: ServerResponse,
  pages: ErrorPages,
  code: string,
  status: number,
  title: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  const body = asciiJson({ type: `urn:paystile:problem:${code}`, title, status, detail: title, code })
  const answer: Answer = {
    kind: 'answer',
    status,
    headers: {
      'Content-Type': 'application/problem+json',
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
      'Content-Length': String(body.length),
      ...headers,
    },
    body,
  }
  sendFailed(response, pages, answer)
}

/** Sends the answer to a request that failed. */
export function sendFailed(response: ServerResponse, pages: ErrorPages, answer: Answer): void {
  const { req: request } = response
  const incoming = readIncoming(request, request.url ?? '/')
  const shown = pages ? showProblem(answer, incoming, pages) : answer
  const send = (page: Answer): void => sendAnswer(response, page)
  if (shown === answer) send(answer)
  else compressPage(shown, incoming).then(send, () => send(shown))
}
