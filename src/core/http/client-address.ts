/**
 * Identifies the client of a request by its network address.
 *
 * A client can write anything into `X-Forwarded-For`. Only the entries that the trusted proxies appended count.
 */

/** Used if the server does not know the address or the header is malformed. */
export const unknownAddress = 'unknown'

/** Reads the address for rate limits. An IPv6 customer has 2^64 addresses, which count as one client. */
export function readClientAddress(peer: string | undefined, forwarded: string | undefined, proxies: number): string {
  const hops = proxies === 0 || forwarded === undefined ? [] : forwarded.split(',').map((part) => part.trim())
  const chain = [...hops, peer ?? '']
  return networkOf(chain[Math.max(0, chain.length - 1 - proxies)] ?? '')
}

function networkOf(address: string): string {
  const bare = address.replace(/^\[(.*)\](?::\d+)?$/, '$1').replace(/%.*$/, '')
  const mapped = /^(?:::ffff:)?(\d{1,3}(?:\.\d{1,3}){3})(?::\d+)?$/i.exec(bare)?.[1]
  if (mapped !== undefined) return mapped
  if (!/^[0-9a-f:]{2,39}$/i.test(bare) || !bare.includes(':')) return unknownAddress
  const [head = '', tail] = bare.toLowerCase().split('::')
  const groups = head === '' ? [] : head.split(':')
  const rest = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros =
    tail === undefined ? [] : Array.from({ length: Math.max(0, 8 - groups.length - rest.length) }, () => '0')
  const whole = [...groups, ...zeros, ...rest].map((group) => group.replace(/^0+(?=.)/, ''))
  return `${whole.slice(0, 4).join(':')}::/64`
}

/** Whether the browser used https, as reported by the outermost trusted proxy. */
export function isForwardedSecure(forwarded: string | undefined, proxies: number): boolean {
  if (proxies === 0 || forwarded === undefined) return false
  const hops = forwarded.split(',').map((part) => part.trim())
  return hops[Math.max(0, hops.length - proxies)]?.toLowerCase() === 'https'
}
