/** The dialects of a route as one: the native one writes the answers, and the others add their headers. */
import { type Answer, formatHeaderLines, type HeaderPairs, type Incoming } from '../core/http/http.ts'
import type { Refusal } from '../core/payment/refusals.ts'
import type { ChallengeParts, ForeignHeaders, Offer } from '../core/protocol/challenge.ts'
import type { ForeignDialect, Reading, RefusalFacts } from './dialect.ts'
import { noHeaders } from './foreign.ts'
import { createNative, native } from './native.ts'

/** The payment in a request, and the dialect in which it came: undefined for the native one. */
export interface DialectReading {
  readonly reading: Reading
  readonly via: ForeignDialect | undefined
}

/** An offer in all dialects of a route. */
export interface PreparedChallenge {
  answerWith(parts: ChallengeParts, incoming: Incoming): Answer
  /** Writes the headers of other protocols for a later request. Undefined if there are none. */
  readonly writeForeign: ((parts: ChallengeParts) => ForeignHeaders) | undefined
}

/** The dialects that a route speaks. */
export interface Dialects {
  /** Undefined for a request without payment. */
  read(incoming: Incoming): DialectReading | undefined
  /** Prepares an offer once; the result answers every unpaid request. */
  prepare(offer: Offer): PreparedChallenge
  /** `via` is the dialect of the refused request. */
  refusal(refusal: Refusal, facts?: RefusalFacts, via?: ForeignDialect): Answer
  /** Request headers that carry payments, for caches, browsers and the gateway. */
  readonly requestHeaders: readonly string[]
  /** Response headers for the payer. */
  readonly responseHeaders: readonly string[]
}

/** Without other dialects, the native functions are used as they are, so that their answers cost the same as before. */
export const nativeOnly: Dialects = {
  read: (incoming) => {
    const reading = native.read(incoming)
    return reading && { reading, via: undefined }
  },
  prepare: (offer) => {
    const answerWith = native.prepare(offer)
    return { answerWith: (parts) => answerWith(parts), writeForeign: undefined }
  },
  refusal: (refusal, facts) => native.refusal(refusal, facts),
  requestHeaders: [],
  responseHeaders: [],
}

export function joinDialects(foreign: readonly ForeignDialect[]): Dialects {
  if (foreign.length === 0) return nativeOnly
  const requestHeaders = [...new Set(foreign.flatMap((dialect) => dialect.requestHeaders))]
  const own = createNative(requestHeaders)
  return {
    requestHeaders,
    responseHeaders: [...new Set(foreign.flatMap((dialect) => dialect.responseHeaders))],
    read: (incoming) => {
      const reading = own.read(incoming)
      if (reading) return { reading, via: undefined }
      for (const via of foreign) {
        const found = via.read(incoming)
        if (found) return { reading: found, via }
      }
      return undefined
    },
    prepare: (offer) => {
      const answerWith = own.prepare(offer)
      const additions = foreign.flatMap(({ isWanted, prepare, prepareMembers }) => {
        const [write, writeMembers] = [prepare(offer), prepareMembers?.(offer)]
        return write || writeMembers ? [{ isWanted, write, writeMembers }] : []
      })
      if (additions.length === 0) return { answerWith: (parts) => answerWith(parts), writeForeign: undefined }
      return {
        writeForeign: (parts) => {
          const byProtocol = additions.map(({ write }) => write?.(parts) ?? noHeaders)
          const all = byProtocol.flat()
          return { byProtocol, all, lines: formatHeaderLines(all) }
        },
        answerWith: (parts, incoming) => {
          // Only bare proofs can be made from the transactions of other protocols.
          if (parts.proof !== 'bare') return answerWith(parts)
          // The headers of a refusal name its reason.
          const written = parts.refused ? undefined : parts.foreign
          const varying: HeaderPairs[number][] = []
          let [members, areAllWanted] = ['', true]
          for (let index = 0; index < additions.length; index += 1) {
            const { isWanted, write, writeMembers } = additions[index] as (typeof additions)[number]
            if (!isWanted(incoming)) {
              areAllWanted = false
              continue
            }
            if (write) varying.push(...(written?.byProtocol[index] ?? write(parts)))
            if (writeMembers) members = writeMembers(parts)
          }
          const { headers, body } = answerWith(parts, members)
          const varyingLines = areAllWanted ? written?.lines : undefined
          return { kind: 'answer', status: 402, headers, body, varying, varyingLines }
        },
      }
    },
    refusal: (refusal, facts = {}, via = undefined) => {
      if (!via) return own.refusal(refusal, facts)
      const { headers, ...wording } = via.refusal(refusal, facts)
      return { ...own.refusal(refusal, facts, wording), varying: headers }
    },
  }
}
