/** Detects an upstream that is the gateway itself: every request would loop until connections run out. */
import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { networkInterfaces } from 'node:os'
import type { Plan } from './plan.ts'

type Place = Pick<Plan, 'host' | 'port' | 'publicUrl'>

/** One sentence for each route with the gateway as its upstream. */
export async function findSelf(plan: Place & Pick<Plan, 'routes'>): Promise<readonly string[]> {
  const own = new Map<string, Promise<boolean>>()
  const problems: string[] = []
  for (const [index, { upstream }] of plan.routes.entries()) {
    const { origin } = upstream
    const found = own.get(origin) ?? isSelf(origin, plan)
    own.set(origin, found)
    if (await found)
      problems.push(`routes[${index}].upstream: ${origin} is the gateway itself; set the address of your own service`)
  }
  return problems
}

export async function isSelf(origin: string, { host, port, publicUrl }: Place): Promise<boolean> {
  if (publicUrl !== undefined && new URL(publicUrl).origin === origin) return true
  const url = new URL(origin)
  if (Number(url.port || (url.protocol === 'https:' ? 443 : 80)) !== port) return false
  const [named, bound] = await Promise.all([addressesOf(url.hostname), addressesOf(host)])
  const isOpen = bound.some(isWildcard)
  // A connection to a wildcard address goes to this machine.
  return named.some((address) => isWildcard(address) || bound.includes(address) || (isOpen && isLocal(address)))
}

async function addressesOf(name: string): Promise<readonly string[]> {
  const bare = name.replace(/^\[(.*)\]$/, '$1')
  if (isIP(bare)) return [plain(bare)]
  const found = await lookup(bare, { all: true }).catch(() => [])
  return found.map(({ address }) => plain(address))
}

function plain(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '')
}

function isWildcard(address: string): boolean {
  return address === '0.0.0.0' || address === '::'
}

function isLocal(address: string): boolean {
  if (/^127\./.test(address) || address === '::1') return true
  return Object.values(networkInterfaces()).some((list) => list?.some((one) => one.address === address))
}
