/** Connection pools to upstreams, one for each. They refuse the addresses of cloud metadata services. */
import { type LookupAddress, lookup as lookUp } from 'node:dns'
import { BlockList, isIPv6, type LookupFunction } from 'node:net'
import { Pool } from 'undici'
import type { UpstreamPlan } from '../config/plan.ts'

/**
 * Addresses that no host name may resolve to. Otherwise control of a DNS name would give access to the machine's
 * credentials. An intended address can be written literally in the file, which needs no look-up.
 */
const forbidden = new BlockList()
forbidden.addSubnet('169.254.0.0', 16, 'ipv4')
forbidden.addSubnet('fe80::', 10, 'ipv6')
forbidden.addAddress('fd00:ec2::254', 'ipv6')
forbidden.addAddress('fd20:ce::254', 'ipv6')
forbidden.addAddress('100.100.100.200', 'ipv4')
forbidden.addAddress('168.63.129.16', 'ipv4')
forbidden.addAddress('192.0.0.192', 'ipv4')
// The first of them again, as NAT64 translates it for IPv6-only networks.
forbidden.addSubnet('64:ff9b::a9fe:0', 112, 'ipv6')

export function isForbidden(address: string): boolean {
  return forbidden.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')
}

type LookUp = (
  hostname: string,
  options: { readonly all: true; readonly family?: number | 'IPv4' | 'IPv6' | undefined },
  done: (error: NodeJS.ErrnoException | null, found: LookupAddress[]) => void,
) => void

/** Resolves a name and checks the addresses that are then connected to, so a DNS change in between has no effect. */
export function createLookup(resolve: LookUp = lookUp as unknown as LookUp): LookupFunction {
  return (hostname, options, done) => {
    resolve(hostname, { ...options, all: true }, (error, found) => {
      const wrong = error ? undefined : found.find(({ address }) => isForbidden(address))
      const why = wrong && `${hostname} resolves to ${wrong.address}, a reserved address`
      const fault = why === undefined ? undefined : Object.assign(new Error(why), { code: 'EUPSTREAM' })
      const [first] = (error ?? fault) ? [] : found
      if (error || fault || !first)
        done(error ?? fault ?? Object.assign(new Error(`${hostname} does not resolve`), { code: 'EUPSTREAM' }), [])
      else if (options.all) done(null, found)
      else done(null, first.address, first.family)
    })
  }
}

export const guardedLookup = createLookup()

export function createUpstreams() {
  const pools = new Map<string, Pool>()
  return {
    poolFor: ({ origin, connectMs }: UpstreamPlan) => {
      const name = `${origin} ${connectMs}`
      const pool =
        pools.get(name) ??
        new Pool(origin, {
          pipelining: 1,
          keepAliveTimeout: 4_000,
          keepAliveMaxTimeout: 60_000,
          connect: { timeout: connectMs, lookup: guardedLookup },
        })
      pools.set(name, pool)
      return pool
    },
    close: async () => {
      await Promise.all([...pools.values()].map((pool) => pool.destroy()))
    },
    /** The same after the running requests have ended. */
    retire: async () => {
      await Promise.all([...pools.values()].map((pool) => (pool.destroyed ? undefined : pool.close())))
    },
  }
}
