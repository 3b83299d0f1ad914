/**
 * Keyed tags that bind a requestId to a route, a request and a claim without revealing them.
 *
 * Their key does not rotate, so tags stay valid when the sealing key is replaced.
 */
import { padToBlock, prepareHmac } from '../encoding/hmac.ts'
import { bindingTagBytes, routeTagBytes } from './request-id.ts'

export interface Tags {
  route(scope: string): Uint8Array
  /** Tags the request that the payment is for. Neither part contains a line break. */
  binding(method: string, target: string): Uint8Array
  claim(hash: Uint8Array): Uint8Array
}

export function createTags(key: Uint8Array): Tags {
  const encoder = new TextEncoder()
  const macFor = (purpose: string) => prepareHmac(key, padToBlock(encoder.encode(purpose)))
  const [routeMac, bindingMac, claimMac] = [macFor('route'), macFor('binding'), macFor('claim')]
  return {
    route: (scope) => routeMac(encoder.encode(scope)).subarray(0, routeTagBytes),
    binding: (method, target) => bindingMac(encoder.encode(`${method}\n${target}`)).subarray(0, bindingTagBytes),
    claim: (hash) => claimMac(hash).subarray(0, bindingTagBytes),
  }
}
