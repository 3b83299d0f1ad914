/** Requests a resource without payment. */
import { readJson } from '../../client/read-json.ts'
import { type Challenge, readChallenge } from '../../core/protocol/challenge.ts'
import { CommandError, exitCodes } from '../output.ts'

export interface Asked {
  /** Its body is not read yet. */
  readonly response: Response
  /** Undefined if no payment is required, or only in an unsupported way. */
  readonly challenge: Challenge | undefined
}

export const unknownPayment = 'it requires a payment protocol that paystile does not support'

export async function ask(url: URL, request: RequestInit, timeoutMs: number): Promise<Asked> {
  const limit = new AbortController()
  const timer = setTimeout(() => limit.abort(noAnswer()), timeoutMs)
  try {
    const response = await fetch(url, { ...request, signal: limit.signal })
    return {
      response,
      challenge: response.status === 402 ? readChallenge(await readJson(response, timeoutMs)) : undefined,
    }
  } finally {
    clearTimeout(timer)
  }
}

function noAnswer(): CommandError {
  return new CommandError(
    exitCodes.unreachable,
    'server_unavailable',
    'The server did not respond in time. Try again, or raise --timeout.',
  )
}
