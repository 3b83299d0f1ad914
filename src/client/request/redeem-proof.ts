/**
 * Sends a proof until the resource arrives. The payment is made, so every retry sends the same proof, and no other
 * payment is made.
 */

import { toOneLine } from '../../core/encoding/one-line.ts'
import { type AllowanceLeft, allowanceHeader, parseAllowanceLeft } from '../../core/payment/allowance.ts'
import type { RefusalCode } from '../../core/payment/refusals.ts'
import { formatProof, proofHeader, proofText } from '../../core/protocol/proof.ts'
import type { Clock } from '../../core/runtime.ts'
import { PaymentError } from '../errors.ts'
import type { Intent } from '../journal/journal.ts'
import { readJson } from '../read-json.ts'
import type { PaidRequest } from './paid-request.ts'

export interface RedeemProofParts extends Pick<PaidRequest, 'journal' | 'wallet' | 'isCancelled' | 'tell'> {
  readonly clock: Clock
  readonly timeoutMs: number
  /** The refusals that mean that the payment is for another request. */
  readonly elsewhere: readonly string[]
  /** Sends the request with additional headers. It never follows a redirect. */
  readonly send: (headers: Readonly<Record<string, string>>) => Promise<Response>
}

const firstPauseMs = 100
const longestPauseMs = 5_000

type Outcome =
  | { readonly kind: 'delivered'; readonly response: Response }
  | { readonly kind: 'refused'; readonly response: Response; readonly code: string; readonly detail: string }
  | { readonly kind: 'again'; readonly reason: string; readonly afterMs: number }

export type ProofRedemption =
  | { readonly kind: 'delivered'; readonly response: Response; readonly left: AllowanceLeft | undefined }
  /** The payment is used up. */
  | { readonly kind: 'used' }
  /** The payment is valid, but for another request. */
  | { readonly kind: 'elsewhere' }

/** Returns the head of the resource, or a `PaymentError`. */
export async function redeemProof(parts: RedeemProofParts, intent: Intent, url: URL): Promise<ProofRedemption> {
  const { clock, journal, timeoutMs, tell } = parts
  const { requestId, tx = '' } = intent
  const deadline = clock.monotonic() + timeoutMs
  let skewMs = 0
  for (let pause = firstPauseMs; ; pause = Math.min(pause * 2, longestPauseMs)) {
    const proof = await createProof(parts, intent, url, skewMs)
    const outcome = await attempt(parts, proof)
    if (outcome.kind === 'delivered') {
      const { response } = outcome
      const left = parseAllowanceLeft(response.headers.get(allowanceHeader))
      tell({ kind: 'delivered', tx, requestId, status: response.status, ...(left && { allowance: left }) })
      return { kind: 'delivered', response, left }
    }
    if (outcome.kind === 'refused') {
      // One of the two clocks is wrong. The server's clock counts, and a second attempt shows whether that was the
      // reason.
      if (outcome.code === 'signature_invalid' && skewMs === 0) {
        skewMs = readSkew(outcome.response, clock.now())
        if (skewMs !== 0) continue
      }
      if (parts.elsewhere.includes(outcome.code)) return { kind: 'elsewhere' }
      if (!isStillGood(outcome.code)) await journal.change(requestId, { state: 'done' })
      if (outcome.code === 'payment_replay') return { kind: 'used' }
      const after = isStillGood(outcome.code) ? '' : ' The client drops it: the next call makes a new payment.'
      throw new PaymentError('payment_refused', `The server refused the payment: ${outcome.detail}${after}`, {
        requestId,
        tx,
        proof,
        refusal: outcome.code,
        status: outcome.response.status,
      })
    }
    const afterMs = Math.max(pause, outcome.afterMs)
    if (clock.monotonic() + afterMs > deadline) {
      // A fork may have dropped the payment after its confirmation. The next call follows it to its outcome again.
      if (unseen.includes(outcome.reason)) await journal.change(requestId, { state: 'signed' })
      throw new PaymentError(
        'paid_not_delivered',
        `The payment was made, but the resource was not delivered (${outcome.reason}). Call again to use the same payment.`,
        { requestId, tx, proof },
      )
    }
    tell({ kind: 'retrying', reason: outcome.reason, afterMs })
    await new Promise((resolve) => setTimeout(resolve, afterMs))
  }
}

/** The server's nodes do not have the payment. */
const unseen: readonly string[] = ['tx_not_found', 'tx_not_final'] satisfies RefusalCode[]

/** A signature can become valid when the local clock is corrected, and the whole can be available if a part is not. */
function isStillGood(code: string): boolean {
  return code === 'signature_invalid' || code === 'range_mismatch'
}

async function createProof({ clock, wallet }: RedeemProofParts, intent: Intent, url: URL, skewMs: number) {
  const { tx = '', requestId, payer, claim, genesis } = intent
  if (intent.proof !== 'sig') return formatProof({ tx, requestId, payer, ...(claim !== undefined && { claim }) })
  const ts = Math.floor((clock.now() + skewMs) / 1000)
  const sig = await wallet.signMessage(proofText({ origin: url.origin, genesis, tx, requestId, payer, ts }))
  return formatProof({ tx, requestId, payer, ts, sig })
}

/** The difference between the server's clock and the local one, if it is relevant and plausible. */
function readSkew(response: Response, now: number): number {
  const skew = Date.parse(response.headers.get('date') ?? '') - now
  return Math.abs(skew) > 30_000 && Math.abs(skew) < 86_400_000 ? skew : 0
}

async function attempt({ send, isCancelled, timeoutMs }: RedeemProofParts, proof: string): Promise<Outcome> {
  let response: Response
  try {
    response = await send({ [proofHeader]: proof })
  } catch (error) {
    if (isCancelled()) throw error
    const { code = 'the connection broke' } = (error as { cause?: { code?: string } } | undefined)?.cause ?? {}
    const reason = error instanceof PaymentError ? 'no response in time' : `no connection: ${code}`
    return { kind: 'again', reason, afterMs: 0 }
  }
  const { status } = response
  const problem = await readProblem(response, timeoutMs)
  const afterMs = retryAfterMs(response)
  if (problem && !problem.retryable) return { kind: 'refused', response, code: problem.code, detail: problem.detail }
  if (problem || status >= 500 || status === 429 || status === 402) {
    await response.body?.cancel()
    return { kind: 'again', reason: problem?.code ?? `status ${status}`, afterMs }
  }
  return { kind: 'delivered', response }
}

/** Reads a refusal of paystile, as opposed to an error of the resource itself that looks similar. */
async function readProblem(response: Response, timeoutMs: number) {
  if (!response.headers.get('content-type')?.startsWith('application/problem+json')) return undefined
  const value = await readJson(response, timeoutMs / 2)
  if (typeof value !== 'object' || value === null) return undefined
  const { code, retryable, detail, type } = value as Record<string, unknown>
  if (typeof code !== 'string' || typeof retryable !== 'boolean' || type !== `urn:paystile:problem:${code}`)
    return undefined
  return { code: toOneLine(code), retryable, detail: toOneLine(typeof detail === 'string' ? detail : code) }
}

function retryAfterMs(response: Response): number {
  const seconds = Number(response.headers.get('retry-after') ?? 0)
  return Number.isFinite(seconds) && seconds > 0 ? Math.min(seconds * 1000, longestPauseMs) : 0
}
