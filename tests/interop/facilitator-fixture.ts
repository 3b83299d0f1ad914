/** A chain, a seller, and as many replicas of our facilitator as a test needs. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import {
  address,
  appendTransactionMessageInstructions,
  createTransactionMessage,
  getBase64EncodedWireTransaction,
  partiallySignTransactionMessageWithSigners,
  pipe,
  setTransactionMessageFeePayer,
  setTransactionMessageLifetimeUsingBlockhash,
} from '@solana/kit'
import { createPaystileRoutes } from '../../src/adapters/routes.ts'
import type { RoutesOptions } from '../../src/api/options.ts'
import type { Mint } from '../../src/core/money/tokens.ts'
import type { Ledger } from '../../src/core/ports/ledger.ts'
import type { Clock } from '../../src/core/runtime.ts'
import { openSqliteLedger } from '../../src/ledger/sqlite/ledger.ts'
import type { FakeNode } from '../harness/fake-node.ts'
import { memo, newSigner } from '../harness/localnet-fixture.ts'
import { move } from '../harness/mint.ts'
import { createShopFixture, type ShopFixture } from '../harness/shop-fixture.ts'
import { decodeCredential, holdCredential } from './attack-fixture.ts'
import type { Payer } from './clients.ts'
import { connectFacilitator, type FacilitatedSeller, type PeerServer, serveExpress } from './servers.ts'

const sponsorLamports = 1_000_000_000n

export interface FacilitatorReplica {
  /** The address that sellers configure. */
  readonly url: string
  readonly node: FakeNode
  /** Everything it logged. */
  readonly logged: readonly string[]
}

/** A body of `/verify` and `/settle`. */
export interface FacilitatorRequest {
  readonly x402Version: number
  readonly paymentPayload: {
    readonly x402Version: number
    readonly accepted: Readonly<Record<string, unknown>>
    readonly payload: { readonly transaction: string }
  }
  readonly paymentRequirements: Readonly<Record<string, unknown>>
}

export interface FacilitatorAnswer {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
  readonly headers: Headers
}

/** One operator of a facilitator, with one ledger. */
export interface Operator {
  readonly recipient: string
  /** The wallet of the recipient. */
  readonly owner: Awaited<ReturnType<typeof newSigner>>
  readonly sponsor: string
  /** The key of the sponsor. */
  readonly key: Awaited<ReturnType<typeof newSigner>>
  readonly secret: string
  open(options?: Partial<RoutesOptions>): Promise<FacilitatorReplica>
  /** A further connection to its ledger. */
  connect(): Promise<Ledger>
  /** The lamports that the sponsor has paid so far. */
  paid(): Promise<bigint>
}

export interface FacilitatorFixture extends ShopFixture {
  readonly clock: Clock
  /** `ledger`: an empty PostgreSQL schema instead of a SQLite file. */
  operator(ledger?: string): Promise<Operator>
  /** A seller with @x402/express, unless another server is given. */
  sell(
    replica: FacilitatorReplica,
    seller: FacilitatedSeller,
    serve?: (url: string, seller: FacilitatedSeller) => Promise<PeerServer>,
  ): Promise<PeerServer>
  newPayer(units?: bigint): Promise<Payer>
  usdc(wallet: string): Promise<bigint>
}

let operators = 0

