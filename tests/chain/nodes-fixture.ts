/** A localnet, some wallets, and nodes that can be made to lie: each address below is a node of its own before it. */
import { createWallet, type Wallet } from '../../src/chain/keys/keypair.ts'
import { type ChainParts, createChain } from '../../src/chain/read/chain.ts'
import { createRpc, type Rpc } from '../../src/chain/rpc/rpc.ts'
import type { SignedPayment } from '../../src/chain/send/message.ts'
import { confirm, readLifetime, submit } from '../../src/chain/send/send.ts'
import { type PaymentOrder, signPayment } from '../../src/chain/wallets/payment.ts'
import type { Effect } from '../../src/core/payment/verify.ts'
import type { Chain, Reading } from '../../src/core/ports/chain.ts'
import type { Log, Transport } from '../../src/core/runtime.ts'
import { createWallClock } from '../../src/host/clock.ts'
import { createVerifier } from '../../src/host/keys/ed25519.ts'
import { createHttpTransport } from '../../src/host/net/transport.ts'
import { type Localnet, startLocalnet } from '../../src/localnet/index.ts'
import { createClosers } from '../harness/closers.ts'

export interface Question {
  readonly id: number
  readonly method: string
  readonly params: readonly unknown[]
}

/** Stands between a reader and the localnet: passes a question on with `forward`, or answers it otherwise. */
export type NodeScript = (question: Question, forward: () => Promise<unknown>) => Promise<unknown>

interface Counted {
  /** How often each method was sent to a node. */
  calls(): ReadonlyMap<string, number>
}

export interface NodesFixture {
  readonly localnet: Localnet
  readonly genesis: string
  readonly rpc: Rpc
  readonly payer: Wallet
  readonly shop: Wallet
  readonly clock: ReturnType<typeof createWallClock>
  /** Everything the chains logged, as text. */
  readonly logged: string[]
  /** A chain that reads through so many nodes, each with its script. */
  chainOf(scripts: readonly NodeScript[], parts?: Partial<ChainParts>): Chain & Counted
  rpcOf(scripts: readonly NodeScript[], timeoutMs?: number): Rpc & Counted
  order(parts?: Partial<PaymentOrder>): Promise<PaymentOrder>
  /** Signs without sending. */
  sign(parts?: Partial<PaymentOrder>, wallet?: Wallet): Promise<SignedPayment>
  /** Pays, and waits for the confirmation. */
  pay(parts?: Partial<PaymentOrder>, wallet?: Wallet): Promise<SignedPayment>
  /** Reads a transaction that is expected to be there, with nothing between us and the localnet. */
  effectOf(signature: string): Promise<Effect>
  close(): Promise<void>
}

export const honest: NodeScript = (_question, forward) => forward()

/** Lets a node tell something else in answer to one method. */
export function lying(method: string, change: (result: unknown) => unknown): NodeScript {
  return async (question, forward) => {
    const result = await forward()
    return question.method === method ? change(result) : result
  }
}

/** A node that refuses with a code, or is out of reach. */
export class NodeError extends Error {
  override readonly name = 'NodeError'
  readonly code: number
  readonly data: unknown
  constructor(code: number, data?: unknown) {
    super('no')
    this.code = code
    this.data = data
  }
}

