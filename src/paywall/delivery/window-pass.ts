/**
 * A pass within a window that is open already: one delivery of a response, of which there may be thousands a second.
 *
 * Nothing is held of a window, so nothing is renewed while the response runs and nothing written down at its end. What is
 * left to lose is its time; a response that is nearly through is let go on for a lease longer.
 */
import { computeConsequence } from '../../core/payment/delivery.ts'
import type { PaidDelivery } from './delivery-events.ts'
import { emitEnded, formatHeaders, readFacts } from './delivery-events.ts'
import type { Pass } from './pass.ts'

export function openWindowPass(paidDelivery: PaidDelivery): Pass {
  const { gate, claim, admission } = paidDelivery
  const { runtime, route, incoming } = claim
  const { clock } = runtime
  const end = admission.usableUntil + route.config.leaseMs
  let status: number | undefined
  let isLost = false
  let isEnded = false
  let tellLost: () => void = () => {}
  const isHeld = (): boolean => !isLost && clock.now() < end
  const lose = (): void => {
    if (isLost || isEnded) return
    isLost = true
    tellLost()
  }
  const callOff = runtime.deadlines.watch(end, lose)
  const finished = gate.running.begin(lose)
  return {
    envelope: route.config.envelope,
    facts: () => readFacts(paidDelivery),
    begin: (head) => {
      status = head.status
      return { status, headers: formatHeaders(paidDelivery, status) }
    },
    isAlive: () => !isEnded && isHeld(),
    onLost: (callback) => {
      tellLost = callback
    },
    // Nothing of a window is used up by a response.
    awaitsArrival: () => false,
    end: (ending, bodyBytes) => {
      if (isEnded) return
      // Broken off by us, it does not count against the payer.
      const isOurs = ending !== 'finished' && !isHeld()
      isEnded = true
      callOff()
      const { unit } = admission.allowance
      const delivery = { unit, method: incoming.method, status, bodyBytes, ending }
      emitEnded(paidDelivery, isOurs ? 'release' : computeConsequence(delivery))
      finished()
    },
    lose,
  }
}
