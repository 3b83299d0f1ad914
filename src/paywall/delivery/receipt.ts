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
  headers: HeaderPairs | undefined
  /** The signed receipt. */
  receipt: string | undefined
  facts: PaymentFacts | undefined
  /** The received amount as a decimal, such as "0.01". */
  amount: string | undefined
  /** The name of the resource in analytics. */
  endpoint: string | undefined
}

export function createReceiptCache(): ReceiptCache {
  return { headers: undefined, receipt: undefined, facts: undefined, amount: undefined, endpoint: undefined }
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
export function formatHeaders(paid: PaidRequest, status: number): HeaderPairs {
  const { claim, admission, receipts } = paid
  // The rest of a bundle differs from response to response.
  const isSame = status < 400 && admission.allowance.unit === 'second' && !admission.grant
  const headers = (isSame && receipts.headers) || Object.entries(paidHeaders(paid, status))
  if (isSame) receipts.headers = headers
  return isCrossOrigin(claim) ? [...Object.entries(readCorsHeaders(claim.routeRuntime.dialects)), ...headers] : headers
}

export function isCrossOrigin({ routeRuntime, incoming }: Claim): boolean {
  return routeRuntime.route.config.cors && incoming.header('origin') !== undefined
}

/** Responses to longer addresses have no receipt, because the receipt contains the address. */
const longestResource = 1_024

function paidHeaders(paid: PaidRequest, status: number): Readonly<Record<string, string>> {
  const { claim, admission, receipts } = paid
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
  receipts.receipt ??= signReceipt(paid, resource)
  return { ...headers, [receiptHeader]: receipts.receipt, [allowanceHeader]: formatLeft(admission) }
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
function formatLeft({ allowance, grant, remaining, usableUntil }: Admission): string {
  const { unit } = allowance
  const held = unit === 'byte' ? (grant?.amount ?? 0n) : 0n
  const until = isOneRequest(allowance) ? {} : { until: new Date(usableUntil).toISOString() }
  return formatAllowanceLeft({ unit, remaining: remaining + held, ...until })
}
