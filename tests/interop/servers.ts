/**
 * Servers of other payment protocols, unmodified, that sell `GET /paid` on a localnet. Packages that few tests need are
 * loaded with their server.
 */
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { createSolanaRpc, type KeyPairSigner } from '@solana/kit'
import { Mppx, solana } from '@solana/mpp/server'
import { x402Facilitator } from '@x402/core/facilitator'
import { type FacilitatorClient, HTTPFacilitatorClient } from '@x402/core/server'
import { paymentMiddleware, x402ResourceServer } from '@x402/express'
import { x402ResourceServer as HonoResourceServer, paymentMiddleware as honoPaymentMiddleware } from '@x402/hono'
import { toFacilitatorSvmSigner } from '@x402/svm'
import { ExactSvmScheme as FacilitatorScheme } from '@x402/svm/exact/facilitator'
import { ExactSvmScheme as ServerScheme } from '@x402/svm/exact/server'
import express, { type RequestHandler } from 'express'
import { Hono } from 'hono'
import type { PaymentPayload, PaymentRequirements } from 'x402/types'
import type { Resource, SolanaAddress } from 'x402-express'

/** The devnet of CAIP-2, as which a localnet presents itself. */
const devnet = 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1'
const priceUnits = '10000'

export interface Seller {
  readonly rpcUrl: string
  /** The mint of USDC. */
  readonly mint: string
  /** Must have a token account. */
  readonly recipient: string
  /** Pays the fees of the transactions. */
  readonly sponsor: KeyPairSigner
}

export interface PeerServer {
  /** The paid resource. */
  readonly url: string
  close(): Promise<void>
}

/** @x402/express with its facilitator in the same process. */
export function startX402Server({ rpcUrl, recipient, sponsor }: Seller): Promise<PeerServer> {
  const facilitator = createPeerFacilitator({ rpcUrl, sponsor })
  return serveExpress(facilitator, { recipient })
}

/** The facilitator of @x402/core and @x402/svm, in this process. */
export function createPeerFacilitator({ rpcUrl, sponsor }: Pick<Seller, 'rpcUrl' | 'sponsor'>): FacilitatorClient {
  const signer = toFacilitatorSvmSigner(sponsor, { defaultRpcUrl: rpcUrl })
  const facilitator = new x402Facilitator().register(devnet, new FacilitatorScheme(signer))
  return {
    verify: (payload, requirements) => facilitator.verify(payload, requirements),
    settle: (payload, requirements) => facilitator.settle(payload, requirements),
    getSupported: async () => facilitator.getSupported() as never,
  }
}

/** A facilitator in this process, of one version of x402. */
interface LocalFacilitator<Payload, Requirements> {
  verify(payload: Payload, requirements: Requirements): Promise<object>
  settle(payload: Payload, requirements: Requirements): Promise<object>
  getSupported(): Promise<object>
}

/** The facilitator of a peer at an address of its own. `url` is its base. */
export async function serveFacilitator<Payload, Requirements>(
  facilitator: LocalFacilitator<Payload, Requirements>,
): Promise<PeerServer> {
  const { url, close } = await listen(async (request, response) => {
    const answer = async () => {
      if (request.url === '/supported') return facilitator.getSupported()
      const { paymentPayload, paymentRequirements } = JSON.parse(await readBody(request))
      const serve = request.url === '/verify' ? facilitator.verify : facilitator.settle
      return serve(paymentPayload, paymentRequirements)
    }
    response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(await answer()))
  })
  return { url: new URL(url).origin, close }
}

/** A server that settles through a facilitator at another address. */
export interface FacilitatedSeller {
  readonly recipient: string
  /** Called for each request that is served, before the payment is settled. */
  readonly onServed?: () => unknown
}

export function serveExpress(
  facilitator: FacilitatorClient,
  { recipient, onServed }: FacilitatedSeller,
): Promise<PeerServer> {
  const server = new x402ResourceServer(facilitator).register(devnet, new ServerScheme())
  const app = express()
  app.use(paymentMiddleware(sellAt(recipient), server))
  app.get('/paid', async (_request, response) => {
    await onServed?.()
    response.send('paid')
  })
  return listen(app)
}

export function serveHono(
  facilitator: FacilitatorClient,
  { recipient, onServed }: FacilitatedSeller,
): Promise<PeerServer> {
  const server = new HonoResourceServer(facilitator).register(devnet, new ServerScheme())
  const app = new Hono()
  app.use(honoPaymentMiddleware(sellAt(recipient), server))
  app.get('/paid', async (context) => {
    await onServed?.()
    return context.text('paid')
  })
  return listen(getRequestListener(app.fetch, { overrideGlobalObjects: false }))
}

function sellAt(payTo: string) {
  const accepts = { scheme: 'exact', price: '$0.01', network: devnet, payTo } as const
  return { 'GET /paid': { accepts, description: 'a resource' } }
}

/** The peers' own client of a facilitator. It checks every answer with their schemas. */
export function connectFacilitator(url: string): HTTPFacilitatorClient {
  return new HTTPFacilitatorClient({ url })
}

/** x402-express (x402 v1) with the facilitator of x402 at a local address. */
export async function startX402V1Server({ rpcUrl, recipient, sponsor }: Seller): Promise<PeerServer> {
  const { settle, verify } = await import('x402/facilitator')
  const config = { svmConfig: { rpcUrl } }
  const kind = { x402Version: 1, scheme: 'exact', network: 'solana-devnet', extra: { feePayer: sponsor.address } }
  const facilitator = await serveFacilitator({
    verify: (payment: PaymentPayload, required: PaymentRequirements) =>
      verify(sponsor as never, payment, required, config),
    settle: (payment: PaymentPayload, required: PaymentRequirements) =>
      settle(sponsor as never, payment, required, config),
    getSupported: async () => ({ kinds: [kind] }),
  })
  return closeWith(facilitator, await startFacilitatedV1Server(facilitator.url, { recipient }))
}

