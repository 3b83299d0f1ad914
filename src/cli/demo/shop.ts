/** The demo's service: paid resources, a faucet, and a front door that says what there is. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { Hono } from 'hono'
import { create402Middleware, drain } from '../../adapters/hono.ts'
import { tokenCodes } from '../../core/network.ts'
import { localLedgerFile } from '../../host/home.ts'
import type { PaywallEvent } from '../../server/events.ts'
import type { ReadinessReport } from '../../server/selling.ts'
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
  const paywalls = resources.map(({ name, price, token, description, type, make }) => {
    const paid = create402Middleware({
      price,
      token,
      recipient,
      network: 'localnet',
      rpc: localnet.rpcUrl,
      ledger: localLedgerFile(directory),
      acceptedMints: [token, ...tokenCodes.filter((code) => code !== token)],
      scope: name,
      description,
      envelope: 'verified',
      onEvent,
    })
    app.get(`/api/${name}`, paid, (context) => {
      const body = make({ now: localnet.now(), proof: context.req.header('payment-proof') ?? '' })
      return context.body(body, 200, { 'Content-Type': type })
    })
    return paid
  })
  app.get('/', (context) => context.json(frontDoor()))
  app.get('/.well-known/paystile', async (context) =>
    context.json({ network: 'localnet', identityKey: await paywalls[0]?.identity() }),
  )
  app.get('/readyz', async (context) => {
    const readiness = joinReports(await Promise.all(paywalls.map((paid) => paid.readiness())))
    return context.json(readiness, readiness.ready ? 200 : 503)
  })
  app.post('/faucet', async (context) => {
    const answer = await fetch(`${localnet.rpcUrl}/faucet`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: await context.req.text(),
    })
    return context.body(await answer.text(), answer.status as 200, { 'Content-Type': 'application/json' })
  })
  app.notFound((context) => context.json({ error: 'There is nothing here; GET / says what there is.' }, 404))
  await Promise.all(paywalls.map((paid) => paid.ready()))

  const server = createServer(getRequestListener(app.fetch))
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  }).catch(async (error: unknown) => {
    await Promise.all(paywalls.map((paid) => paid.close()))
    throw error
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => drain(server, ...paywalls),
  }
}

/** All resources have to be for sale. What one of them does not take is not offered, with its reason. */
function joinReports(reports: readonly ReadinessReport[]): ReadinessReport {
  const why = reports.find((report) => report.why !== undefined)?.why
  return {
    ready: reports.every(({ ready }) => ready),
    offered: tokenCodes.filter((code) => reports.every(({ offered }) => offered.includes(code))),
    withheld: Object.assign({}, ...reports.map(({ withheld }) => withheld)),
    ...(why !== undefined && { why }),
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