/** Nodes before one that is honest, each with its script. */
export function scripted(rpcUrl: string, transport: Transport): NodesFixture['rpcOf'] {
  return (scripts, timeoutMs = 2_000) => {
    const counts = new Map<string, number>()
    const through: Transport = async (url, body, options) => {
      const questions = JSON.parse(body) as Question | readonly Question[]
      if (!Array.isArray(questions)) return answer(url, body, options)
      const texts: string[] = []
      for (const question of questions) texts.push((await answer(url, JSON.stringify(question), options)).text)
      return { status: 200, text: `[${texts.join()}]` }
    }
    const answer: Transport = async (url, body, options) => {
      const question = JSON.parse(body) as Question
      counts.set(question.method, (counts.get(question.method) ?? 0) + 1)
      const script = scripts[Number.parseInt(new URL(url).hostname.slice(4), 10)]
      if (!script) throw new Error('no such node')
      const forward = async () => {
        const { text } = await transport(rpcUrl, body, options)
        const { result, error } = JSON.parse(text) as { readonly result?: unknown; readonly error?: NodeError }
        if (error) throw new NodeError(error.code, error.data)
        return result
      }
      const head = { jsonrpc: '2.0', id: question.id }
      try {
        return { status: 200, text: JSON.stringify({ ...head, result: await script(question, forward) }) }
      } catch (error) {
        if (!(error instanceof NodeError)) throw error
        return {
          status: 200,
          text: JSON.stringify({ ...head, error: { code: error.code, message: 'no', data: error.data } }),
        }
      }
    }
    const urls = scripts.map((_, index) => `http://node${index}.test/?key=s3cret`)
    return { ...createRpc({ urls, transport: through, timeoutMs }), calls: () => counts }
  }
}

export async function createNodesFixture(slotMs = 50): Promise<NodesFixture> {
  const localnet = await startLocalnet({ slotMs })
  const http = createHttpTransport()
  const clock = createWallClock()
  const logged: string[] = []
  const note = (event: string, facts?: unknown) => void logged.push(JSON.stringify({ event, facts }))
  const log: Log = { info: note, warn: note, error: note }
  const payer = await createWallet(new Uint8Array(32).fill(5))
  const shop = await createWallet(new Uint8Array(32).fill(6))
  const rpc = createRpc({ urls: [localnet.rpcUrl], transport: http.transport })
  const closers = createClosers()
  await localnet.fund(payer.address, { SOL: 10_000_000_000n, USDC: 50_000_000n })
  await localnet.fund(shop.address, { SOL: 1_000_000_000n, USDC: 0n })

  async function order(parts: Partial<PaymentOrder> = {}): Promise<PaymentOrder> {
    const lifetime = await readLifetime(rpc)
    if (!lifetime) throw new Error('no blockhash')
    const token = { asset: 'SOL', units: 1_000_000n, decimals: 9 }
    return { ...lifetime, token, recipient: shop.address, requestId: 'rid_1', ...parts }
  }
  const sign = async (parts?: Partial<PaymentOrder>, wallet = payer) => signPayment(await order(parts), wallet)

  const rpcOf = scripted(localnet.rpcUrl, http.transport)
  function open(parts: Pick<ChainParts, 'rpc'> & Partial<ChainParts>): Chain {
    const chain = createChain({ verifier: createVerifier(), genesis: localnet.genesisHash, clock, log, ...parts })
    closers.add(() => chain.close())
    return chain
  }
  const direct = open({ rpc })

  return {
    localnet,
    genesis: localnet.genesisHash,
    rpc,
    payer,
    shop,
    clock,
    logged,
    chainOf: (scripts, parts) => {
      const through = rpcOf(scripts)
      return { ...open({ rpc: through, ...parts }), calls: through.calls }
    },
    rpcOf,
    order,
    sign,
    async pay(parts, wallet) {
      const payment = await sign(parts, wallet)
      const sent = await submit(rpc, payment)
      if (sent.kind !== 'sent') throw new Error(`not sent: ${sent.why}`)
      const fate = await confirm({ rpc, clock, genesis: localnet.genesisHash }, payment, 5_000)
      if (fate.kind !== 'landed') throw new Error(JSON.stringify(fate))
      return payment
    },
    effectOf: async (signature) => foundIn(await direct.read(signature, 2_000)),
    async close() {
      await closers.close()
      await http.close()
      await localnet.close()
    },
  }
}

export function foundIn(reading: Reading): Effect {
  if (reading.kind !== 'found') throw new Error(JSON.stringify(reading))
  return reading.effect
}
