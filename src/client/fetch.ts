/**
 * `fetch` that pays: request, 402, check against the policy, pay, resend, response.
 */
import { PaymentError } from './errors.ts'
import { type ClientOptions, readCall } from './options.ts'
import { listCandidates } from './policy.ts'
import { createHints, shareOrBuy, useKnown } from './request/allowances.ts'
import { buyForeign, resumeForeign } from './request/foreign-purchase.ts'
import { type ClientParts, isOnEndedChain, type PaidRequest, prepare } from './request/paid-request.ts'
import { recover } from './request/recover.ts'
import { redeem } from './request/redeem.ts'
import { type ChallengeReading, payChallenge, requestChallenge } from './request/request-challenge.ts'

export interface FetchWith402 {
  (url: string | URL | Request, options: ClientOptions & RequestInit): Promise<Response>
  (url: string | URL | Request, init: RequestInit | undefined, options: ClientOptions): Promise<Response>
}

export function createFetchWith402(parts: ClientParts): FetchWith402 {
  const hints = createHints()
  return async (target: string | URL | Request, first?: RequestInit | ClientOptions, second?: ClientOptions) => {
    const { init, options } = readCall(first, second)
    const paidRequest = await prepare(parts, target, init, options)
    if (options.dryRun) return price(parts, paidRequest)
    const paid = (await resume(parts, paidRequest)) ?? (await useKnown(parts, paidRequest, hints))
    if (paid) return paid
    for (;;) {
      const asked = await requestChallenge(parts, paidRequest)
      if (!('kind' in asked)) return asked
      if (asked.kind === 'foreign') return buyForeign(parts, paidRequest, asked)
      const { scope, skewMs, url } = asked
      if (scope === undefined) return buy(parts, paidRequest, asked)
      await asked.response.body?.cancel()
      const response = await shareOrBuy(parts, paidRequest, asked, scope)
      if (!response) continue
      if (url.href === paidRequest.url.href) hints.set(paidRequest, { scope, skewMs })
      return response
    }
  }
}

/** Runs all checks that need no payment, and returns the 402. */
async function price(parts: ClientParts, paidRequest: PaidRequest): Promise<Response> {
  const asked = await requestChallenge(parts, paidRequest)
  if (!('kind' in asked)) return asked
  if (asked.kind === 'asked') listCandidates(asked.challenge, asked.network, paidRequest.options)
  return asked.response
}

/**
 * Completes an earlier purchase of the same request that was paid, or may have been, and never received. Requests that
 * differ only in a header look the same here, so a payment that turns out to be for another request is kept for that
 * one.
 */
async function resume(parts: ClientParts, paidRequest: PaidRequest): Promise<Response | undefined> {
  const { journal, tell, key } = paidRequest
  const others: string[] = []
  try {
    for (let intent = await journal.adopt(key); intent; intent = await journal.adopt(key)) {
      const { tx = '', requestId } = intent
      others.push(requestId)
      // The server alone redeems a landed payment. For the others, only their chain shows the outcome.
      const needsNode = intent.state === 'signed' || intent.protocol !== undefined
      if (needsNode && isOnEndedChain(parts, paidRequest, intent)) continue
      tell({ kind: 'resumed', tx, requestId })
      if (intent.protocol !== undefined) {
        const response = await resumeForeign(parts, paidRequest, intent)
        if (!response) continue
        others.pop()
        return response
      }
      const landed = intent.state === 'landed' ? intent : await recover(parts, paidRequest, intent)
      const brought = landed && (await redeem(parts, paidRequest, landed, new URL(landed.url), ['binding_mismatch']))
      if (brought?.kind !== 'brought') continue
      others.pop()
      return brought.response
    }
    return undefined
  } finally {
    for (const requestId of others) await journal.release(requestId)
  }
}

/** Buys an allowance for this request only. */
async function buy(parts: ClientParts, paidRequest: PaidRequest, asked: ChallengeReading): Promise<Response> {
  const { requestId } = asked.challenge
  await asked.response.body?.cancel()
  const intent = await payChallenge(parts, paidRequest, asked)
  try {
    const brought = await redeem(parts, paidRequest, intent, asked.url)
    if (brought.kind === 'brought') return brought.response
    throw new PaymentError('payment_refused', 'The server reports that this payment has already been used.', {
      requestId,
      ...(intent.tx !== undefined && { tx: intent.tx }),
      refusal: 'payment_replay',
      status: 409,
    })
  } catch (error) {
    await paidRequest.journal.release(requestId)
    throw error
  }
}