/** x402-express with a facilitator at another address. */
export async function startFacilitatedV1Server(
  url: string,
  { recipient }: Pick<Seller, 'recipient'>,
): Promise<PeerServer> {
  const { paymentMiddleware: protect } = await import('x402-express')
  const app = express()
  const routes = { 'GET /paid': { price: '$0.01', network: 'solana-devnet' } } as const
  app.use(protect(recipient as SolanaAddress, routes, { url: url as Resource }) as RequestHandler)
  app.get('/paid', (_request, response) => void response.send('paid'))
  return listen(app)
}

/** mppx with @solana/mpp. Unless `sponsored`, the client pays the fee. */
export async function startMppServer(seller: Seller, options: { readonly sponsored: boolean }): Promise<PeerServer> {
  const node = await startConfirmedNode(seller.rpcUrl)
  return closeWith(node, await serveMpp({ ...seller, rpcUrl: node.url }, options))
}

/** As `startMppServer`, with a node that simulates at `confirmed` by default. */
export function serveMpp(
  { rpcUrl, mint, recipient, sponsor }: Seller,
  { sponsored }: { readonly sponsored: boolean },
): Promise<PeerServer> {
  const method = solana.charge({
    recipient,
    currency: mint,
    decimals: 6,
    network: 'devnet',
    rpcUrl,
    ...(sponsored && { signer: sponsor }),
  })
  const mppx = Mppx.create({ methods: [method], realm: 'interop', secretKey: 's'.repeat(32) })
  const charge = Mppx.toNodeListener(mppx.charge({ amount: priceUnits, currency: mint }))
  return listen(async (request, response) => {
    const result = await charge(request, response)
    if (result.status !== 402) response.end('paid')
  })
}

/** @solana/pay-kit with one protocol. It settles in its own process, and pays the fees. */
export async function startPayKitServer(
  { rpcUrl, recipient, sponsor }: Seller,
  protocol: 'mpp' | 'x402',
): Promise<PeerServer> {
  const { createPayKit, usd } = await import('@solana/pay-kit')
  const node = await startConfirmedNode(rpcUrl)
  const pay = await createPayKit({
    ...{ network: 'devnet', accept: [protocol], rpcUrl: node.url, preflight: false },
    operator: { signer: sponsor, recipient },
    mpp: { challengeBindingSecret: 's'.repeat(32) },
  })
  const app = express()
  app.get('/paid', pay.express(usd('0.01')), (_request, response) => void response.send('paid'))
  return closeWith(node, await listen(app))
}

/** @faremeter/middleware with the facilitator of @faremeter/payment-solana in the same process. */
export async function startFaremeterServer(
  { rpcUrl, mint, recipient, sponsor }: Seller,
  version: 'x402v1' | 'x402v2',
): Promise<PeerServer> {
  const { createMiddleware } = await import('@faremeter/middleware/express')
  const { createFacilitatorHandler } = await import('@faremeter/payment-solana/exact')
  const rpc = createSolanaRpc(rpcUrl) as never
  const facilitator = await createFacilitatorHandler('devnet', rpc, sponsor as never, mint as never)
  const handler = { ...facilitator, schemes: ['exact'], capabilities: { networks: [devnet], assets: [mint] } }
  const app = express()
  const paid = await createMiddleware({
    x402Handlers: [handler],
    pricing: [{ amount: priceUnits, asset: mint, recipient, network: devnet }],
    supportedVersions: { x402v1: version === 'x402v1', x402v2: version === 'x402v2' },
  })
  app.get('/paid', paid as RequestHandler, (_request, response) => void response.send('paid'))
  return listen(app)
}

/**
 * A node that simulates at `confirmed` where the caller names no commitment.
 *
 * @solana/mpp issues confirmed blockhashes and simulates at the default, `finalized`, where they are not known yet.
 */
async function startConfirmedNode(rpcUrl: string): Promise<PeerServer> {
  return listen(async (request, response) => {
    const body = confirmByDefault(await readBody(request))
    const answer = await fetch(rpcUrl, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body })
    response.writeHead(answer.status, { 'Content-Type': 'application/json' }).end(await answer.text())
  })
}

/** The call to a node, at `confirmed` where it names no commitment to simulate at. */
export function confirmByDefault(body: string): string {
  const call = JSON.parse(body) as { method: string; params: [unknown, object?] }
  const option = { sendTransaction: 'preflightCommitment', simulateTransaction: 'commitment' }[call.method]
  if (option === undefined) return body
  return JSON.stringify({ ...call, params: [call.params[0], { [option]: 'confirmed', ...call.params[1] }] })
}

async function readBody(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  return Buffer.concat(parts).toString()
}

/** The server, which closes the other one behind it as well. */
function closeWith(behind: PeerServer, server: PeerServer): PeerServer {
  return {
    url: server.url,
    async close() {
      await server.close()
      await behind.close()
    },
  }
}

async function listen(handler: RequestListener): Promise<PeerServer> {
  const server = createServer(handler)
  // A benchmark keeps its connections while it measures other servers.
  server.keepAliveTimeout = 60_000
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/paid`,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
