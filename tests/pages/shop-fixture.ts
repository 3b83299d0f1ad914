/** A service with something for sale and a dashboard, and customers who buy from it. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { KeyPairSigner } from '@solana/kit'
import { create402Middleware } from '../../src/adapters/node.ts'
import { createPaystileRoutes } from '../../src/adapters/routes.ts'
import type { RoutesOptions } from '../../src/api/options.ts'
import type { KnownCode } from '../../src/core/money/tokens.ts'
import type { Challenge } from '../../src/core/protocol/challenge.ts'
import { proofOf, unhurried } from '../harness/localnet-fixture.ts'
import { createShopFixture, type ShopFixture } from '../harness/shop-fixture.ts'

interface Listed {
  readonly id: string
  readonly endpoint: string
  readonly payer: string
  readonly token: string
}

export interface DashboardService {
  readonly url: string
  readonly shop: ShopFixture
  readonly owner: KeyPairSigner
  /** Asks, pays and takes what was paid for. */
  buy(path: string, token?: KnownCode): Promise<void>
  /** The payments as the service lists them, the latest first. */
  list(): Promise<readonly Listed[]>
  /** Stops selling at a path, or (without a reason) goes on. */
  pause(path: string, why?: string): void
  close(): Promise<void>
}

const prices = { '/api/moon': '0.001', '/api/weather': '0.0125' } as const

export interface ServiceOptions {
  /** What the service's own addresses are opened with. */
  readonly routes?: (shop: ShopFixture) => Promise<Partial<RoutesOptions>>
  /** Sees payments that nobody claims. */
  readonly watch?: boolean
  /** What is for sale besides. */
  readonly prices?: Readonly<Record<string, string>>
}

export async function openService({
  routes: ask,
  watch = false,
  prices: more,
}: ServiceOptions = {}): Promise<DashboardService> {
  const shop = await createShopFixture(unhurried)
  const { world, log, payer } = shop
  const shared = { network: 'localnet', rpc: world.localnet.rpcUrl, ledger: 'memory:', watch, log } as const
  const paywalls = Object.entries({ ...prices, ...more }).map(([endpoint, price]) => {
    const paid = create402Middleware({
      ...shared,
      price,
      token: 'USDC',
      acceptedMints: ['USDC', 'SOL', 'NATIVE'],
      recipient: world.recipient.address,
      endpoint,
      scope: endpoint.slice(5),
      waitSeconds: 0,
    })
    return [endpoint, paid] as const
  })
  const routes = createPaystileRoutes({ ...shared, ...(await ask?.(shop)) })
  const server = createServer((request, response) =>
    routes.listener(request, response, () => {
      const paid = paywalls.find(([endpoint]) => endpoint === request.url)?.[1]
      if (paid) paid(request, response, () => response.end('the goods'))
      else response.writeHead(404).end()
    }),
  )
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  await Promise.all(paywalls.map(([, paid]) => paid.ready()))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    shop,
    owner: world.recipient,
    buy: async (path, token = 'USDC') => {
      const challenge = (await (await fetch(`${url}${path}`)).json()) as Challenge
      const tx = await world.pay(challenge, payer, token)
      // What is dear is sold only once it is final.
      if (more) world.localnet.advanceSlots(40)
      const response = await fetch(`${url}${path}`, { headers: { 'Payment-Proof': proofOf(tx, challenge, payer) } })
      if (response.status !== 200) throw new Error(`not sold: ${response.status} ${await response.text()}`)
      await response.text()
    },
    list: async () => {
      const { records } = (await (await fetch(`${url}/analytics?view=records`)).json()) as {
        records: Listed[]
      }
      return records
    },
    pause: (path, why) => {
      const paid = paywalls.find(([endpoint]) => endpoint === path)?.[1]
      if (why === undefined) paid?.resume()
      else paid?.pause(why)
    },
    close: async () => {
      await routes.close()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      for (const [, paid] of paywalls) await paid.close()
      await shop.close()
    },
  }
}
