/** Sends requests to the service, at the address of the page itself. */
import { type CheckoutOrder, checkoutHeader, formatOrder } from '../../core/checkout/messages.ts'

export type Answer<T> =
  /** `version`: the version of the page that the service serves now. */
  | { readonly kind: 'answer'; readonly value: T; readonly version: string | null }
  /** The service was not reached, or could not respond. The same request can be repeated. */
  | { readonly kind: 'down' }
  /** A repetition would not help. */
  | { readonly kind: 'refused'; readonly detail: string; readonly code?: string }

const patienceMs = 15_000

/** Every request can be repeated: the submitted transaction is the same, and lands once. */
export async function ask<T>(order: CheckoutOrder): Promise<Answer<T>> {
  try {
    const response = await fetch(location.href, {
      headers: { Accept: 'application/json', [checkoutHeader]: formatOrder(order) },
      cache: 'no-store',
      redirect: 'error',
      signal: AbortSignal.timeout(patienceMs),
    })
    const value = await response.json()
    // Another successful response was not written by the service.
    if (response.ok && (value.state ?? value.kind ?? value.uri) !== undefined)
      return { kind: 'answer', value, version: response.headers.get(checkoutHeader) }
    if (response.ok || response.status >= 500 || response.status === 429 || value.retryable) return { kind: 'down' }
    const detail = String(value.detail ?? value.title ?? `Status ${response.status}.`)
    return { kind: 'refused', detail, code: value.code }
  } catch {
    return { kind: 'down' }
  }
}
