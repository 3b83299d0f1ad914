/** The path of a value in a gateway's configuration. */
import type { Place } from '../../paywall/config/problems.ts'

/** `routes[2].price`. */
export function formatPlace(place: Place): string {
  return place.reduce<string>(
    (text, part) => (typeof part === 'number' ? `${text}[${part}]` : text === '' ? part : `${text}.${part}`),
    '',
  )
}
