/** The service of the demo: paid resources, a faucet, and a front page that lists them. */
import { writeFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { Hono } from 'hono'
import { createPaystile, drain, paymentOf } from '../../adapters/hono.ts'
import { knownCodes } from '../../core/money/tokens.ts'
import { developerDocumentPath } from '../../core/payouts/developers.ts'
import type { Log } from '../../core/runtime.ts'
import { localLedgerFile, localServiceFile } from '../../host/home.ts'
import type { PaywallEvent } from '../../paywall/config/events.ts'
import type { OwnChain } from '../local-chain.ts'
import type { Economy } from './economy.ts'
import { resources } from './resources.ts'

export interface ShopParts {
  readonly chain: OwnChain
  readonly port: number
  readonly recipient: string
  readonly economy: Economy
  readonly onEvent: (event: PaywallEvent) => void
  readonly log: Log
}

export async function openShop({ chain, port, recipient, economy, onEvent, log }: ShopParts) {
  const { localnet, directory } = chain
  // The server listens before it sells, because the rewards need its address.
  let listener: RequestListener = (_request, response) => void response.writeHead(503, { 'Retry-After': '1' }).end()
  const server = createServer((request, response) => listener(request, response))
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const paystile = createPaystile({
    recipient,
    network: 'localnet',
    rpc: localnet.rpcUrl,
    ledger: localLedgerFile(directory),
    envelope: 'verified',
    seller: { name: 'paystile demo' },
    // Agents with an x402 or MPP client pay without SOL, even prices below the network fee.
    sponsor: { minMargin: 0 },
    onEvent,
    log,
    ...economy.settlement,
  })
  const app = new Hono()
  const paywalls = resources.map(({ name, price, token, description, type, file, make }) => {
    const paid = paystile.charge({
      price,
      token,
      acceptedMints: [token, ...knownCodes.filter((code) => code !== token)],
      scope: name,
      endpoint: `GET /api/${name}`,
      description,
      // A page of its own, such as a game, is read for longer than once.
      ...(type.startsWith('text/html') && { reopen: { minutes: 10 } }),
    })
    app.get(`/api/${name}`, paid, (context) => {
      const body = make({ now: localnet.now(), tx: paymentOf(context)?.tx ?? '' })
      const saved = file === undefined ? {} : { 'Content-Disposition': `attachment; filename="${file}"` }
      return context.body(body, 200, { 'Content-Type': type, ...saved })
    })
    return paid
  })
  const told = { rewards: economy.rewards(new URL(url).host), refundKey: economy.settlement.settlementKey }
  writeFileSync(localServiceFile(directory), `${JSON.stringify(told)}\n`, { mode: 0o600 })
  const routes = paystile.routes({ ...told, frontPage: '/' })
  app.use(routes)
  app.get(developerDocumentPath, (context) => context.json(economy.document(url)))
  app.notFound((context) => routes.fetch(context.req.raw))
  listener = getRequestListener(app.fetch)
  await Promise.all(paywalls.map((paid) => paid.ready()))
  return { url, close: () => drain(server, paystile) }
}

export type Shop = Awaited<ReturnType<typeof openShop>>
