/**
 * Jupiter on this machine: a service shaped after its documentation, and at its address on the chain a program that does what
 * the instruction says, which is an honest swap unless a test wants something else.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { AccountRole, address, createNoopSigner, type Instruction } from '@solana/kit'
import { getSyncNativeInstruction, getTransferCheckedInstruction } from '@solana-program/token'
import { wrappedSol } from '../../src/chain/accounts/programs.ts'
import type { Wallet } from '../../src/chain/keys/keypair.ts'
import type { Mint } from '../../src/core/money/tokens.ts'
import type { Venue } from '../../src/core/payouts/venue.ts'
import { createHttpTransport } from '../../src/host/net/transport.ts'
import { createJupiterVenue } from '../../src/venues/jupiter.ts'
import { jupiterProgram } from '../../src/venues/jupiter-rules.ts'
import { deployScriptedProgram, type ScriptedProgram, type Step } from '../harness/scripted-program.ts'
import type { Trade } from './venue-fixture.ts'

type Json = Record<string, unknown>

/** What an order comes to, in the eyes of the service. */
export interface Order {
  readonly wallet: string
  readonly sell: Mint
  readonly buy: Mint
  readonly units: bigint
  readonly quoted: bigint
  readonly slippageBps: number
}

/** What a test changes of an honest answer. */
export interface Mischief {
  readonly quote?: (honest: Json) => unknown
  /** What the program does. */
  readonly steps?: (honest: readonly Step[], order: Order) => readonly Step[] | Promise<readonly Step[]>
  /** Of the header: what is sold, what was quoted, slippage, platform fee, fee on positive slippage. */
  readonly amounts?: (
    honest: readonly [bigint, bigint, number, number, number],
  ) => readonly [bigint, bigint, number, number, number]
  readonly discriminator?: string
  /** The leading accounts. */
  readonly accounts?: (honest: readonly string[], order: Order) => readonly string[]
  readonly swap?: (honest: Json) => unknown
  readonly answer?: (honest: Json, order: Order) => unknown
  readonly status?: number
}

export interface Jupiter {
  readonly url: string
  readonly scriptedProgram: ScriptedProgram
  /** Of requests, the latest last. */
  readonly asked: readonly {
    readonly path: string
    readonly query: URLSearchParams
    readonly body: Json
    readonly headers: Readonly<Record<string, unknown>>
  }[]
  venue(wallet: Wallet, more?: { readonly url?: string; readonly apiKey?: string }): Venue
  /** Answers like that from now on. */
  be(mischief: Mischief): void
  close(): Promise<void>
}

const headBytes = { route: 30, shared: 31 }
const discriminators = { route: 'bb64facc31c4af14', shared: 'd19853937cfed8e9' }

