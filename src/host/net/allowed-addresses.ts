/**
 * Restricts the addresses that a server connects to for a URL from outside.
 *
 * A name is resolved once, and the resolved addresses are checked and connected to, so a later DNS change has no
 * effect. One private address among them is enough to refuse.
 */
import { type LookupAddress, lookup as lookUp } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'
import { PaystileError } from '../../core/errors/paystile-error.ts'

export type Reach =
  /** Addresses of the public internet only. */
  | 'public'
  /** Also this machine itself, for test networks. */
  | 'loopback'
  /** Also private networks. */
  | 'private'

/** Never a valid target: "this network", link-local with cloud metadata, multicast, reserved. */
const never = createList(
  ['0.0.0.0', 8],
  ['169.254.0.0', 16],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
  // Cloud metadata services outside of link-local: Azure, Alibaba, AWS and Google over IPv6.
  ['168.63.129.16', 32],
  ['100.100.100.200', 32],
  ['fd00:ec2::254', 128],
  ['fd20:ce::254', 128],
)
const loopback = createList(['127.0.0.0', 8], ['::1', 128])
const privateNetworks = createList(
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['fc00::', 7],
)
const globalUnicast = createList(['2000::', 3])
/** Parts of the global range that are not global: Teredo and other protocols, documentation, 6to4. */
const notGlobal = createList(['2001::', 23], ['2001:db8::', 32], ['2002::', 16], ['3fff::', 20])

function createList(...networks: readonly (readonly [network: string, prefix: number])[]): BlockList {
  const list = new BlockList()
  for (const [network, prefix] of networks) list.addSubnet(network, prefix, readFamily(network))
  return list
}

function readFamily(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4'
}

/** Whether an IP address may be connected to. False for any other text. */
export function isWithin(reach: Reach, address: string): boolean {
  const plain = unmap(address)
  if (isIP(plain) === 0) return false
  const family = readFamily(plain)
  const isIn = (list: BlockList) => list.check(plain, family)
  // First, because some of them are inside of private networks.
  if (isIn(never)) return false
  if (isIn(loopback)) return reach !== 'public'
  if (isIn(privateNetworks)) return reach === 'private'
  return family === 'ipv4' || (isIn(globalUnicast) && !isIn(notGlobal))
}

/** Converts an IPv4-mapped IPv6 address, in either spelling. */
function unmap(address: string): string {
  const [, dotted, high, low] = /^::ffff:(?:(\d+\.\d+\.\d+\.\d+)|([0-9a-f]{1,4}):([0-9a-f]{1,4}))$/i.exec(address) ?? []
  if (dotted !== undefined) return dotted
  if (high === undefined || low === undefined) return address
  const [first, second] = [Number.parseInt(high, 16), Number.parseInt(low, 16)]
  return [first >> 8, first & 255, second >> 8, second & 255].join('.')
}

/** The host of a URL if it is an IP address, which no look-up would check. */
export function readLiteral(url: URL): string | undefined {
  const host = url.hostname.replace(/^\[|\]$/g, '')
  return isIP(host) === 0 ? undefined : host
}

class ForbiddenAddress extends PaystileError {
  override readonly name = 'ForbiddenAddress'
  constructor(message: string) {
    super('forbidden_address', message)
  }
}

type LookUpAll = (
  host: string,
  options: { readonly all: true },
  done: (error: NodeJS.ErrnoException | null, found: readonly LookupAddress[]) => void,
) => void

/** For `connect`: resolves as usual, and fails if one of the addresses is not allowed. */
export function createLookup(reach: Reach, resolve: LookUpAll = lookUp as LookUpAll): LookupFunction {
  return (host, options, done) => {
    resolve(host, { ...options, all: true }, (error, found) => {
      const [first] = found ?? []
      if (error || !first) return done(error ?? new ForbiddenAddress('the name does not resolve'), '', 4)
      if (!found.every(({ address }) => isWithin(reach, address)))
        return done(new ForbiddenAddress('the name resolves to a private network'), '', 4)
      if (options.all) return done(null, [...found])
      done(null, first.address, first.family)
    })
  }
}
