/**
 * What the end of a response means for the payment behind it.
 *
 * A payment is used up by a delivery that really reached the socket's end, and by nothing less. Everything else gives it
 * back; deliveries that carried body bytes are counted, so that breaking off at the last byte is no free ride.
 */
export const maxDeliveries = 3n
export const maxFreeUses = 20n

/** How a response ended: all bytes handed to the network, the client left, or the handler broke or was never asked. */
export type Ending = 'finished' | 'aborted' | 'failed'

export interface Delivery {
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

export function consequenceOf(delivery: Delivery): Consequence {
  const { method, status, bodyBytes, ending } = delivery
  if (ending === 'aborted' && bodyBytes === 0) return 'free'
  if (status === undefined || status >= 500) return 'release'
  if (method === 'HEAD' || status === 304 || (method === 'OPTIONS' && bodyBytes === 0)) return 'free'
  if (status >= 400) return 'count'
  if (ending === 'finished') return 'settle'
  return bodyBytes > 0 ? 'count' : 'release'
}
