/** A service that only plays one: it writes the real checkout page, and answers its orders as the test says. */
import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { en } from '../../src/core/checkout/languages/en.ts'
import { english, type Language } from '../../src/core/checkout/languages/language.ts'
import type {
  CheckoutFacts,
  CheckoutOrder,
  CheckoutReceipt,
  CheckoutState,
  CheckoutView,
  Preparation,
  Sending,
} from '../../src/core/checkout/messages.ts'
import { checkoutHeader, parseOrder } from '../../src/core/checkout/messages.ts'
import { findMint, knownMints, type TokenCode } from '../../src/core/money/tokens.ts'
import { readPage } from '../../src/host/pages.ts'
import { renderCheckout } from '../../src/paywall/checkout/page.ts'
import { encodeQr } from '../../src/paywall/checkout/qr.ts'
import { drawQr } from '../../src/paywall/checkout/qr-path.ts'

export const requestId = 'AQEBZvxnIAAAA4QRIjNEVWZ3iJkAESIzRFVmd4iZqrvM3e7_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBka'
export const recipient = 'GfEsNwVbqJcDwR1vLDVZ4aQ1TcW3RkqPHmZq2Ao8iYbT'
export const signature = '5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZkQUW'

const ttlMs = 15 * 60_000

export function factsOf(more: Partial<CheckoutFacts> = {}): CheckoutFacts {
  const now = Date.UTC(2026, 4, 12, 14, 30)
  return {
    version: 'own',
    requestId,
    texts: en.checkout,
    locale: 'en-US',
    network: 'devnet',
    chain: 'solana:devnet',
    recipient,
    seller: 'api.weather.example',
    host: 'api.weather.example',
    what: 'Hourly forecast for any place on Earth',
    buys: 'one request',
    tokens: [{ token: 'USDC', amount: '0.01', mint: findMint('USDC', knownMints.devnet)?.address ?? '' }],
    now,
    expiresAt: now + ttlMs,
    standing: { state: 'waiting' },
    after: 'reload',
    isAgain: false,
    isKept: true,
    ...more,
  }
}

/** A link with everything in it that a real one has. */
export function viewOf(facts: CheckoutFacts, token: TokenCode | undefined = facts.tokens[0]?.token): CheckoutView {
  const mint = token === undefined ? undefined : findMint(token, knownMints.devnet)
  const amount = facts.tokens.find((one) => one.token === token)?.amount ?? '0'
  const uri =
    `solana:${facts.recipient}?amount=${amount}${mint ? `&spl-token=${mint.address}` : ''}` +
    `&reference=9vQ2sUjfXcKMwZkD3hVd7aRpqzN8eGt5Y4oLbWc1xTHu&label=${encodeURIComponent(facts.host)}&memo=${facts.requestId}`
  return { uri, qr: drawQr(encodeQr(uri)) }
}

function policyOf(nonce: string): string {
  return [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src 'nonce-${nonce}'`,
    'img-src data:',
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

/** The built files, as the service would have them. */
export function builtParts(): { readonly script: string; readonly style: string } {
  const files = readPage('checkout')
  const read = (name: string): string => Buffer.from(files.get(name)?.bytes ?? '').toString()
  return { script: read('checkout.js'), style: read('checkout.css') }
}

export interface Reply {
  readonly status?: number
  readonly type?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body: unknown
}

export interface CheckoutFixture {
  readonly url: string
  /** The language of the page, of which `facts` has the other texts. */
  language: Language
  /** The version of the page that the service serves, according to its answers. */
  served: string
  /** The number of documents that were loaded. */
  loads: number
  /** Written into the page at the next load. */
  facts: CheckoutFacts
  /** What a status order is answered with. */
  standing: CheckoutState
  receipt: CheckoutReceipt
  prepared: Preparation
  sent: Sending
  /** What a status order is refused with, if it is. */
  refusal: { readonly code: string; readonly detail: string } | undefined
  /** Instead of everything: an answer with this status, or none at all. */
  trouble: number | 'silence' | undefined
  /** What a browser gets instead of the checkout page: what was bought. */
  resource: Reply | undefined
  /** Orders that arrive and are never answered. */
  readonly deafTo: Set<CheckoutOrder['kind']>
  /** Held back until the test lets go. */
  gate: Promise<void>
  readonly orders: CheckoutOrder[]
  count(kind: CheckoutOrder['kind']): number
  close(): Promise<void>
}

export async function openCheckout(more: Partial<CheckoutFacts> = {}): Promise<CheckoutFixture> {
  const facts = factsOf(more)
  const server = createServer(async (request, response) => {
    const header = request.headers[checkoutHeader.toLowerCase()]
    const order = typeof header === 'string' ? parseOrder(header) : undefined
    if (order) fixture.orders.push(order)
    if (header === undefined) fixture.loads += 1
    if (header !== undefined) await fixture.gate
    if (fixture.trouble === 'silence' || (order && fixture.deafTo.has(order.kind))) return response.destroy()
    const reply = fixture.trouble === undefined ? replyTo(header, order) : problem(fixture.trouble)
    response.writeHead(reply.status ?? 200, {
      'content-type': reply.type ?? 'application/json',
      'cache-control': 'no-store',
      ...(order && { [checkoutHeader]: fixture.served }),
      ...reply.headers,
    })
    return response.end(typeof reply.body === 'string' ? reply.body : JSON.stringify(reply.body), 'latin1')
  })
  const replyTo = (header: unknown, order: CheckoutOrder | undefined): Reply => {
    if (header === undefined) return fixture.resource ?? document(fixture.facts, fixture.language)
    if (order?.requestId !== fixture.facts.requestId) return problem(400)
    if (order.kind === 'status')
      return fixture.refusal ? { status: 403, body: fixture.refusal } : { body: fixture.standing }
    if (order.kind === 'receipt') return { body: fixture.receipt }
    if (order.kind === 'open') return fixture.resource ?? { status: 204, body: '' }
    if (order.kind === 'view') return { body: viewOf(fixture.facts, order.token) }
    return { body: order.kind === 'prepare' ? fixture.prepared : fixture.sent }
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const fixture: CheckoutFixture = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/forecast`,
    served: facts.version,
    loads: 0,
    language: english,
    facts,
    standing: facts.standing,
    receipt: {
      kind: 'receipt',
      tx: signature,
      token: 'USDC',
      amount: '0.01',
      paidAt: facts.now,
      resource: 'https://api.weather.example/forecast?place=Oslo',
      receipt: Buffer.from('{"status":"success","signature":"s"}').toString('base64url'),
    },
    prepared: { kind: 'transaction', transaction: Buffer.alloc(300, 7).toString('base64') },
    sent: { kind: 'sent', tx: signature },
    refusal: undefined,
    trouble: undefined,
    resource: undefined,
    deafTo: new Set(),
    gate: Promise.resolve(),
    orders: [],
    count: (kind) => fixture.orders.filter((order) => order.kind === kind).length,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return fixture
}

function document(facts: CheckoutFacts, language: Language): Reply {
  const nonce = randomBytes(16).toString('base64')
  return {
    status: 402,
    type: 'text/html; charset=utf-8',
    headers: { 'content-security-policy': policyOf(nonce) },
    body: renderCheckout(facts, { ...builtParts(), nonce, view: viewOf(facts), language }),
  }
}

const problem = (status: number): Reply => ({
  status,
  type: 'application/problem+json',
  body: { status, code: 'trouble', retryable: status >= 500, detail: 'The requestId is not one of this service.' },
})
