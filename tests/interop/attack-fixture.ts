/** A chain, a sponsor, and as many replicas as an attack needs; with credentials that a test keeps in its own hand. */
import { join } from 'node:path'
import type { KeyPairSigner } from '@solana/kit'
import { generateKeyPairSigner } from '@solana/kit'
import type { Ledger } from '../../src/core/ports/ledger.ts'
import { LedgerUnavailable } from '../../src/core/ports/ledger.ts'
import type { Clock } from '../../src/core/runtime.ts'
import { openSqliteLedger } from '../../src/ledger/sqlite/ledger.ts'
import type { ProviderOptions } from '../../src/paywall/config/options.ts'
import type { FakeNode } from '../harness/fake-node.ts'
import type { LocalnetFixture } from '../harness/localnet-fixture.ts'
import { newSigner } from '../harness/localnet-fixture.ts'
import type { Shop } from '../harness/shop.ts'
import { anyAddress } from '../harness/shop.ts'
import { createShopFixture, serveNode } from '../harness/shop-fixture.ts'
import type { PaidResponse, Payer } from './clients.ts'
import { payWithX402 } from './clients.ts'

/** The fee of a payment by an unmodified client: two signatures and a priority fee of one lamport. */
export const feeLamports = 10_001n
export const priceUnits = 10_000n
const sponsorLamports = 1_000_000_000n

export type Pay = (url: string, payer: Payer) => Promise<PaidResponse>

/** A server with a node of its own. */
export interface Replica extends Shop {
  readonly node: FakeNode
}

/** One business: a recipient, a sponsor, a ledger, and the deliveries of all its replicas. */
export interface Business {
  readonly sponsor: KeyPairSigner
  /** The secret of its requestIds. */
  readonly secret: string
  /** The targets that were served, in order. */
  readonly served: string[]
  /** Unless `isSponsored`, it speaks only the native protocol. */
  open(options?: Partial<ProviderOptions>, isSponsored?: boolean): Promise<Replica>
  /** The next delivery fails. */
  failNext(): void
  /** A further connection to its ledger. */
  connect(): Promise<Ledger>
  /** The lamports that the sponsor has paid so far. */
  paid(): Promise<bigint>
}

/** A signed credential that no server has seen. */
export interface HeldCredential {
  readonly header: string
  readonly value: string
  readonly requestId: string
  /** The secret of its challenge, which the chain does not show. Undefined in x402 v1. */
  readonly claim: string | undefined
  readonly payer: string
}

export interface AttackFixture {
  readonly world: LocalnetFixture
  readonly clock: Clock
  /** `ledger`: an empty PostgreSQL schema instead of a SQLite file. */
  business(ledger?: string): Business
  payer(units?: bigint): Promise<Payer>
  usdc(payer: Payer): Promise<bigint>
  close(): Promise<void>
}

let businesses = 0

export async function createAttackFixture(slotMs = 50): Promise<AttackFixture> {
  const fixture = await createShopFixture({ slotMs })
  const { world } = fixture
  const { localnet } = world
  const clock: Clock = { now: () => localnet.now(), monotonic: () => performance.now() }
  const business = (url?: string): Business => {
    businesses += 1
    const path = join(fixture.directory, `business-${businesses}.db`)
    const secret = `1:${'s'.repeat(32)}${businesses}`
    const served: string[] = []
    let isFailing = false
    const key = newSigner().then(async (signer) => {
      await localnet.fund(signer.address, { SOL: sponsorLamports })
      return signer
    })
    const recipient = newSigner().then(async ({ address }) => {
      await localnet.fund(address, { SOL: 1_000_000n, USDC: 0n })
      return address
    })
    let sponsor: Awaited<typeof key> | undefined
    return {
      get sponsor() {
        if (!sponsor) throw new Error('no replica is open yet')
        return sponsor as unknown as KeyPairSigner
      },
      secret,
      served,
      failNext: () => {
        isFailing = true
      },
      open: async ({ sponsor: limits, ...options } = {}, isSponsored = true) => {
        sponsor = await key
        const node = await fixture.fakeNode()
        const shop = await fixture.open(
          {
            ledger: url ?? `sqlite:${path}`,
            secret,
            recipient: await recipient,
            rpc: node.url,
            waitSeconds: 5,
            endpoint: 'GET /data',
            ...(isSponsored && {
              sponsor: { key: sponsor, ...(typeof limits === 'object' && limits) },
              x402: { v1: true },
            }),
            ...options,
          },
          serveNode,
          (target) => {
            const hasFailed = isFailing
            isFailing = false
            if (hasFailed) throw new Error('the handler failed')
            served.push(target)
            return { body: 'the secret' }
          },
        )
        return { ...shop, node }
      },
      connect: async () => {
        const identity = { network: 'localnet', service: 'attacks', fingerprint: secret } as const
        const ledger = await openSqliteLedger(path, { clock, identity })
        fixture.defer(() => ledger.close())
        return ledger
      },
      paid: async () => {
        const { value } = await world.rpc<{ value: number }>('getBalance', [
          (await key).address,
          { commitment: 'processed' },
        ])
        return sponsorLamports - BigInt(value)
      },
    }
  }
  return {
    world,
    clock,
    business,
    payer: async (units = 1_000_000n) => {
      const signer = await generateKeyPairSigner()
      await localnet.fund(signer.address, { SOL: 1_000_000_000n, USDC: units })
      return { rpcUrl: localnet.rpcUrl, signer }
    },
    usdc: async ({ signer }) => {
      const account = await world.tokenAccount(signer.address, world.usdc)
      const { value } = await world.rpc<{ value: { amount: string } }>('getTokenAccountBalance', [
        account,
        { commitment: 'processed' },
      ])
      return BigInt(value.amount)
    },
    close: fixture.close,
  }
}

