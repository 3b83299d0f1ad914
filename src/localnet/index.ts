/**
 * Solana in the process: real programs, signatures and fees, on local ports.
 *
 * `network: 'localnet'` uses it. Clients of a cluster (@solana/kit, @solana/web3.js) work with it unchanged.
 */
import { encodeBase58 } from '../core/encoding/base58.ts'
import { localnetMints, type MintTable } from '../core/money/tokens.ts'
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
  /** JSON-RPC port for HTTP and WebSocket. The next port is also used, for WebSockets. Default: a free pair. */
  readonly port?: number
}

export interface Localnet {
  readonly rpcUrl: string
  readonly wsUrl: string
  readonly genesisHash: string
  readonly mints: MintTable
  /** Has the mint authority of the mock tokens. */
  readonly faucetAddress: string
  readonly faults: Faults
  /** Chain time in milliseconds since 1970. */
  now(): number
  /** The slot that is open. */
  slot(): number
  /**
   * Advances the clock. As many slots pass as fit into the time (at 400 ms or less each), but at least one; or exactly
   * `slots`, so that a test can let time pass without finalizing anything.
   */
  advance(seconds: number, slots?: number): void
  /** Lets slots pass, with their time: `slotMs`, but at most 400 ms each. */
  advanceSlots(slots: number): void
  /** Pays test money and creates missing token accounts; 0n creates an empty one. Confirmed when it resolves. */
  fund(address: string, amounts: Amounts): Promise<readonly string[]>
  /** Drops the last slots, including the open one, as a losing fork. Returns the signatures that vanished. */
  rollback(slots: number): readonly string[]
  getAccount(address: string): Account | undefined
  /** Sets an account as if it had always been so. Undefined removes it. */
  setAccount(address: string, account: Account | undefined): void
  /**
   * Sets the balance of a new wallet as if it always had it. There is no transaction that the wallet's owner could
   * mistake for a payment.
   */
  endow(address: string, lamports: bigint): void
  /** Deploys a program from its ELF bytes. */
  setProgram(address: string, elf: Uint8Array): void
  /** Closes sockets and timers, and writes pending data. Can be called twice. */
  close(): Promise<void>
}

/**
 * Starts a new chain, or continues the one in `dataDir`.
 *
 * @example
 * const localnet = await startLocalnet()
 * await localnet.fund(address, { SOL: 1_000_000_000n, USDC: 5_000_000n })
 * await localnet.close()
 */
export async function startLocalnet(options: LocalnetOptions = {}): Promise<Localnet> {
  const { bank, faucet, mempool, genesisHash, slotMs } = await openChain(options)
  const state = createFaults()
  // A chain with a stopped clock has endless slots. Slots that a test advances have the usual length.
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
    // Closing the slot early confirms the payment, so that the caller can spend it at once.
    bank.jump(1, 0)
    return signatures
  }
  const handler = createHttpHandler({ nodeFor: createNode, faults: state, faucet: (body) => serveFaucet(body, fund) })
  const listening = await listenOnPair(options.port ?? 0, handler).catch((error: unknown) => {
    bank.close()
    throw error
  })
  const sockets = serveSockets([listening.rpc, listening.sockets], hub, state)
  let timer: ReturnType<typeof setTimeout> | undefined
  // Slots close on time, as on a cluster. Otherwise subscribers would learn of a confirmation up to a slot late.
  const passSlots = () => {
    timer = setTimeout(passSlots, bank.untilNextSlot())
  }
  passSlots()
  let closing: Promise<void> | undefined
  const end = async () => {
    clearTimeout(timer)
    hub.close()
    sockets.close()
    await listening.close()
    bank.close()
  }
  return {
    rpcUrl: `http://127.0.0.1:${listening.port}`,
    wsUrl: `ws://127.0.0.1:${listening.port}`,
    genesisHash,
    mints: localnetMints,
    faucetAddress: faucet.address,
    faults: state.faults,
    now: () => bank.now(),
    slot: () => bank.sync(),
    advance: (seconds, slots) => admin.advance(seconds, slots),
    advanceSlots: admin.advanceSlots,
    fund,
    rollback: (slots) => bank.rollback(slots),
    getAccount: (address) => bank.read(address, bank.sync()),
    // An account without lamports does not exist.
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
