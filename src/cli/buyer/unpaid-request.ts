/** Requests a resource without payment. */
import type { ClientOptions } from '../../client/options.ts'
import { readForeignOffers } from '../../client/protocols/choose.ts'
import type { ForeignOffer } from '../../client/protocols/offer.ts'
import { readJson } from '../../client/read-json.ts'
import { explainUnreachable } from '../../client/request/unreachable.ts'
import { type Challenge, readChallenge } from '../../core/protocol/challenge.ts'
import { CommandError } from '../output.ts'

export interface Asked {
  /** Its body is not read yet. */
  readonly response: Response
  /** Undefined if no payment is required, or only in an unsupported way. */
  readonly challenge: Challenge | undefined
  /** The offers in other protocols. */
  readonly offers: readonly ForeignOffer[]
}

export const unknownPayment = 'it requires a payment protocol that paystile does not support'

export async function ask(
  url: URL,
  request: RequestInit,
  timeoutMs: number,
  options: Pick<ClientOptions, 'network' | 'protocols'>,
): Promise<Asked> {
  const limit = new AbortController()
  const timer = setTimeout(() => limit.abort(noAnswer()), timeoutMs)
  try {
    const response = await fetch(url, { ...request, signal: limit.signal }).catch((error: unknown) => {
      throw explainUnreachable(error, url)
    })
    if (response.status !== 402) return { response, challenge: undefined, offers: [] }
    const body = await readJson(response, timeoutMs)
    const isNative = options.protocols?.includes('paystile') ?? true
    const challenge = isNative ? readChallenge(body) : undefined
    return { response, challenge, offers: readForeignOffers(response, body, options) }
  } finally {
    clearTimeout(timer)
  }
}

function noAnswer(): CommandError {
  const message = 'The server did not respond in time. Try again, or raise --timeout.'
  return new CommandError('unreachable', 'server_unavailable', message)
}