export async function createFacilitatorFixture(): Promise<FacilitatorFixture> {
  const fixture = await createShopFixture({ slotMs: 50 })
  const { localnet, rpc, usdc, tokenAccount } = fixture.world
  const clock: Clock = { now: () => localnet.now(), monotonic: () => performance.now() }
  const operator = async (url?: string): Promise<Operator> => {
    operators += 1
    const path = join(fixture.directory, `facilitator-${operators}.db`)
    const secret = `1:${'f'.repeat(32)}${operators}`
    const [key, owner] = await Promise.all([newSigner(), newSigner()])
    const { address: recipient } = owner
    await localnet.fund(key.address, { SOL: sponsorLamports })
    await localnet.fund(recipient, { SOL: 1_000_000n, USDC: 0n })
    return {
      recipient,
      owner,
      sponsor: key.address,
      key,
      secret,
      open: async ({ sponsor: limits, ...options } = {}) => {
        const node = await fixture.fakeNode()
        const logged: string[] = []
        const note = (event: string, facts?: unknown) => void logged.push(JSON.stringify({ event, facts }))
        const routes = createPaystileRoutes({
          network: 'localnet',
          rpc: node.url,
          ledger: url ?? `sqlite:${path}`,
          secret,
          watch: false,
          sponsor: { key, ...(typeof limits === 'object' && limits) },
          facilitator: { payTo: [recipient] },
          trustProxy: 1,
          log: { info: note, warn: note, error: note },
          ...options,
        })
        const server = createServer(routes.listener)
        await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
        fixture.defer(async () => {
          server.close()
          server.closeAllConnections()
          await routes.close()
        })
        return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/facilitator`, node, logged }
      },
      connect: async () => {
        const identity = { network: 'localnet', service: 'default', fingerprint: secret } as const
        const ledger = await openSqliteLedger(path, { clock, identity })
        fixture.defer(() => ledger.close())
        return ledger
      },
      paid: async () => {
        const { value } = await rpc<{ value: number }>('getBalance', [key.address, { commitment: 'processed' }])
        return sponsorLamports - BigInt(value)
      },
    }
  }
  return {
    ...fixture,
    clock,
    operator,
    sell: async (replica, seller, serve = (url, given) => serveExpress(connectFacilitator(url), given)) => {
      const server = await serve(replica.url, seller)
      fixture.defer(() => server.close())
      return server
    },
    newPayer: async (units = 1_000_000n) => {
      const signer = await newSigner()
      await localnet.fund(signer.address, { USDC: units })
      return { rpcUrl: localnet.rpcUrl, signer: signer as unknown as Payer['signer'] }
    },
    usdc: async (wallet) => {
      const account = await tokenAccount(wallet, usdc)
      const { value } = await rpc<{ value: { amount: string } }>('getTokenAccountBalance', [
        account,
        { commitment: 'processed' },
      ])
      return BigInt(value.amount)
    },
  }
}

/** Lets an unmodified client sign a payment to an unmodified server, and keeps it. */
export async function holdPayment({ url }: PeerServer, payer: Payer): Promise<FacilitatorRequest> {
  const { value } = await holdCredential(url, payer)
  const paymentPayload = decodeCredential(value) as unknown as FacilitatorRequest['paymentPayload']
  return { x402Version: 2, paymentPayload, paymentRequirements: paymentPayload.accepted }
}

export async function call(
  { url }: Pick<FacilitatorReplica, 'url'>,
  endpoint: 'verify' | 'settle',
  request: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<FacilitatorAnswer> {
  const response = await fetch(`${url}/${endpoint}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: typeof request === 'string' ? request : JSON.stringify(request),
  })
  return {
    status: response.status,
    body: (await response.json()) as Record<string, unknown>,
    headers: response.headers,
  }
}

/** The fields of a payment's requirements that a request changes, on both sides. */
export function changeRequirements(
  request: FacilitatorRequest,
  changes: Readonly<Record<string, unknown>>,
): FacilitatorRequest {
  const changed = { ...request.paymentRequirements, ...changes }
  const paymentPayload = { ...request.paymentPayload, accepted: changed }
  return { ...request, paymentPayload, paymentRequirements: changed }
}

export function changeExtra(request: FacilitatorRequest, changes: Readonly<Record<string, unknown>>) {
  const extra = request.paymentRequirements['extra'] as Readonly<Record<string, unknown>>
  return changeRequirements(request, { extra: { ...extra, ...changes } })
}

export interface MadePayment {
  readonly feePayer: string
  readonly recipient: string
  readonly memos: readonly string[]
  /** One transfer for each amount. */
  readonly units: readonly bigint[]
  /** USDC, unless another mint is given. */
  readonly mint?: Mint
}

/** A payment that no unmodified client makes, signed by the payer. */
export async function makePayment(
  { world }: FacilitatorFixture,
  payer: Payer,
  { feePayer, recipient, memos, units, mint = world.usdc }: MadePayment,
): Promise<FacilitatorRequest> {
  const signer = payer.signer as unknown as Parameters<typeof world.transfer>[0]
  const transfers = await Promise.all(units.map((amount) => move(world, mint, signer, recipient, amount)))
  const { value } = await world.rpc<{ value: { blockhash: string; lastValidBlockHeight: number } }>(
    'getLatestBlockhash',
    [{ commitment: 'confirmed' }],
  )
  const lifetime = { blockhash: value.blockhash, lastValidBlockHeight: BigInt(value.lastValidBlockHeight) }
  const message = pipe(
    createTransactionMessage({ version: 0 }),
    (draft) => setTransactionMessageFeePayer(address(feePayer), draft),
    (draft) => setTransactionMessageLifetimeUsingBlockhash(lifetime as never, draft),
    (draft) => appendTransactionMessageInstructions([...transfers, ...memos.map((text) => memo(text))] as never, draft),
  )
  const transaction = getBase64EncodedWireTransaction(await partiallySignTransactionMessageWithSigners(message))
  const accepted = {
    scheme: 'exact',
    network: 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1',
    amount: String(units[0]),
    asset: mint.address,
    payTo: recipient,
    maxTimeoutSeconds: 60,
    extra: { feePayer },
  }
  const paymentPayload = { x402Version: 2, accepted, payload: { transaction } }
  return { x402Version: 2, paymentPayload, paymentRequirements: accepted }
}
