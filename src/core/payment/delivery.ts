/**
 * Decides how the end of a response affects the payment behind it.
 *
 * Only a complete delivery uses up a payment: the whole response reached the socket, or, if it is large, the client.
 * Every other outcome returns the use. Deliveries with body bytes are counted, so that a client cannot get free content
 * by aborting at the last byte.
 */
import type { Unit } from './allowance.ts'

/** `retry`: the payment is kept, and the client can ask again. `partial`: the payment covers no more than this. */
export const statusHeader = 'Payment-Status'

export const maxDeliveries = 3n
export const maxFreeUses = 20n
/** A server that died may have delivered the uses of its slice. So often, they go back to the payer. */
export const maxReturnedSlices = 3n

/**
 * A longer body counts as delivered only if the connection confirms its arrival. Any client accepts up to this many
 * bytes without reading them: it is the initial window of a connection.
 */
export const unconfirmedBytes = 65_536

/** How a response ended: it was sent completely, the client disconnected, or the handler failed or was never called. */
export type Ending = 'finished' | 'aborted' | 'failed'

export interface SentResponse {
  readonly unit: Unit
  readonly method: string
  /** Undefined if the handler failed before it chose a status. */
  readonly status: number | undefined
  readonly bodyBytes: number
  readonly ending: Ending
}

export type DeliveryOutcome =
  /** The use is consumed. */
  | 'delivered'
  /** The use is returned, and counts against `maxDeliveries`. */
  | 'partial'
  /** The use is returned, and counts against `maxFreeUses`: no body was sent, but the handler may have worked. */
  | 'no_body'
  /** The use is returned without any record. */
  | 'not_started'

/** Bytes that were sold ahead are gone when they were sent, however it ended. */
export function computeOutcome(delivery: SentResponse): DeliveryOutcome {
  const { unit, method, status, bodyBytes, ending } = delivery
  if (ending === 'aborted' && bodyBytes === 0) return 'no_body'
  if (status === undefined || status >= 500) return 'not_started'
  if (method === 'HEAD' || status === 304 || (method === 'OPTIONS' && bodyBytes === 0)) return 'no_body'
  // A 204 has no body and so uses none of the sold bytes.
  if (status === 204 && unit === 'byte') return 'no_body'
  // The body of an error contains none of the sold bytes.
  if (status >= 400) return unit === 'byte' || unit === 'file' ? 'no_body' : 'partial'
  if (ending === 'finished' || (unit === 'byte' && bodyBytes > 0)) return 'delivered'
  return bodyBytes > 0 ? 'partial' : 'not_started'
}

/**
 * Whether the outcome depends on the client receiving the body. Only requests depend on it: each byte of a file may be
 * sent three times in any case, bytes are used up when they are sent, and a window is not used up.
 */
export function dependsOnArrival(sent: Omit<SentResponse, 'ending'>): boolean {
  if (sent.unit !== 'request') return false
  return computeOutcome({ ...sent, ending: 'finished' }) !== computeOutcome({ ...sent, ending: 'aborted' })
}
