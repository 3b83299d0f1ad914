/**
 * Responses of the service's own endpoints: JSON that is not cached, and RFC 9457 problems with a stable code.
 * `docs/analytics.md` lists the codes, and a test compares the list.
 */
import type { Answer } from '../../core/http/http.ts'
import { formatProblem, type RefusalCode, refusals, refuse } from '../../core/payment/refusals.ts'

interface Row {
  readonly status: number
  readonly title: string
  readonly retryAfterSeconds?: number
}

/** Codes of these endpoints only. `core/payment/refusals.ts` has the codes that they share with the paywall. */
export const problems = {
  query_invalid: { status: 400, title: 'The query is invalid.' },
  body_invalid: { status: 400, title: 'The body is invalid.' },
  sign_in_required: { status: 401, title: 'Sign in with a wallet that owns this service.' },
  not_owner: { status: 403, title: 'The signed-in wallet does not own this service.' },
  not_found: { status: 404, title: 'No resource exists at this address.' },
  method_not_allowed: { status: 405, title: 'This address does not support the method.' },
  body_too_slow: { status: 408, title: 'The body did not arrive in time.' },
  media_type_unsupported: { status: 415, title: 'The body must be JSON.' },
  internal_error: { status: 500, title: 'Internal error. See the log of the service.' },
  not_started: { status: 503, title: 'The service has not started yet.', retryAfterSeconds: 2 },
  sign_in_failed: { status: 401, title: 'The sign-in failed. Request a new message and sign it.' },
  cross_site: {
    status: 403,
    title: "Cross-site request refused. Send it from the service's own page, or with a bearer token.",
  },
  link_invalid: { status: 403, title: 'This link has expired or was revoked. Ask the owner for a new one.' },
  refund_refused: { status: 409, title: 'This payment cannot be refunded.' },
  prices_stale: { status: 409, title: 'The file with the prices has changed. Load it again.' },
  host_unknown: { status: 404, title: 'No route of this service uses that host.' },
  message_refused: { status: 403, title: 'The signed message is invalid. Sign a new one.' },
  document_refused: { status: 403, title: "The host's document does not name this wallet for this service." },
  document_unavailable: {
    status: 503,
    title: "The host's document cannot be read at the moment.",
    retryAfterSeconds: 30,
  },
  not_verified: { status: 404, title: 'The host is not verified.' },
  developers_busy: { status: 409, title: 'Another request is changing this host.', retryAfterSeconds: 2 },
  links_full: { status: 409, title: 'The maximum number of links is open. Revoke one first.' },
  sheets_busy: { status: 409, title: 'Another export is writing the sheet.', retryAfterSeconds: 10 },
  sign_ins_limited: {
    status: 429,
    title: 'Too many sign-ins from this address. Wait a minute.',
    retryAfterSeconds: 60,
  },
  sign_in_unconfigured: {
    status: 501,
    title: 'Sign-in works only on this machine. Set publicUrl to the address of this service.',
  },
  refunds_missing: {
    status: 501,
    title: 'This server has no key for refunds. Set refundKey, or run npx paystile refund.',
  },
  edit_missing: {
    status: 501,
    title: 'Prices cannot be edited here. Set edit: true in the YAML file of the gateway.',
  },
  prices_not_saved: { status: 500, title: 'The prices were not saved.' },
  sheets_missing: { status: 501, title: 'No spreadsheet is configured. Set sheets, or request a link with GET.' },
  sheets_failed: { status: 502, title: 'The spreadsheet service did not accept all rows. Send the request again.' },
  exports_full: {
    status: 503,
    title: 'The maximum number of exports is running. Try again later.',
    retryAfterSeconds: 10,
  },
  stream_full: {
    status: 503,
    title: 'The maximum number of streams is open. Use the list instead.',
    retryAfterSeconds: 30,
  },
} as const satisfies Record<string, Row>

export type ProblemCode = keyof typeof problems
export type AnyProblemCode = ProblemCode | RefusalCode

/** Headers of every response: browsers must not guess the media type, and caches must not store it. */
export const plainHeaders = { 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' } as const

export interface Extra {
  readonly detail?: string
  /** All problems, one sentence each. */
  readonly problems?: readonly string[]
  readonly headers?: Readonly<Record<string, string>>
}

export function problem(code: AnyProblemCode, { detail, problems: list, headers }: Extra = {}): Response {
  const row: Row = isOwn(code) ? problems[code] : refusals[code]
  const body = isOwn(code)
    ? {
        type: `urn:paystile:problem:${code}`,
        title: row.title,
        status: row.status,
        detail: detail ?? (list ? listed(row.title, list) : row.title),
        code,
        ...(list && { problems: list }),
      }
    : (JSON.parse(formatProblem(refuse(code, detail === undefined ? {} : { detail }))) as object)
  return respond(JSON.stringify(body), 'application/problem+json', {
    status: row.status,
    headers: {
      ...(row.retryAfterSeconds !== undefined && { 'Retry-After': String(row.retryAfterSeconds) }),
      ...headers,
    },
  })
}

/** `The query cannot be read: …`. */
function listed(title: string, list: readonly string[]): string {
  return `${title.slice(0, -1)}: ${list.join('; ')}`.replace(/(?<!\?)$/, '.')
}

function isOwn(code: AnyProblemCode): code is ProblemCode {
  return code in problems
}

export function answer(value: unknown, init: Init = {}): Response {
  return respond(JSON.stringify(value), 'application/json', init)
}

interface Init {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
}

/** A page, compressed if its bytes are given. */
export function createPageResponse({ status, body, bytes }: Answer, headers: Headers): Response {
  return new Response(bytes ? Uint8Array.from(bytes) : body, { status, headers })
}

export function respond(body: string, type: string, { status = 200, headers = {} }: Init = {}): Response {
  const bytes = new TextEncoder().encode(body)
  return new Response(bytes, {
    status,
    headers: { ...plainHeaders, 'Content-Type': type, 'Content-Length': String(bytes.length), ...headers },
  })
}
