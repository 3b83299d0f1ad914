/** Connections to upstreams: kept open, one pool for each, and never to where a cloud keeps its secrets. */
import type { LookupAddress } from 'node:dns'
import { lookup as lookUp } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { BlockList, isIPv6 } from 'node:net'
import { Pool } from 'undici'
import type { UpstreamPlan } from '../config/plan.ts'

/**
 * Addresses that no name may lead to: whoever can change a name's address could have us fetch a machine's credentials
 * there. Where such an address is meant, the file names it as it is, and then nothing is looked up.
 */
const forbidden = new BlockList()
forbidden.addSubnet('169.254.0.0', 16, 'ipv4')
forbidden.addSubnet('fe80::', 10, 'ipv6')
forbidden.addAddress('fd00:ec2::254', 'ipv6')
forbidden.addAddress('fd20:ce::254', 'ipv6')
forbidden.addAddress('100.100.100.200', 'ipv4')
forbidden.addAddress('168.63.129.16', 'ipv4')
forbidden.addAddress('192.0.0.192', 'ipv4')
// The first of them once more, as a translator for IPv6-only networks has it.
forbidden.addSubnet('64:ff9b::a9fe:0', 112, 'ipv6')

export function isForbidden(address: string): boolean {
  return forbidden.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')
}

type LookUp = (
  hostname: string,
  options: { readonly all: true; readonly family?: number | 'IPv4' | 'IPv6' | undefined },
  done: (error: NodeJS.ErrnoException | null, found: LookupAddress[]) => void,
) => void

/** Looks a name up and checks the very addresses that are then connected to: a name that changes in between gains nothing. */
export function createLookup(resolve: LookUp = lookUp as unknown as LookUp): LookupFunction {
  return (hostname, options, done) => {
    resolve(hostname, { ...options, all: true }, (error, found) => {
      const wrong = error ? undefined : found.find(({ address }) => isForbidden(address))
      const why = wrong && `${hostname} leads to ${wrong.address}, which is reserved for machines themselves`
      const fault = why === undefined ? undefined : Object.assign(new Error(why), { code: 'EUPSTREAM' })
      const [first] = (error ?? fault) ? [] : found
      if (error || fault || !first)
        done(error ?? fault ?? Object.assign(new Error(`${hostname} has no address`), { code: 'EUPSTREAM' }), [])
      else if (options.all) done(null, found)
      else done(null, first.address, first.family)
    })
  }
}

export const guardedLookup = createLookup()

export interface Upstreams {
  poolFor(plan: UpstreamPlan): Pool
  close(): Promise<void>
  /** The same once the requests that run have ended. */
  retire(): Promise<void>
}

export function createUpstreams(): Upstreams {
  const pools = new Map<string, Pool>()
  return {
    poolFor: ({ origin, connectMs }) => {
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
    retire: async () => {
      await Promise.all([...pools.values()].map((pool) => (pool.destroyed ? undefined : pool.close())))
    },
  }
}
