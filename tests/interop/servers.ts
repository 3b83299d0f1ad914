/** Servers of other payment protocols, unmodified, that sell `GET /paid` on a localnet. */
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { KeyPairSigner } from '@solana/kit'
import { Mppx, solana } from '@solana/mpp/server'
import { x402Facilitator } from '@x402/core/facilitator'
import { paymentMiddleware, x402ResourceServer } from '@x402/express'
import { toFacilitatorSvmSigner } from '@x402/svm'
import { ExactSvmScheme as FacilitatorScheme } from '@x402/svm/exact/facilitator'
import { ExactSvmScheme as ServerScheme } from '@x402/svm/exact/server'
import express from 'express'
import { settle, verify } from 'x402/facilitator'
import { exact } from 'x402/schemes'
import { type PaymentRequirements, settleResponseHeader } from 'x402/types'

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
  const signer = toFacilitatorSvmSigner(sponsor, { defaultRpcUrl: rpcUrl })
  const facilitator = new x402Facilitator().register(devnet, new FacilitatorScheme(signer))
  const server = new x402ResourceServer({
    verify: (payload, requirements) => facilitator.verify(payload, requirements),
    settle: (payload, requirements) => facilitator.settle(payload, requirements),
    getSupported: async () => facilitator.getSupported() as never,
  }).register(devnet, new ServerScheme())
  const accepts = { scheme: 'exact', price: '$0.01', network: devnet, payTo: recipient } as const
  const app = express()
  app.use(paymentMiddleware({ 'GET /paid': { accepts, description: 'a resource' } }, server))
  app.get('/paid', (_request, response) => void response.send('paid'))
  return listen(app)
}

/** The facilitator of x402 v1 behind a handler: its middleware is another package, and adds only this. */
export function startX402V1Server({ rpcUrl, mint, recipient, sponsor }: Seller): Promise<PeerServer> {
  const config = { svmConfig: { rpcUrl } }
  return listen(async (request, response) => {
    const requirements: PaymentRequirements = {
      scheme: 'exact',
      network: 'solana-devnet',
      maxAmountRequired: priceUnits,
      resource: `http://${request.headers.host}/paid`,
      description: 'a resource',
      mimeType: 'text/plain',
      payTo: recipient,
      maxTimeoutSeconds: 60,
      asset: mint,
      extra: { feePayer: sponsor.address },
    }
    const refuse = (error: string) =>
      void response
        .writeHead(402, { 'Content-Type': 'application/json' })
        .end(JSON.stringify({ x402Version: 1, error, accepts: [requirements] }))
    const header = request.headers['x-payment']
    if (typeof header !== 'string') return refuse('X-PAYMENT header is required')
    const payment = exact.evm.decodePayment(header)
    const verified = await verify(sponsor as never, payment, requirements, config)
    if (!verified.isValid) return refuse(verified.invalidReason ?? 'invalid')
    const settled = await settle(sponsor as never, payment, requirements, config)
    if (!settled.success) return refuse(settled.errorReason ?? 'not settled')
    response.writeHead(200, { 'X-PAYMENT-RESPONSE': settleResponseHeader(settled) }).end('paid')
  })
}

/** mppx with @solana/mpp. Unless `sponsored`, the client pays the fee. */
export async function startMppServer(seller: Seller, options: { readonly sponsored: boolean }): Promise<PeerServer> {
  const node = await startConfirmedNode(seller.rpcUrl)
  const server = await serveMpp({ ...seller, rpcUrl: node.url }, options)
  return {
    url: server.url,
    async close() {
      await server.close()
      await node.close()
    },
  }
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

async function listen(handler: RequestListener): Promise<PeerServer> {
  const server = createServer(handler)
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
