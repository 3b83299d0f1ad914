/** Error responses of the gateway itself, in the format of RFC 9457. */
import type { ServerResponse } from 'node:http'
import { asciiJson } from '../../core/http/http.ts'

export function sendProblem(
  response: ServerResponse,
  code: string,
  status: number,
  title: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  const body = asciiJson({ type: `urn:paystile:problem:${code}`, title, status, detail: title, code })
  response.writeHead(status, {
    'Content-Type': 'application/problem+json',
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    'Content-Length': Buffer.byteLength(body),
    ...headers,
  })
  response.end(body)
}