export async function openJupiter(trade: Trade, variant: 'route' | 'shared' = 'route'): Promise<Jupiter> {
  const { world } = trade
  const scriptedProgram = await deployScriptedProgram(world, jupiterProgram, headBytes[variant])
  const pool = scriptedProgram.vault.address
  await world.localnet.fund(pool, { SOL: 100_000_000_000n, USDC: 10_000_000_000n, NATIVE: 10_000_000_000_000n })
  await stockWrapped(trade, pool)
  let mischief: Mischief = {}
  const asked: { path: string; query: URLSearchParams; body: Json; headers: Readonly<Record<string, unknown>> }[] = []
  const mints = [wrappedSol, world.usdc, world.native]
  const rates: Readonly<Record<string, bigint>> = {
    [wrappedSol.address]: 150_000n,
    [world.usdc.address]: 1_000_000n,
    [world.native.address]: 100n,
  }
  /** At the rate, less a tenth of a percent. */
  const price = (sell: string, buy: string, units: bigint) =>
    (units * (rates[sell] ?? 0n) * 999n) / ((rates[buy] ?? 1n) * 1000n)

  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const url = new URL(request.url ?? '', 'http://jupiter')
      const text = Buffer.concat(chunks).toString()
      const body = (text === '' ? {} : JSON.parse(text)) as Json
      asked.push({ path: url.pathname, query: url.searchParams, body, headers: request.headers })
      const work = url.pathname === '/swap/v1/quote' ? quote(url.searchParams) : instructions(body)
      void Promise.resolve(work).then((answer) => {
        response.writeHead(mischief.status ?? 200, { 'content-type': 'application/json' })
        response.end(JSON.stringify(answer))
      })
    })
  })
  const quote = (query: URLSearchParams): unknown => {
    const [inputMint, outputMint] = [query.get('inputMint') ?? '', query.get('outputMint') ?? '']
    const inAmount = BigInt(query.get('amount') ?? 0)
    const outAmount = price(inputMint, outputMint, inAmount)
    const slippageBps = Number(query.get('slippageBps'))
    const swapInfo = {
      ammKey: 'HTvjzsfX3yU6BUodCjZ5vZkUrAxMDTrBs3CJaq43ashR',
      label: 'MyFirstPool',
      inputMint,
      outputMint,
      inAmount: inAmount.toString(),
      outAmount: outAmount.toString(),
      feeAmount: '0',
      feeMint: inputMint,
    }
    const honest = {
      inputMint,
      inAmount: inAmount.toString(),
      outputMint,
      outAmount: outAmount.toString(),
      otherAmountThreshold: ((outAmount * BigInt(10_000 - slippageBps) + 9_999n) / 10_000n).toString(),
      swapMode: 'ExactIn',
      slippageBps,
      platformFee: null,
      priceImpactPct: '0',
      routePlan: [{ swapInfo, percent: 100 }],
      contextSlot: 299_283_763,
      timeTaken: 0.015257836,
    }
    return mischief.quote?.(honest) ?? honest
  }

  const instructions = async (body: Json): Promise<unknown> => {
    const quoted = body['quoteResponse'] as Json
    const mint = (named: unknown) => mints.find((one) => one.address === named) ?? wrappedSol
    const order: Order = {
      wallet: String(body['userPublicKey']),
      sell: mint(quoted['inputMint']),
      buy: mint(quoted['outputMint']),
      units: BigInt(String(quoted['inAmount'])),
      quoted: BigInt(String(quoted['outAmount'])),
      slippageBps: Number(quoted['slippageBps']),
    }
    const swap = asJson(await swapFor(order))
    const honest = {
      tokenLedgerInstruction: null,
      computeBudgetInstructions: [],
      setupInstructions: [],
      swapInstruction: mischief.swap?.(swap) ?? swap,
      cleanupInstruction: null,
      otherInstructions: [],
      addressLookupTableAddresses: [],
      prioritizationFeeLamports: 0,
      computeUnitLimit: 1_400_000,
      prioritizationType: null,
      dynamicSlippageReport: null,
      simulationError: null,
    }
    return mischief.answer?.(honest, order) ?? honest
  }

  const swapFor = async (order: Order): Promise<Instruction> => {
    const { wallet, sell, buy, units, quoted, slippageBps } = order
    const account = (owner: string, mint: Mint) => world.tokenAccount(owner, mint)
    const [source, destination, poolSource, poolDestination] = await Promise.all([
      account(wallet, sell),
      account(wallet, buy),
      account(pool, sell),
      account(pool, buy),
    ])
    const steps = [
      transfer(sell, source, poolSource, wallet, units),
      transfer(buy, poolDestination, destination, pool, quoted),
    ]
    const events = 'D8cy77BBepLMngZx6ZukaTff5hCt1HrWyKk3Hnd9oitf'
    const lead =
      variant === 'route'
        ? [
            wallet,
            source,
            destination,
            sell.address,
            buy.address,
            sell.tokenProgram,
            buy.tokenProgram,
            jupiterProgram,
            events,
            jupiterProgram,
          ]
        : [
            pool,
            wallet,
            source,
            poolSource,
            poolDestination,
            destination,
            sell.address,
            buy.address,
            sell.tokenProgram,
            buy.tokenProgram,
            events,
            jupiterProgram,
          ]
    const leading = mischief.accounts?.(lead, order) ?? lead
    const amounts =
      mischief.amounts?.([units, quoted, slippageBps, 0, 0]) ?? ([units, quoted, slippageBps, 0, 0] as const)
    const head = headOf(variant, mischief.discriminator ?? discriminators[variant], amounts)
    const accounts = leading.map((one) => ({ address: address(one), role: AccountRole.READONLY }))
    const chosen = (await mischief.steps?.(steps, order)) ?? steps
    return scriptedProgram.act(chosen, [], { accounts, data: head })
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const http = createHttpTransport()
  return {
    url: `${origin}/swap/v1`,
    scriptedProgram,
    asked,
    venue: (wallet, more = {}) => {
      const { rpc, genesis } = trade
      return createJupiterVenue({
        rpc,
        genesis,
        wallet,
        get: http.get,
        post: http.post,
        url: `${origin}/swap/v1`,
        ...more,
      })
    },
    be: (next) => {
      mischief = next
    },
    close: async () => {
      await http.close()
      server.closeAllConnections()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}

export function transfer(mint: Mint, source: string, destination: string, owner: string, amount: bigint): Instruction {
  return getTransferCheckedInstruction(
    {
      source: address(source),
      mint: address(mint.address),
      destination: address(destination),
      authority: createNoopSigner(address(owner)),
      amount,
      decimals: mint.decimals,
    },
    { programAddress: address(mint.tokenProgram) },
  )
}

function headOf(
  variant: 'route' | 'shared',
  discriminator: string,
  [sold, quoted, slippage, platform, positive]: readonly [bigint, bigint, number, number, number],
): Uint8Array {
  const head = new Uint8Array(headBytes[variant])
  head.set(Buffer.from(discriminator, 'hex'))
  const view = new DataView(head.buffer, variant === 'route' ? 8 : 9)
  view.setBigUint64(0, sold, true)
  view.setBigUint64(8, quoted, true)
  view.setUint16(16, slippage, true)
  view.setUint16(18, platform, true)
  view.setUint16(20, positive, true)
  return head
}

export function asJson({ programAddress, accounts = [], data = new Uint8Array() }: Instruction): Json {
  return {
    programId: programAddress,
    accounts: accounts.map(({ address: pubkey, role }) => ({
      pubkey,
      isSigner: role === AccountRole.READONLY_SIGNER || role === AccountRole.WRITABLE_SIGNER,
      isWritable: role === AccountRole.WRITABLE || role === AccountRole.WRITABLE_SIGNER,
    })),
    data: Buffer.from(data).toString('base64'),
  }
}

/** Gives the pool wrapped SOL, from somebody's plain one. */
async function stockWrapped({ world }: Trade, pool: string): Promise<void> {
  const { getTransferSolInstruction } = await import('@solana-program/system')
  const { getCreateAssociatedTokenIdempotentInstruction } = await import('@solana-program/token')
  const { succeed } = await import('../harness/message.ts')
  const payer = await world.person()
  await world.localnet.fund(payer.address, { SOL: 200_000_000_000n })
  const account = await world.tokenAccount(pool, wrappedSol)
  await succeed(
    world,
    [
      getCreateAssociatedTokenIdempotentInstruction({
        payer,
        ata: account,
        owner: address(pool),
        mint: address(wrappedSol.address),
      }),
      getTransferSolInstruction({ source: payer, destination: account, amount: 100_000_000_000n }),
      getSyncNativeInstruction({ account }),
    ],
    payer,
  )
}
