/**
 * The client is killed at every step of a purchase over x402 and MPP. The next process with the same journal never pays
 * twice, and never forgets a payment.
 */
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { initAgentWallet } from '../../src/client/agent-wallet.ts'
import type { ForeignProtocol } from '../../src/core/protocol/protocols.ts'
import { type Agent, bundleClient, startAgent } from '../client/agent-fixture.ts'
import { type ClientFixture, createClientFixture, type Meddle } from '../client/client-fixture.ts'
import type { Content } from '../harness/adapters.ts'
import { postgresServer } from '../harness/database.ts'
import { cells } from '../harness/length.ts'
import { serveNode } from '../harness/shop-fixture.ts'
import {
  type PeerServer,
  type Seller,
  startFaremeterServer,
  startMppServer,
  startPayKitServer,
  startX402Server,
  startX402V1Server,
} from './servers.ts'

let fixture: ClientFixture
let client: string
let seller: Seller
let purchase = 0
beforeAll(async () => {
  // A blockhash lives for 150 slots, and the next process must start within them.
  fixture = await createClientFixture({ slotMs: 200 })
  const { world, directory } = fixture
  client = await bundleClient(join(directory, 'workshop'))
  const wallet = await initAgentWallet()
  await world.localnet.fund(wallet.address, { SOL: 10_000_000_000n, USDC: 1_000_000_000n })
  const sponsor = await world.person()
  seller = { rpcUrl: world.localnet.rpcUrl, mint: world.usdc.address, recipient: world.recipient.address, sponsor }
})
beforeEach(() => fixture.received())
afterAll(() => fixture.close())

/** A signal that a test waits for. */
interface Signal {
  readonly reached: () => Promise<void>
  readonly reach: () => void
}

function createSignal(): Signal {
  let reach = () => {}
  const promise = new Promise<void>((resolve) => {
    reach = resolve
  })
  return { reached: () => promise, reach: () => reach() }
}

/** A point of the purchase at which the agent stands still. */
interface Moment {
  readonly order?: Readonly<Record<string, unknown>>
  readonly reached: (agent: Agent) => Promise<void>
}

/** The ways to stop a purchase from outside. */
interface Holds {
  /** Keeps the first request with a credential, or the answer to it, on the line for good. */
  readonly hold: (part: 'request' | 'answer') => Moment
  /** Runs in place of the handler at its next call. */
  readonly handle: (content: () => Content | Promise<Content>) => void
}

interface Step {
  readonly name: string
  readonly interrupt: (holds: Holds) => Moment | Promise<Moment>
  /** The next process starts a payment, or continues the recorded one. */
  readonly next: 'paying' | 'resumed'
  /** The server has sent its answer whole. */
  readonly isAnswered?: true
}

const never = new Promise<never>(() => {})
const stopAt = (moment: string): Moment => ({ order: { stopAt: moment }, reached: (agent) => agent.said(moment) })

const steps: readonly Step[] = [
  { name: 'after the 402', next: 'paying', interrupt: stopAtChain },
  { name: 'with the amount reserved', next: 'paying', interrupt: () => stopAt('paying') },
  { name: 'with the credential recorded and not sent', next: 'resumed', interrupt: () => stopAt('sending') },
  { name: 'while the credential is under way', next: 'resumed', interrupt: ({ hold }) => hold('request') },
  {
    ...{ name: 'with the whole answer sent and not read', next: 'resumed', isAnswered: true },
    interrupt: ({ hold }) => hold('answer'),
  },
]

/** Our own server calls its handler after the settlement. */
const ownSteps: readonly Step[] = [
  ...steps,
  {
    ...{ name: 'after the settlement, before the answer', next: 'resumed' },
    interrupt: ({ handle }) => {
      const { reached, reach } = createSignal()
      handle(() => {
        reach()
        return never
      })
      return { reached }
    },
  },
  {
    ...{ name: 'while the body is read', next: 'resumed' },
    interrupt: ({ handle }) => {
      handle(() => ({ body: beginBody() }))
      return stopAt('reading')
    },
  },
]

/** The first question to the chain follows the 402. */
async function stopAtChain(): Promise<Moment> {
  const { reached, reach } = createSignal()
  const node = await fixture.fakeNode()
  node.behave(() => {
    reach()
    return never
  })
  return { order: { rpc: node.url }, reached }
}

async function* beginBody(): AsyncGenerator<Uint8Array> {
  yield new TextEncoder().encode('the ')
  await never
}

const headerNames = ['payment-signature', 'x-payment', 'authorization']

