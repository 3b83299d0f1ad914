/** A chain, a desk with money on it, and a wallet that trades with the desk. */
import { createWallet, type Wallet } from '../../src/chain/keys/keypair.ts'
import { createRpc, type Rpc } from '../../src/chain/rpc/rpc.ts'
import { listenForDesk } from '../../src/cli/operator/desk-server.ts'
import { testRates } from '../../src/core/money/rates.ts'
import type { MintTable } from '../../src/core/money/tokens.ts'
import type { SignedBytes } from '../../src/core/payouts/outgoing-wallet.ts'
import type { SwapOrder, Venue } from '../../src/core/payouts/venue.ts'
import type { Post } from '../../src/core/ports/sheets.ts'
import type { Clock } from '../../src/core/runtime.ts'
import { createWallClock } from '../../src/host/clock.ts'
import { createHttpTransport } from '../../src/host/net/transport.ts'
import { createDesk, type Desk } from '../../src/venues/desk.ts'
import { createRfqVenue } from '../../src/venues/rfq.ts'
import { createLocalnetFixture, type LocalnetFixture } from '../harness/localnet-fixture.ts'

export const quiet = { info: () => {}, warn: () => {}, error: () => {} }

export async function newWallet(): Promise<Wallet> {
  return createWallet(crypto.getRandomValues(new Uint8Array(32)))
}

export interface Trade {
  readonly world: LocalnetFixture
  readonly rpc: Rpc
  readonly post: Post
  readonly genesis: string
  readonly mints: MintTable
  readonly clock: MovableClock
  readonly desk: Desk
  readonly deskWallet: Wallet
  readonly url: string
  /** With 10 SOL, 1,000 USDC and 1,000 NATIVE. */
  taker(): Promise<Wallet>
  venue(wallet: Wallet, more?: { readonly url?: string; readonly post?: Post }): Venue
  order(sell: 'SOL' | 'USDC' | 'NATIVE', buy: 'SOL' | 'USDC' | 'NATIVE', units: bigint): SwapOrder
  /** What a wallet holds, in base units. */
  holds(address: string): Promise<Readonly<Record<'SOL' | 'USDC' | 'NATIVE', bigint>>>
  /** Sends and waits until it is confirmed. Resolves with the error, null where there is none. */
  land(signed: SignedBytes): Promise<unknown>
  close(): Promise<void>
}

export interface MovableClock extends Clock {
  move(ms: number): void
}

function movableClock(): MovableClock {
  const wall = createWallClock()
  let ahead = 0
  return {
    now: () => wall.now() + ahead,
    monotonic: () => wall.monotonic() + ahead,
    move: (ms) => {
      ahead += ms
    },
  }
}

export async function openTrade(): Promise<Trade> {
  const world = await createLocalnetFixture({ slotMs: 1_000_000 })
  const { localnet } = world
  const http = createHttpTransport()
  const rpc = createRpc({ urls: [localnet.rpcUrl], transport: http.transport })
  const clock = movableClock()
  const { mints, genesisHash: genesis } = localnet
  const deskWallet = await newWallet()
  await localnet.fund(deskWallet.address, {
    SOL: 100_000_000_000n,
    USDC: 10_000_000_000n,
    NATIVE: 10_000_000_000_000n,
    EURC: 0n,
  })
  const rates = () => ({ ...testRates, EURC: '1.25' })
  const desk = createDesk({ rpc, genesis, wallet: deskWallet, mints, rates, spreadBps: 30, clock, log: quiet })
  const server = await listenForDesk(desk, { port: 0, host: '127.0.0.1' })
  const mintOf = (token: 'SOL' | 'USDC' | 'NATIVE') => (token === 'SOL' ? undefined : mints[token])
  return {
    world,
    rpc,
    post: http.post,
    genesis,
    mints,
    clock,
    desk,
    deskWallet,
    url: server.url,
    taker: async () => {
      const wallet = await newWallet()
      await localnet.fund(wallet.address, { SOL: 10_000_000_000n, USDC: 1_000_000_000n, NATIVE: 1_000_000_000_000n })
      return wallet
    },
    venue: (wallet, more = {}) =>
      createRfqVenue({ rpc, genesis, wallet, url: server.url, post: http.post, clock, ...more }),
    order: (sell, buy, units) => ({ sell: mintOf(sell), buy: mintOf(buy), units, slippageBps: 50 }),
    holds: async (address) => {
      const units = async (token: 'USDC' | 'NATIVE') => {
        const mint = mints[token]
        if (!mint) return 0n
        const data = localnet.getAccount(await world.tokenAccount(address, mint))?.data
        return data ? new DataView(data.buffer, data.byteOffset).getBigUint64(64, true) : 0n
      }
      const lamports = localnet.getAccount(address)?.lamports ?? 0n
      return { SOL: lamports, USDC: await units('USDC'), NATIVE: await units('NATIVE') }
    },
    land: async ({ wire, signature }) => {
      await world.rpc('sendTransaction', [
        Buffer.from(wire).toString('base64'),
        { encoding: 'base64', skipPreflight: true },
      ])
      localnet.advanceSlots(1)
      const { value } = await world.rpc<{ value: readonly ({ err: unknown } | null)[] }>('getSignatureStatuses', [
        [signature],
      ])
      if (!value[0]) throw new Error('the transaction did not land')
      return value[0].err
    },
    close: async () => {
      await server.close()
      rpc.close()
      await http.close()
      await world.close()
    },
  }
}
