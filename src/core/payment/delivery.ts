/**
 * What the end of a response means for the payment behind it.
 *
 * A payment is used up by a delivery that really reached the socket's end (a large one: the client), and by nothing less. Everything else gives it
 * back; deliveries that carried body bytes are counted, so that breaking off at the last byte is no free ride.
 */
import type { Unit } from './allowance.ts'

/** `retry`: the payment is kept, ask again. `partial`: no more than this was paid for. */
export const statusHeader = 'Payment-Status'

export const maxDeliveries = 3n
export const maxFreeUses = 20n

/**
 * A longer body counts as delivered only when its connection shows that it arrived. This much, and no more, any client takes
 * without reading it: the window with which a connection opens.
 */
export const unconfirmedBytes = 65_536

/** How a response ended: all of it was sent, the client left, or the handler broke or was never asked. */
export type Ending = 'finished' | 'aborted' | 'failed'

export interface SentResponse {
  readonly unit: Unit
  readonly method: string
  /** Undefined when the handler broke before it chose one. */
  readonly status: number | undefined
  readonly bodyBytes: number
  readonly ending: Ending
}

export type Consequence =
  /** The use is consumed. */
  | 'settle'
  /** The use goes back, and counts against `maxDeliveries`. */
  | 'count'
  /** The use goes back, and counts against `maxFreeUses`: no body was sent, but the handler may have worked. */
  | 'free'
  /** The use goes back as if nothing had happened. */
  | 'release'

/** Bytes that were sold ahead are gone when they were sent, however it ended. */
export function computeConsequence(delivery: SentResponse): Consequence {
  const { unit, method, status, bodyBytes, ending } = delivery
  if (ending === 'aborted' && bodyBytes === 0) return 'free'
  if (status === undefined || status >= 500) return 'release'
  if (method === 'HEAD' || status === 304 || (method === 'OPTIONS' && bodyBytes === 0)) return 'free'
  // It has no body, so that none of the bytes that were sold are used up by it.
  if (status === 204 && unit === 'byte') return 'free'
  // An error has bytes of its own, which are none of those that were sold.
  if (status >= 400) return unit === 'byte' || unit === 'file' ? 'free' : 'count'
  if (ending === 'finished' || (unit === 'byte' && bodyBytes > 0)) return 'settle'
  return bodyBytes > 0 ? 'count' : 'release'
}

/**
 * Whether it makes a difference if the client gets a body that was sent. Only of requests: a file may be sent three times
 * whether or not it arrived, bytes are gone when they were sent, and a window is not used up.
 */
export function dependsOnArrival(sent: Omit<SentResponse, 'ending'>): boolean {
  if (sent.unit !== 'request') return false
  return computeConsequence({ ...sent, ending: 'finished' }) !== computeConsequence({ ...sent, ending: 'aborted' })
}
