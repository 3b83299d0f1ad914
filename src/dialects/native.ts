/** The dialect of paystile's own protocol: the challenge is the body, the proof is `Payment-Proof`, refusals are problem+json. */
import { formatProblem, type RefusalRow, refusals } from '../core/payment/refusals.ts'
import { prepareChallenge } from '../core/protocol/challenge.ts'
import { parseProof } from '../core/protocol/proof.ts'
import type { Dialect } from './dialect.ts'

const challengeHeaders = Object.freeze({
  'Content-Type': 'application/json',
  'Cache-Control': 'no-store',
  Vary: 'Accept, Payment-Proof, Payment-Accept',
  'X-Content-Type-Options': 'nosniff',
})

/** Frozen, since many answers share them. */
function headersFor(length: number) {
  return Object.freeze({ ...challengeHeaders, 'Content-Length': String(length) })
}

export const native: Dialect = {
  readProof: (incoming) => {
    const header = incoming.header('payment-proof')
    return header === undefined ? undefined : parseProof(header)
  },

  prepare: (offer) => {
    const write = prepareChallenge(offer)
    let length = 0
    let headers = headersFor(length)
    return (parts) => {
      const body = write(parts)
      // Challenges of a route are of few lengths, and one after the other mostly of the same.
      if (body.length !== length) {
        length = body.length
        headers = headersFor(length)
      }
      return { kind: 'answer', status: 402, headers, body }
    }
  },

  refusal: (refusal, requestId) => {
    const row: RefusalRow = refusals[refusal.code]
    const body = formatProblem(refusal, requestId)
    return {
      kind: 'answer',
      status: refusal.status ?? row.status,
      headers: {
        ...challengeHeaders,
        'Content-Type': 'application/problem+json',
        'Content-Length': String(body.length),
        ...(row.retryAfterSeconds !== undefined && { 'Retry-After': String(row.retryAfterSeconds) }),
      },
      body,
    }
  },
}