/**
 * The node simulates nothing, as a node that is behind does not notice that the money is gone. Returns the transactions
 * that it gets from now on.
 */
export function blindPreflight({ world }: Pick<AttackFixture, 'world'>, { node }: Pick<Replica, 'node'>): unknown[] {
  const sent: unknown[] = []
  node.behave(async ({ id, method, params }, ask) => {
    if (method === 'simulateTransaction')
      return { body: JSON.stringify({ jsonrpc: '2.0', id, result: { context: { slot: 1 }, value: { err: null } } }) }
    if (method !== 'sendTransaction') return ask()
    const [wire] = params
    sent.push(wire)
    const result = await world.rpc('sendTransaction', [wire, { encoding: 'base64', skipPreflight: true }])
    return { body: JSON.stringify({ jsonrpc: '2.0', id, result }) }
  })
  return sent
}

/** Records all open submissions as failed, as the worker does when the failures are final. */
export async function recordFailures({ submissions }: Ledger): Promise<void> {
  for (const { tx, lamports } of await submissions.listOpen(Number.MAX_SAFE_INTEGER, 100))
    await submissions.close(tx, 'failed', lamports)
}

export function isOfferingX402(response: Response): boolean {
  return response.headers.has('payment-required')
}

/** Whether a response asks for a payment, in any protocol. */
export async function hasChallenge(response: Response): Promise<boolean> {
  const { headers } = response
  if (headers.has('payment-required') || headers.has('www-authenticate')) return true
  const body: unknown = await response
    .clone()
    .json()
    .catch(() => undefined)
  return typeof body === 'object' && body !== null && ('accepts' in body || 'acceptedMints' in body)
}

/** Lets an unmodified client sign a payment, and keeps the credential from the server. */
export async function holdCredential(url: string, payer: Payer, pay: Pay = payWithX402): Promise<HeldCredential> {
  let requestId = ''
  const keeping: typeof fetch = async (input, init) => {
    if (isPaid(input, init)) return new Response('', { status: 503 })
    const response = await fetch(input, init)
    if (response.status === 402) requestId = ((await response.clone().json()) as { requestId: string }).requestId
    return response
  }
  const { credentials } = await pay(url, { ...payer, fetch: keeping })
  const [value = ''] = credentials
  const { accepted, challenge } = decodeCredential(value)
  const claim = accepted?.extra.claim ?? challenge?.id.split('.')[1]
  return { header: findHeader(value), value, requestId, claim, payer: payer.signer.address }
}

interface CredentialContent {
  readonly x402Version?: number
  readonly payload: { readonly transaction: string }
  /** In x402 v2. */
  readonly accepted?: { readonly extra: { readonly claim?: string } }
  /** In MPP. */
  readonly challenge?: { readonly id: string }
}

export function decodeCredential(credential: string): CredentialContent {
  // The decoder takes both alphabets.
  return JSON.parse(Buffer.from(credential.replace(/^Payment /, ''), 'base64').toString())
}

export function encodeCredential(content: CredentialContent): string {
  const bytes = Buffer.from(JSON.stringify(content))
  return content.challenge ? `Payment ${bytes.toString('base64url')}` : bytes.toString('base64')
}

function findHeader(credential: string): string {
  if (credential.startsWith('Payment ')) return 'authorization'
  const { x402Version } = decodeCredential(credential)
  return x402Version === 1 ? 'x-payment' : 'payment-signature'
}

/** Whether a call of `fetch` carries a credential. */
export function isPaid(input: Parameters<typeof fetch>[0], init: RequestInit | undefined): boolean {
  const { headers } = new Request(input instanceof Request ? input.clone() : input, init)
  if (headers.has('payment-signature') || headers.has('x-payment')) return true
  return (headers.get('authorization') ?? '').startsWith('Payment ')
}

export function present(
  url: string,
  { header, value }: HeldCredential,
  clientAddress = anyAddress(),
): Promise<Response> {
  return fetch(url, { headers: { [header]: value, 'X-Forwarded-For': clientAddress } })
}

export interface MortalLedger extends Ledger {
  /** From now on, none of its calls reaches the store. */
  die(): void
}

/** The ledger of a process that can die between two of its calls. `after` is told the name of each call that ended. */
export function createMortalLedger(ledger: Ledger, before: (call: string) => void, after: (call: string) => void) {
  let isDead = false
  const wrap = <Port extends object>(port: Port, prefix: string): Port =>
    new Proxy(port, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name)
        if (typeof member === 'object' && member !== null) return wrap(member, `${prefix}${String(name)}.`)
        if (typeof member !== 'function') return member
        return async (...given: unknown[]) => {
          const call = `${prefix}${String(name)}`
          before(call)
          if (isDead) throw new LedgerUnavailable('the process is dead')
          const result: unknown = await member.apply(target, given)
          after(call)
          return result
        }
      },
    })
  return Object.assign(wrap(ledger, ''), {
    die: () => {
      isDead = true
    },
  }) as MortalLedger
}
