/** The headers of a paid response: its receipt, the rest of the allowance, and `Cache-Control: private`. */
import type { HeaderPairs } from '../../core/http/http.ts'
import { formatUnits } from '../../core/money/money.ts'
import { findDecimals, type TokenCode } from '../../core/money/tokens.ts'
import { allowanceHeader, formatAllowanceLeft, isOneRequest, type Unit } from '../../core/payment/allowance.ts'
import { statusHeader } from '../../core/payment/delivery.ts'
import { proofHeader } from '../../core/protocol/proof.ts'
import { formatReceipt, receiptHeader } from '../../core/protocol/receipt.ts'
import type { Admission } from '../claim/admit.ts'
import type { Claim } from '../claim/verify-on-chain.ts'
import { readCorsHeaders } from '../quote/cors.ts'

/** The payment behind a response, for its handler. */
export interface PaymentFacts {
  readonly tx: string
  /** The pseudonyms of the requestId and of the payer. */
  readonly request: string
  readonly payer: string
  readonly token: TokenCode
  /** The received amount as a decimal, such as "0.01". */
  readonly amount: string
  /** The unit of the allowance. */
  readonly unit: Unit
  /** Whether the payment is for one request only. A repeated proof then asks for the same response again. */
  readonly isOnce: boolean
}

/** The parts that all responses of one payment share. The first response creates them. */
export interface ReceiptCache {
  /** The headers of a successful response in an open window. */
  headers: PaidHeaders | undefined
  /** The headers of a successful response that do not change. */
  constant: PaidHeaders | undefined
  /** The end of the allowance, as text. */
  until: string | undefined
  facts: PaymentFacts | undefined
  /** The received amount as a decimal, such as "0.01". */
  amount: string | undefined
  /** The name of the resource in analytics. */
  endpoint: string | undefined
}

export function createReceiptCache(): ReceiptCache {
  return {
    headers: undefined,
    constant: undefined,
    until: undefined,
    facts: undefined,
    amount: undefined,
    endpoint: undefined,
  }
}

export interface PaidHeaders {
  readonly pairs: HeaderPairs
  /** The same headers as lines of a head, if they need no check. */
  readonly lines?: string | undefined
}

/** An admitted claim and its receipts. */
export interface PaidRequest {
  readonly claim: Claim
  readonly admission: Admission
  readonly receipts: ReceiptCache
}

export function formatReceived({ claim, admission, receipts }: PaidRequest): string {
  if (receipts.amount !== undefined) return receipts.amount
  const { runtime, route } = claim.routeRuntime
  const mints = runtime.tokens.complete(route.config.mints)
  receipts.amount = formatUnits(admission.received, findDecimals(admission.token, mints) ?? 0)
  return receipts.amount
}

/** The price that the payer paid, with the parts of other wallets. */
function formatPaid(paid: PaidRequest): string {
  const { claim, admission } = paid
  if (admission.passedOn === 0n) return formatReceived(paid)
  const { runtime, route } = claim.routeRuntime
  const decimals = findDecimals(admission.token, runtime.tokens.complete(route.config.mints)) ?? 0
  return formatUnits(admission.received + admission.passedOn, decimals)
}

export function readFacts(paid: PaidRequest): PaymentFacts {
  const { claim, admission, receipts } = paid
  if (receipts.facts) return receipts.facts
  const { tx } = claim.proof
  const { request, payer, token, allowance } = admission
  const isOnce = isOneRequest(allowance)
  receipts.facts = { tx, request, payer, token, amount: formatReceived(paid), unit: allowance.unit, isOnce }
  return receipts.facts
}

/** The headers of a paid response with this status. */
export function formatHeaders(paid: PaidRequest, status: number): PaidHeaders {
  const { claim, admission, receipts } = paid
  if (status >= 400) return addCors(claim, { pairs: Object.entries(paidHeaders(paid, status)) })
  // The rest of a bundle differs from response to response.
  const isSame = admission.allowance.unit === 'second' && !admission.grant
  const headers = (isSame && receipts.headers) || formatPaidHeaders(paid)
  if (isSame) receipts.headers = headers
  return addCors(claim, headers)
}

function addCors(claim: Claim, headers: PaidHeaders): PaidHeaders {
  if (!isCrossOrigin(claim)) return headers
  return { pairs: [...Object.entries(readCorsHeaders(claim.routeRuntime.dialects)), ...headers.pairs] }
}

/** The headers of a successful response: the constant ones, and the rest of the allowance. */
function formatPaidHeaders(paid: PaidRequest): PaidHeaders {
  const { receipts, admission } = paid
  receipts.constant ??= formatConstantHeaders(paid)
  const { pairs, lines } = receipts.constant
  if (pairs.at(-1)?.[0] !== receiptHeader) return receipts.constant
  const left = formatLeft(admission, receipts)
  const all: HeaderPairs = [...pairs, [allowanceHeader, left]]
  return lines === undefined ? { pairs: all } : { pairs: all, lines: `${lines}${allowanceHeader}: ${left}\r\n` }
}

function formatConstantHeaders(paid: PaidRequest): PaidHeaders {
  const pairs = Object.entries(paidHeaders(paid, 200))
  // Node checks the headers of other protocols.
  if (paid.claim.via) return { pairs }
  return { pairs, lines: pairs.map(([name, value]) => `${name}: ${value}\r\n`).join('') }
}

export function isCrossOrigin({ routeRuntime, incoming }: Claim): boolean {
  return routeRuntime.route.config.cors && incoming.header('origin') !== undefined
}

/** Responses to longer addresses have no receipt, because the receipt contains the address. */
const longestResource = 1_024

function paidHeaders(paid: PaidRequest, status: number): Readonly<Record<string, string>> {
  const { claim } = paid
  // The client learns its transaction from any response.
  const settled = claim.via && Object.fromEntries(claim.via.paid(claim.proof))
  if (status >= 500) return { [statusHeader]: 'retry', 'Cache-Control': 'no-store', ...settled }
  const { routeRuntime, incoming } = claim
  const { route } = routeRuntime
  const headers = {
    'Cache-Control': 'private, no-store',
    Vary: [proofHeader, ...routeRuntime.dialects.requestHeaders].join(', '),
    ...settled,
  }
  const resource = `${route.config.publicUrl ?? incoming.origin()}${incoming.target}`
  // A proxy may reject the whole response if one of its headers is too long.
  if (status >= 400 || resource.length > longestResource) return headers
  return { ...headers, [receiptHeader]: signReceipt(paid, resource) }
}

function signReceipt(paid: PaidRequest, resource: string): string {
  const { claim, admission } = paid
  const { proof, via, routeRuntime } = claim
  const { clock, identity, encode } = routeRuntime.runtime
  const receipt = {
    status: 'success',
    method: 'solana',
    reference: proof.tx,
    timestamp: new Date(clock.now()).toISOString(),
    requestId: proof.requestId,
    resource,
    token: admission.token,
    amount: formatPaid(paid),
    payer: admission.payer,
  } as const
  return formatReceipt(receipt, identity.sign, via?.receiptMembers?.(proof), encode)
}

/** The rest of the allowance: after this response for requests and windows, before its body for bytes and files. */
function formatLeft({ allowance, grant, remaining, usableUntil }: Admission, receipts: ReceiptCache): string {
  const { unit } = allowance
  const held = unit === 'byte' ? (grant?.amount ?? 0n) : 0n
  if (isOneRequest(allowance)) return formatAllowanceLeft({ unit, remaining: remaining + held })
  receipts.until ??= new Date(usableUntil).toISOString()
  return formatAllowanceLeft({ unit, remaining: remaining + held, until: receipts.until })
}
