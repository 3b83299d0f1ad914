/** A chain, an upstream that writes down what reaches it, and gateways in front of it. */
import { createHash, randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { KeyPairSigner } from '@solana/kit'
import type { Challenge } from '../../src/core/protocol/challenge.ts'
import type { Log } from '../../src/core/runtime.ts'
import type { GatewayConfig } from '../../src/gateway/config/schema.ts'
import { createGateway, type Gateway } from '../../src/gateway/gateway.ts'
import type { PaywallEvent } from '../../src/paywall/config/events.ts'
import { createClosers } from '../harness/closers.ts'
import { createLocalnetFixture, type LocalnetFixture, proofOf } from '../harness/localnet-fixture.ts'
import { useTemporaryHome } from '../harness/shop.ts'

/** A request as the upstream saw it. */
export interface Seen {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly rawHeaders: readonly string[]
  readonly body: string
}

export type Serve = (request: IncomingMessage, response: ServerResponse, body: Promise<string>) => unknown

export interface Upstream {
  readonly url: string
  readonly server: Server
  readonly seen: Seen[]
  /** What it answers from now on. */
  answer(serve: Serve): void
  close(): void
}

export interface Gate {
  readonly url: string
  readonly gateway: Gateway
  readonly events: PaywallEvent[]
  challenge(path: string, init?: RequestInit): Promise<Challenge>
  /** Pays for a path, and returns the header that proves it. */
  buy(path: string, init?: RequestInit): Promise<string>
  /** The same with a secret announced before, as windows, bundles and bytes are sold. */
  buyClaimed(path: string, init?: RequestInit): Promise<string>
  claim(proof: string, path: string, init?: RequestInit): Promise<Response>
}

export interface GatewayFixture {
  readonly world: LocalnetFixture
  readonly payer: KeyPairSigner
  readonly logged: string[]
  /** For files of its own, and gone with it. */
  readonly directory: string
  readonly upstream: Upstream
  open(config: Partial<GatewayConfig> & Pick<GatewayConfig, 'routes'>): Promise<Gate>
  startUpstream(): Promise<Upstream>
  defer(close: () => unknown): void
  close(): Promise<void>
}

export async function createGatewayFixture(): Promise<GatewayFixture> {
  const home = useTemporaryHome()
  const world = await createLocalnetFixture()
  const payer = await world.person()
  const closers = createClosers()
  const logged: string[] = []
  const note = (event: string, facts?: unknown) => void logged.push(JSON.stringify({ event, facts }))
  const log: Log = { info: note, warn: note, error: note }
  const startUpstream = async () => {
    const made = await openUpstream()
    closers.add(made.close)
    return made
  }
  const upstream = await startUpstream()
  return {
    world,
    payer,
    logged,
    directory: home.path,
    upstream,
    startUpstream,
    open: async (config) => {
      const events: PaywallEvent[] = []
      const gateway = createGateway({
        network: 'localnet',
        rpc: world.localnet.rpcUrl,
        ledger: 'memory:',
        recipient: world.recipient.address,
        token: 'USDC',
        upstream: upstream.url,
        listen: { port: 0 },
        watch: false,
        log,
        onEvent: (event) => void events.push(event),
        ...config,
      })
      const url = await gateway.listen()
      closers.add(() => gateway.close())
      const report = await gateway.readiness()
      if (!report.ready) throw new Error(report.why)
      return gateOf(world, payer, gateway, url, events)
    },
    defer: closers.add,
    close: async () => {
      await closers.close()
      await world.close()
      home.remove()
    },
  }
}

function gateOf(
  world: LocalnetFixture,
  payer: KeyPairSigner,
  gateway: Gateway,
  url: string,
  events: PaywallEvent[],
): Gate {
  const challenge: Gate['challenge'] = async (path, init = {}) => {
    const response = await fetch(`${url}${path}`, init)
    if (response.status !== 402)
      throw new Error(`expected a challenge, got ${response.status} ${await response.text()}`)
    return (await response.json()) as Challenge
  }
  return {
    url,
    gateway,
    events,
    challenge,
    buy: async (path, init) => {
      const asked = await challenge(path, init)
      return proofOf(await world.pay(asked, payer), asked, payer)
    },
    buyClaimed: async (path, init = {}) => {
      const secret = randomBytes(24).toString('base64url')
      const hash = createHash('sha256').update(secret).digest('base64url')
      const asked = await challenge(path, { ...init, headers: { ...init.headers, 'Payment-Accept': `claim=${hash}` } })
      return proofOf(await world.pay(asked, payer), asked, payer, `; claim=${secret}`)
    },
    claim: (proof, path, init = {}) =>
      fetch(`${url}${path}`, { ...init, headers: { ...init.headers, 'Payment-Proof': proof } }),
  }
}

async function openUpstream(): Promise<Upstream> {
  const seen: Seen[] = []
  let serve: Serve = (_request, response) => response.end('the secret')
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    const { method = '', url = '', headers, rawHeaders } = request
    const at = seen.push({ method, url, headers, rawHeaders, body: '' }) - 1
    const body = new Promise<string>((resolve) => {
      request.on('end', () => {
        const text = Buffer.concat(chunks).toString()
        seen[at] = { method, url, headers, rawHeaders, body: text }
        resolve(text)
      })
    })
    serve(request, response, body)
  })
  server.keepAliveTimeout = 60_000
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    server,
    seen,
    answer: (next) => {
      serve = next
    },
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}
