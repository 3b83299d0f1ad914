/** A server with a paywall and the service's own addresses, on loopback, and people who visit it. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { KeyPairSigner } from '@solana/kit'
import { create402Middleware } from '../../src/adapters/node.ts'
import { createRequest, readVisitor, sendResponse } from '../../src/adapters/routes.ts'
import type { Visitor } from '../../src/api/http/access.ts'
import { readRoutesConfig } from '../../src/api/options.ts'
import type { RoutesParts } from '../../src/api/parts.ts'
import { createRoutes, type Routes } from '../../src/api/router.ts'
import { openHandle } from '../../src/compose/paywall.ts'
import type { Challenge } from '../../src/core/protocol/challenge.ts'
import type { ProviderOptions } from '../../src/paywall/config/options.ts'
import type { Runtime } from '../../src/paywall/runtime/runtime.ts'
import { proofOf } from '../harness/localnet-fixture.ts'
import type { ShopFixture } from '../harness/shop-fixture.ts'

export interface House {
  readonly url: string
  readonly service: Runtime
  readonly routes: Routes
  /** As somebody at the machine. */
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<Response>
  /** As a stranger who came through a proxy; `wallet` where one is signed in. */
  visit(path: string, wallet?: string, init?: RequestInit): Promise<Response>
  verify(body: unknown, headers?: Readonly<Record<string, string>>): Promise<Response>
  challenge(path?: string): Promise<Challenge>
  /** Pays, without a word to the server. */
  pay(
    payer: KeyPairSigner,
    path?: string,
  ): Promise<{ readonly tx: string; readonly requestId: string; readonly proof: string }>
  claim(proof: string, path?: string): Promise<Response>
  /** Whether what is sold fails from now on: a response with 500, for which the payment is given back. */
  fail(isFailing: boolean): void
  close(): Promise<void>
}

/** Sessions are told by a header here: how one signs in is tested elsewhere. */
const sessionHeader = 'x-test-wallet'

export async function openHouse(
  { world, log }: ShopFixture,
  options: Partial<ProviderOptions> = {},
  parts: Partial<RoutesParts> = {},
  change: (visitor: Visitor) => Visitor = (visitor) => visitor,
): Promise<House> {
  const shared = { network: 'localnet', rpc: world.localnet.rpcUrl, ledger: 'memory:', log, watch: false } as const
  const paid = create402Middleware({
    ...shared,
    price: 0.01,
    token: 'USDC',
    recipient: world.recipient.address,
    waitSeconds: 0,
    trustProxy: 1,
    endpoint: '/data',
    description: 'The secret, in full.',
    ...options,
  })
  const { rpc = shared.rpc, ledger = shared.ledger, watch = shared.watch, reportToken = 'USDC' } = options
  const config = readRoutesConfig({ ...shared, rpc, ledger, watch, reportToken }, {})
  const handle = openHandle(config.service, log)
  // A server that cannot start would ask the chain during later tests.
  const service = await Promise.resolve(handle.get()).catch(async (error) => {
    await Promise.all([paid.close(), handle.release()])
    throw error
  })
  const routes = createRoutes({
    service,
    mints: {},
    owners: undefined,
    trustProxy: 1,
    publicUrl: undefined,
    hasOpenMetrics: false,
    signIn: {
      handle: async () => new Response(null, { status: 204 }),
      sessionOf: async (request) => {
        const wallet = request.headers.get(sessionHeader)
        return wallet === null ? undefined : { wallet }
      },
    },
    ...parts,
  })
  await paid.ready()
  let isFailing = false
  const server: Server = createServer((request, response) => {
    const path = (request.url ?? '/').split('?')[0] ?? '/'
    if (!routes.owns(path))
      return paid(request, response, () => response.writeHead(isFailing ? 500 : 200).end(isFailing ? '' : 'the secret'))
    routes
      .handle(createRequest(request, new AbortController().signal), change(readVisitor(request)))
      .then((answer) => sendResponse(response, answer))
      .catch(() => response.destroy())
  })
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const challenge: House['challenge'] = async (path = '/data') => {
    const response = await fetch(`${url}${path}`)
    if (response.status !== 402) throw new Error(`expected a challenge, got ${response.status}`)
    return (await response.json()) as Challenge
  }
  return {
    url,
    service,
    routes,
    get: (path, headers = {}) => fetch(`${url}${path}`, { headers }),
    visit: (path, wallet, init = {}) =>
      fetch(`${url}${path}`, {
        ...init,
        headers: {
          'x-forwarded-for': '203.0.113.9',
          ...(wallet !== undefined && { [sessionHeader]: wallet }),
          ...init.headers,
        },
      }),
    verify: (body, headers = {}) =>
      fetch(`${url}/verify-payment`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-forwarded-for': '203.0.113.9', ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    challenge,
    pay: async (payer, path) => {
      const asked = await challenge(path)
      const tx = await world.pay(asked, payer)
      return { tx, requestId: asked.requestId, proof: proofOf(tx, asked, payer) }
    },
    claim: (proof, path = '/data') => fetch(`${url}${path}`, { headers: { 'Payment-Proof': proof } }),
    fail: (is) => {
      isFailing = is
    },
    close: async () => {
      await routes.close()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      await paid.close()
      await handle.release()
    },
  }
}

export function asWallet(wallet: string): Readonly<Record<string, string>> {
  return { [sessionHeader]: wallet }
}
