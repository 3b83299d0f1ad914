/** The demo's service: paid resources, a faucet, and a front door that says what there is. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { Hono } from 'hono'
import { create402Middleware, drain } from '../../adapters/hono.ts'
import { createPaystileRoutes, type VisitInfo } from '../../adapters/routes.ts'
import { tokenCodes } from '../../core/network.ts'
import { localLedgerFile } from '../../host/home.ts'
import type { PaywallEvent } from '../../server/events.ts'
import { paymentOf } from '../../server/passing.ts'
import type { OwnChain } from '../chains.ts'
import { resources } from './resources.ts'

export interface Shop {
  readonly url: string
  close(): Promise<void>
}

export interface ShopParts {
  readonly chain: OwnChain
  readonly port: number
  readonly recipient: string
  readonly onEvent: (event: PaywallEvent) => void
}

export async function openShop({ chain, port, recipient, onEvent }: ShopParts): Promise<Shop> {
  const { localnet, directory } = chain
  const app = new Hono()
  const paywalls = resources.map(({ name, price, token, description, type, file, make }) => {
    const paid = create402Middleware({
      price,
      token,
      recipient,
      network: 'localnet',
      rpc: localnet.rpcUrl,
      ledger: localLedgerFile(directory),
      acceptedMints: [token, ...tokenCodes.filter((code) => code !== token)],
      scope: name,
      endpoint: `GET /api/${name}`,
      description,
      envelope: 'verified',
      onEvent,
    })
    app.get(`/api/${name}`, paid, (context) => {
      const body = make({ now: localnet.now(), tx: paymentOf(context.req.raw)?.tx ?? '' })
      const saved = file === undefined ? {} : { 'Content-Disposition': `attachment; filename="${file}"` }
      return context.body(body, 200, { 'Content-Type': type, ...saved })
    })
    return paid
  })
  const routes = createPaystileRoutes({ network: 'localnet', rpc: localnet.rpcUrl, ledger: localLedgerFile(directory) })
  app.use((context, next) =>
    routes.owns(context.req.path) ? routes.fetch(context.req.raw, context.env as VisitInfo) : next(),
  )
  app.get('/', (context) => context.json(frontDoor()))
  app.notFound((context) => context.json({ error: 'There is nothing here; GET / says what there is.' }, 404))
  await Promise.all(paywalls.map((paid) => paid.ready()))

  const server = createServer(getRequestListener(app.fetch))
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  }).catch(async (error: unknown) => {
    await Promise.all([routes, ...paywalls].map((part) => part.close()))
    throw error
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => drain(server, ...paywalls, routes),
  }
}

function frontDoor() {
  return {
    service: 'paystile demo',
    resources: resources.map(({ name, price, token, description }) => ({
      path: `/api/${name}`,
      price,
      token,
      description,
    })),
    faucet: 'POST /faucet {"address": "…"}',
  }
}
