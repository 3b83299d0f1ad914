/**
 * Reads a venue's HTTP responses. Each part is unknown until it is checked. The venue's address is not revealed,
 * because it can contain a key.
 */
import { type Fields, parseFields } from '../core/encoding/fields.ts'
import { maxUnits } from '../core/money/money.ts'
import { type VenueRefusal, venueRefusalCodes } from '../core/payouts/venue.ts'

export type VenueAnswer =
  | { readonly kind: 'answered'; readonly json: Fields }
  | VenueRefusal
  | { readonly kind: 'unavailable'; readonly why: string }

/** Sends a request and reads the response as a JSON object. Never throws. */
export async function askVenue(
  ask: () => Promise<{ readonly status: number; readonly text: string }>,
): Promise<VenueAnswer> {
  let answer: { readonly status: number; readonly text: string }
  try {
    answer = await ask()
  } catch {
    return { kind: 'unavailable', why: 'the venue cannot be reached, or its response was too slow or too large' }
  }
  const { status, text } = answer
  const json = parseFields(text)
  if (status === 200 && json) return { kind: 'answered', json }
  if (status === 401 || status === 403) return { kind: 'unavailable', why: `the venue returned ${status}` }
  if (status === 429) return { kind: 'unavailable', why: 'the venue returned 429: too many requests' }
  if (status >= 400 && status < 500) {
    const why = told(json) ?? `the venue returned ${status}`
    const code = venueRefusalCodes.find((one) => one === json?.['code'])
    return { kind: 'refused', why, ...(code !== undefined && { code }) }
  }
  return { kind: 'unavailable', why: `the venue returned ${status}${status === 200 ? ' without JSON' : ''}` }
}

const longestReason = 200

/** The venue's reason, sanitised for a log. */
function told(json: Fields | undefined): string | undefined {
  const why = json?.['why'] ?? json?.['error'] ?? json?.['errorCode']
  if (typeof why !== 'string' || why === '') return undefined
  return `the venue says: ${why.replace(/[^\x20-\x7e]/g, ' ').slice(0, longestReason)}`
}

/** A positive amount as text of its digits, in its canonical form. */
export function readAmount(value: unknown): bigint | undefined {
  if (typeof value !== 'string' || !/^[1-9]\d{0,19}$/.test(value)) return undefined
  const units = BigInt(value)
  return units <= maxUnits ? units : undefined
}
