/**
 * Keyed tags that tie a requestId to a route, a request and a claim without writing any of them into it.
 *
 * Their key does not rotate, so a tag means the same before and after the sealing key was replaced.
 */
import { padToBlock, prepareMac } from './mac.ts'
import { bindingTagBytes, routeTagBytes } from './request-id.ts'

export interface Tags {
  route(scope: string): Uint8Array
  /** What the payment is for. Neither part ever contains a line break. */
  binding(method: string, target: string): Uint8Array
  claim(hash: Uint8Array): Uint8Array
}

/** Most requests are for a few addresses, so their tags are kept: half a megabyte at the most. */
const mostKnown = 1024
const longestKnown = 256

export function createTags(key: Uint8Array): Tags {
  const encoder = new TextEncoder()
  const macFor = (purpose: string) => prepareMac(key, padToBlock(encoder.encode(purpose)))
  const [routeMac, bindingMac, claimMac] = [macFor('route'), macFor('binding'), macFor('claim')]
  const known = new Map<string, Uint8Array>()
  return {
    route: (scope) => routeMac(encoder.encode(scope)).subarray(0, routeTagBytes),
    binding: (method, target) => {
      const text = `${method}\n${target}`
      const found = known.get(text)
      if (found) return found
      const tag = bindingMac(encoder.encode(text)).subarray(0, bindingTagBytes)
      if (known.size >= mostKnown) known.clear()
      if (text.length <= longestKnown) known.set(text, tag)
      return tag
    },
    claim: (hash) => claimMac(hash).subarray(0, bindingTagBytes),
  }
}
