/** Asks the service, at the address of the page itself. */
import type { CheckoutOrder } from '../../core/checkout/messages.ts'
import { checkoutHeader, formatOrder } from '../../core/checkout/messages.ts'

export type Answer<T> =
  | { readonly kind: 'answer'; readonly value: T }
  /** Not reached, or not able to answer: the same order is worth sending again. */
  | { readonly kind: 'down' }
  /** Asking again would not help. */
  | { readonly kind: 'refused'; readonly detail: string; readonly code?: string }

const patienceMs = 15_000

/** Every order may be sent again: what is submitted is the same transaction, and lands once. */
export async function ask<T>(order: CheckoutOrder): Promise<Answer<T>> {
  try {
    const response = await fetch(location.href, {
      headers: { Accept: 'application/json', [checkoutHeader]: formatOrder(order) },
      cache: 'no-store',
      redirect: 'error',
      signal: AbortSignal.timeout(patienceMs),
    })
    const value = await response.json()
    // Anything else that comes with success was not written by the service.
    if (response.ok && (value.state ?? value.kind ?? value.uri)) return { kind: 'answer', value }
    if (response.ok || response.status >= 500 || response.status === 429 || value.retryable) return { kind: 'down' }
    const detail = String(value.detail ?? value.title ?? `Status ${response.status}.`)
    return { kind: 'refused', detail, code: value.code }
  } catch {
    return { kind: 'down' }
  }
}
