/**
 * Solana in the process: real programs, real signatures, real fees, on ports of this machine.
 *
 * `network: 'localnet'` runs on this. Clients of a cluster (@solana/kit, @solana/web3.js) work with it unchanged.
 */
import { encodeBase58 } from '../core/encoding/base58.ts'
import { knownMints, type MintTable } from '../core/money/tokens.ts'
import { type Account, emptyAccount } from './accounts/account.ts'
import { programs } from './accounts/addresses.ts'
import { type ChainOptions, openChain, usualSlotMs } from './chain.ts'
import { serveFaucet } from './faucet/endpoint.ts'
import type { Amounts } from './faucet/faucet.ts'
import { listenOnPair } from './listen.ts'
import { createHttpHandler } from './rpc/http.ts'
import { createHub } from './rpc/hub.ts'
import { serveSockets } from './rpc/sockets.ts'
import { createFaults, type FaultRule, type Faults } from './rpc/wire/faults.ts'
import type { Admin, Node } from './rpc/wire/node.ts'

export type { Account } from './accounts/account.ts'
export type { Amounts } from './faucet/faucet.ts'
export { FaucetError } from './faucet/faucet.ts'
export type { FaultRule, Faults, Intercept, RpcAnswer } from './rpc/wire/faults.ts'
export { LocalnetDataError } from './store/data-error.ts'

export interface LocalnetOptions extends ChainOptions {
  /** JSON-RPC port, HTTP and WebSocket. The next port is taken too, for WebSockets. Default: a free pair. */
  readonly port?: number
}

export interface Localnet {
  readonly rpcUrl: string
  readonly wsUrl: string
  readonly genesisHash: string
  readonly mints: MintTable
  /** Holds the mint authority of the mock tokens. */
  readonly faucetAddress: string
  readonly faults: Faults
  /** Chain time in milliseconds since 1970. */
  now(): number
  /** The slot that is open. */
  slot(): number
  /**
   * Moves the clock. As many slots pass as fit into the time (of 400 ms at most), at least one; or exactly `slots` of them, where a test
   * wants time to pass without making anything final.
   */
  advance(seconds: number, slots?: number): void
  /** Lets slots pass, and the time they take: `slotMs`, but at most 400 ms each. */
  advanceSlots(slots: number): void
  /** Pays test money, creating token accounts that are missing: 0n creates an empty one. Confirmed when it resolves. */
  fund(address: string, amounts: Amounts): Promise<readonly string[]>
  /** Drops the last slots, the open one included, as a fork that lost. Returns the signatures that vanished. */
  rollback(slots: number): readonly string[]
  getAccount(address: string): Account | undefined
  /** Plants an account as if it had always been so; undefined removes it. */
  setAccount(address: string, account: Account | undefined): void
  /**
   * Lets a wallet that does not exist yet hold so many lamports, as if it always had: there is no transaction that the
   * wallet's owner would have to take for a payment.
   */
  endow(address: string, lamports: bigint): void
  /** Deploys a program from its ELF bytes. */
  setProgram(address: string, elf: Uint8Array): void
  /** Ends sockets and timers, and writes what is left to write. Closing twice is closing once. */
  close(): Promise<void>
}

/**
 * Starts a chain of its own.
 *
 * @example
 * const localnet = await startLocalnet()
 * await localnet.fund(address, { SOL: 1_000_000_000n, USDC: 5_000_000n })
 * await localnet.close()
 */
export async function startLocalnet(options: LocalnetOptions = {}): Promise<Localnet> {
  const { bank, faucet, mempool, genesisHash, slotMs } = await openChain(options)
  const state = createFaults()
  // A chain whose clock stands still has slots without end; those that a test lets pass are of the usual length.
  const passingMs = Math.min(slotMs, usualSlotMs)
  const admin: Admin = {
    advance(seconds, slots) {
      const milliseconds = Math.round(seconds * 1000)
      bank.jump(slots ?? Math.max(1, Math.floor(milliseconds / passingMs)), milliseconds)
    },
    advanceSlots: (slots) => bank.jump(slots, slots * passingMs),
    setFaults: state.faults.set,
    silence: state.faults.silence,
  }
  const createNode = ({ lagSlots = 0, delaySlots = 0, lose = false }: FaultRule): Node => ({
    bank,
    faucet,
    genesisHash,
    admin,
    view: () => bank.view(lagSlots),
    send(transaction, maxRetries) {
      hub.received(encodeBase58(transaction.signatures[0] ?? new Uint8Array()))
      mempool.send(transaction, { delaySlots, lose }, maxRetries)
    },
  })
  const hub = createHub(bank, createNode({}))
  const fund = async (address: string, amounts: Amounts) => {
    const signatures = [faucet.pay(address, amounts)]
    // Closing the slot early makes the money confirmed, so that the caller can spend it at once.
    bank.jump(1, 0)
    return signatures
  }
  const handler = createHttpHandler({ nodeFor: createNode, faults: state, faucet: (body) => serveFaucet(body, fund) })
  const listening = await listenOnPair(options.port ?? 0, handler).catch((error: unknown) => {
    bank.close()
    throw error
  })
  const sockets = serveSockets([listening.rpc, listening.sockets], hub, state)
  const timer = setInterval(() => bank.sync(), slotMs)
  let closing: Promise<void> | undefined
  const end = async () => {
    clearInterval(timer)
    hub.close()
    sockets.close()
    await listening.close()
    bank.close()
  }
  return {
    rpcUrl: `http://127.0.0.1:${listening.port}`,
    wsUrl: `ws://127.0.0.1:${listening.port}`,
    genesisHash,
    mints: knownMints.localnet,
    faucetAddress: faucet.address,
    faults: state.faults,
    now: () => bank.now(),
    slot: () => bank.sync(),
    advance: (seconds, slots) => admin.advance(seconds, slots),
    advanceSlots: admin.advanceSlots,
    fund,
    rollback: (slots) => bank.rollback(slots),
    getAccount: (address) => bank.read(address, bank.sync()),
    // An account without lamports is no account.
    setAccount: (address, account) => bank.plant([[address, account?.lamports ? account : undefined]]),
    endow: (address, lamports) => {
      if (!bank.read(address, bank.sync())) bank.plant([[address, emptyAccount(programs.system, lamports)]])
    },
    setProgram: (address, elf) => bank.plant(bank.vm.load(address, elf)),
    close() {
      closing ??= end()
      return closing
    },
  }
}