interface Line {
  readonly url: string
  readonly hold: Holds['hold']
  /** The credentials that came over it, in order. */
  readonly credentials: readonly string[]
}

async function openLine(server: string): Promise<Line> {
  const credentials: string[] = []
  let held: { readonly part: 'request' | 'answer'; readonly reach: () => void } | undefined
  const meddle: Meddle = ({ headers }, _response, pass) => {
    const credential = headerNames.map((name) => headers[name]).find((value) => value !== undefined)
    if (credential === undefined) return false
    credentials.push(String(credential))
    if (!held) return false
    const { part, reach } = held
    held = undefined
    if (part === 'answer') pass((answer) => void answer.resume().once('end', reach))
    else reach()
    return true
  }
  return {
    url: await fixture.front(server, meddle),
    credentials,
    hold: (part) => {
      const { reached, reach } = createSignal()
      held = { part, reach }
      return { reached }
    },
  }
}

interface Purchase {
  readonly server: string
  readonly path: string
  readonly protocol: ForeignProtocol
  readonly handle?: Holds['handle']
}

/** Kills an agent at the moment, and returns the lines of the next one on the same journal. */
async function crash({ server, path, protocol, handle = () => {} }: Purchase, step: Step): Promise<readonly string[]> {
  purchase += 1
  const line = await openLine(server)
  const order = {
    ...{ client, protocols: [protocol], network: 'localnet', rpc: seller.rpcUrl, timeoutMs: 30_000 },
    urls: [`${line.url}${path}?${purchase}`],
  }
  const moment = await step.interrupt({ hold: line.hold, handle })
  const first = startAgent(fixture.directory, { ...order, ...moment.order })
  await moment.reached(first)
  await first.kill()
  const lines = await startAgent(fixture.directory, order).ended()
  expect(lines[0]).toBe(step.next)
  expect([new Set(line.credentials).size, await fixture.received()]).toEqual([1, 1])
  return lines
}

const ledgers: readonly (readonly [name: string, url: () => Promise<string>])[] = [
  ['SQLite', async () => `sqlite:${join(fixture.directory, `${crypto.randomUUID()}.sqlite`)}`],
  ['PostgreSQL', () => postgresServer().place()],
]
const own = (['x402', 'mpp', 'x402-v1'] as const).flatMap((protocol, row) =>
  // Each step on one of the two.
  ownSteps.flatMap((step, index) =>
    ledgers
      .filter((_ledger, place) => place === (row + index) % 2)
      .map(([ledger, place]) => [protocol, ledger, step.name, place, step] as const),
  ),
)

// In the short form, one step before the settlement and one after it.
it.each(cells(own, 10, 2))(
  'T159: at our server over %s and %s, killed %s: one payment',
  async (protocol, _ledger, _name, place, step) => {
    let content: (() => Content | Promise<Content>) | undefined
    const shop = await fixture.open(
      { ledger: await place(), sponsor: { key: seller.sponsor as never }, x402: { v1: true }, waitSeconds: 5 },
      serveNode,
      () => {
        const run = content ?? (() => ({ body: 'the secret' }))
        content = undefined
        return run()
      },
    )
    const handle: Holds['handle'] = (next) => {
      content = next
    }
    const lines = await crash({ server: shop.url, path: '/data', protocol, handle }, step)
    expect(lines.at(-1)).toBe(step.isAnswered ? 'error paid_not_delivered' : 'got the secret')
  },
)

const peers: readonly (readonly [name: string, protocol: ForeignProtocol, start: () => Promise<PeerServer>])[] = [
  ['@x402/express', 'x402', () => startX402Server(seller)],
  ['x402-express', 'x402-v1', () => startX402V1Server(seller)],
  ['mppx', 'mpp', () => startMppServer(seller, { sponsored: true })],
  ['@solana/pay-kit', 'mpp', () => startPayKitServer(seller, 'mpp')],
  ['@faremeter/middleware', 'x402', () => startFaremeterServer(seller, 'x402v2')],
]
const atPeers = peers.flatMap(([peer, protocol, start]) =>
  steps.map((step) => [peer, protocol, step.name, start, step] as const),
)

it.each(cells(atPeers, atPeers.length, 3))(
  'at %s over %s, killed %s: one payment',
  async (_peer, protocol, _name, start, step) => {
    const server = await start()
    fixture.defer(() => server.close())
    const lines = await crash({ server: new URL(server.url).origin, path: '/paid', protocol }, step)
    // No peer delivers again for a payment that it has settled.
    expect(lines.at(-1)).toBe(step.isAnswered ? 'error paid_not_delivered' : 'got paid')
  },
)
