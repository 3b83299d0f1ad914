/** The dialect of paystile's own protocol: the challenge is the body, the proof is `Payment-Proof`, refusals are problem+json. */
import { asciiJson } from '../core/http/http.ts'
import { formatProblem, type RefusalRow, refusals } from '../core/payment/refusals.ts'
import { prepareChallenge, type RefusedPayment } from '../core/protocol/challenge.ts'
import { acceptHeader, parseProof, proofHeader } from '../core/protocol/proof.ts'
import type { Dialect } from './dialect.ts'

const mostLengths = 256
const nativeRequestHeaders: readonly string[] = [proofHeader, acceptHeader]

/** `varyBy` are further request headers on which its answers depend. */
export function createNative(varyBy: readonly string[] = []): Dialect {
  const challengeHeaders = Object.freeze({
    'Content-Type': 'application/json',
    'Cache-Control': 'no-store',
    Vary: ['Accept', ...nativeRequestHeaders, ...varyBy].join(', '),
    'X-Content-Type-Options': 'nosniff',
  })
  /** Frozen, because many answers share them. */
  const headersFor = (length: number) => Object.freeze({ ...challengeHeaders, 'Content-Length': String(length) })
  return {
    read: (incoming) => {
      const header = incoming.header('payment-proof')
      return header === undefined ? undefined : parseProof(header)
    },

    prepare: (offer) => {
      const write = prepareChallenge(offer)
      const known = new Map<number, ReturnType<typeof headersFor>>()
      return (parts, members = '') => {
        let body = write(parts)
        if (members !== '') body = `${body.slice(0, -1)},${members}}`
        if (parts.refused) body = `${body.slice(0, -1)},${formatReason(parts.refused)}}`
        // Challenges of a route have few lengths.
        let headers = known.get(body.length)
        if (!headers) {
          headers = headersFor(body.length)
          if (known.size >= mostLengths) known.clear()
          known.set(body.length, headers)
        }
        return { kind: 'answer', status: 402, headers, body }
      }
    },

    refusal: (refusal, facts, wording) => {
      const row: RefusalRow = refusals[refusal.code]
      const retryAfter = refusal.retryAfterSeconds ?? row.retryAfterSeconds
      const body = formatProblem(refusal, { requestId: facts?.requestId, tx: facts?.tx, ...wording })
      return {
        kind: 'answer',
        status: wording?.status ?? refusal.status ?? row.status,
        headers: {
          ...challengeHeaders,
          'Content-Type': 'application/problem+json',
          'Content-Length': String(body.length),
          ...(retryAfter !== undefined && { 'Retry-After': String(retryAfter) }),
        },
        body,
      }
    },
  }
}

/** The members of a challenge that say why the payment in the request was refused. */
function formatReason({ refusal, type = `urn:paystile:problem:${refusal.code}` }: RefusedPayment): string {
  const { title } = refusals[refusal.code]
  return asciiJson({ type, title, detail: refusal.detail ?? title, code: refusal.code }).slice(1, -1)
}

export const native = createNative()
