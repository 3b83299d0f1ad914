/**
 * Keyed tags that tie a requestId to a route, a request and a claim without writing any of them into it.
 *
 * Their key does not rotate, so a tag means the same before and after the sealing key was replaced.
 */
import { prepareMac } from './mac.ts'
import { bindingTagBytes, routeTagBytes } from './request-id.ts'

export interface Tags {
  route(scope: string): Uint8Array
  /** What the payment is for: `parts` never contain a line break. */
  binding(method: string, target: string): Uint8Array
  claim(hash: Uint8Array): Uint8Array
}

export function createTags(key: Uint8Array): Tags {
  const encoder = new TextEncoder()
  const routeMac = prepareMac(key, encoder.encode('route\n'))
  const bindingMac = prepareMac(key, encoder.encode('binding\n'))
  const claimMac = prepareMac(key, encoder.encode('claim\n'))
  const buffer = new Uint8Array(4096)
  return {
    route: (scope) => routeMac(encoder.encode(scope)).subarray(0, routeTagBytes),
    binding: (method, target) => {
      const text = `${method}\n${target}`
      // Three bytes are the most that one UTF-16 unit becomes.
      const bytes = text.length * 3 > buffer.length ? encoder.encode(text) : buffer
      const length = bytes === buffer ? encoder.encodeInto(text, buffer).written : bytes.length
      return bindingMac(bytes, length).subarray(0, bindingTagBytes)
    },
    claim: (hash) => claimMac(hash).subarray(0, bindingTagBytes),
  }
}
