/**
 * `/pay/<requestId>`: the page on which a person pays on behalf of a program. For wallets on phones the same address
 * serves Solana Pay's transaction request: GET names the recipient, POST `{account}` returns the transaction.
 */
import { z } from 'zod'
import type { Preparation } from '../../core/checkout/messages.ts'
import { decodeAddress, encodeBase58 } from '../../core/encoding/base58.ts'
import type { Answer, Incoming } from '../../core/http/http.ts'
import type { Refusal } from '../../core/payment/refusals.ts'
import { openRequest } from '../../core/protocol/request-id.ts'
import { compressPage } from '../../paywall/pages/compress.ts'
import type { PayDesk } from '../../paywall/runtime/pay-desk.ts'
import type { Runtime } from '../../paywall/runtime/runtime.ts'
import type { Visitor } from '../http/access.ts'
import { answer, createPageResponse, problem } from '../http/errors.ts'
import { endpoints } from '../http/paths.ts'
import { readJsonBody } from '../http/request-body.ts'

export type PayRoute = (request: Request, url: URL, visitor: Visitor) => Promise<Response>

export interface PayParts {
  readonly service: Pick<Runtime, 'log' | 'payDesks'>
  readonly publicUrl: string | undefined
  /** The logo that wallets show; undefined if the pages were not built. */
  readonly icon: Uint8Array | undefined
}

const orderBody = z.object({ account: z.string().refine((text) => decodeAddress(text) !== undefined) })
/** Wallets on phones send requests from their own pages. */
const open = { 'Access-Control-Allow-Origin': '*' }

export function createPayRoute({ service, publicUrl, icon }: PayParts): PayRoute {
  return async (request, url, visitor) => {
    const name = url.pathname.slice(endpoints.pay.length + 1)
    const { method } = request
    if (name === 'icon.svg' && icon && (method === 'GET' || method === 'HEAD')) return iconAnswer(icon)
    const tag = openRequest(name)?.routeTag
    const desk = tag && service.payDesks.get(encodeBase58(tag))
    if (!desk) return problem('not_found', { detail: 'This payment link is invalid. Request a new price.' })
    const origin = publicUrl ?? url.origin
    const incoming = createIncoming(request, url, visitor, origin)
    if (method === 'OPTIONS') {
      const allowed = { 'Access-Control-Allow-Methods': 'GET, POST', 'Access-Control-Allow-Headers': 'Content-Type' }
      return new Response(null, { status: 204, headers: { ...open, ...allowed, Allow: 'GET, HEAD, POST, OPTIONS' } })
    }
    if (method === 'POST') return draft(desk, { request, url, requestId: name, incoming })
    if (method !== 'GET' && method !== 'HEAD') return problem('method_not_allowed', { headers: { Allow: 'GET, POST' } })
    const order = request.headers.get('payment-checkout')
    if (order !== null) return createResponse(await desk.answer(order, incoming))
    if (!request.headers.get('accept')?.includes('text/html'))
      return answer({ label: desk.label, icon: `${origin}${endpoints.pay}/icon.svg` }, { headers: open })
    const page = await desk.payPage(name, incoming)
    if (!page) return problem('unknown_request')
    // This address sells nothing, so the status is not 402.
    return createResponse(page.kind === 'answer' ? await compressPage({ ...page, status: 200 }, incoming) : page)
  }
}

interface Order {
  readonly request: Request
  readonly url: URL
  readonly requestId: string
  readonly incoming: Incoming
}

async function draft(desk: PayDesk, { request, url, requestId, incoming }: Order): Promise<Response> {
  const token = url.searchParams.get('token') ?? undefined
  const quoted = openRequest(requestId)
  if (token !== undefined && quoted && !Object.hasOwn(quoted.amounts, token))
    return problem('query_invalid', { headers: open })
  const reading = await readJsonBody(request)
  if (reading.kind === 'wrong') return problem(reading.code, { detail: reading.detail, headers: open })
  const body = orderBody.safeParse(reading.value)
  if (!body.success) return problem('body_invalid', { detail: 'Send {"account": "<address>"}.', headers: open })
  const drafted = await desk.draft(requestId, body.data.account, token, incoming)
  if ('code' in drafted) return problem(drafted.code, { headers: open })
  if (drafted.kind === 'transaction')
    return answer({ transaction: drafted.transaction, message: desk.title }, { headers: open })
  // Wallets show the text of `message` for an error.
  return answer({ message: describeAbsence(drafted) }, { status: 409, headers: open })
}

/** The reason why there is no transaction. */
function describeAbsence(drafted: Exclude<Preparation, { kind: 'transaction' }>): string {
  if (drafted.kind === 'refused') return drafted.why
  if (drafted.kind === 'short') return `The wallet has ${drafted.has} ${drafted.token} and needs ${drafted.needs}.`
  return 'No payment is due: it is under way or complete, or the price has expired.'
}

function createResponse(given: Answer | Refusal): Response {
  if (given.kind === 'refused') return problem(given.code, given.detail === undefined ? {} : { detail: given.detail })
  return createPageResponse(given, new Headers(given.headers))
}

function iconAnswer(icon: Uint8Array): Response {
  const headers = { 'Content-Type': 'image/svg+xml', 'Cache-Control': 'public, max-age=86400', ...open }
  return new Response(Uint8Array.from(icon), { headers: { ...headers, 'X-Content-Type-Options': 'nosniff' } })
}

function createIncoming(request: Request, url: URL, visitor: Visitor, origin: string): Incoming {
  return {
    request,
    method: request.method,
    target: url.pathname,
    header: (name) => request.headers.get(name) ?? undefined,
    rawHeaders: () => [...request.headers].flat(),
    origin: () => origin,
    peer: () => visitor.peer,
    body: async () => ({ kind: 'gone' }),
  }
}
