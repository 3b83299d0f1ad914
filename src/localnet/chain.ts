/** Assembles a chain: a new one, or the one in a data directory. */
import { randomBytes } from 'node:crypto'
import { decodeAddress, encodeBase58 } from '../core/encoding/base58.ts'
import { createAccounts } from './accounts/accounts.ts'
import { type Bank, createBank } from './bank/bank.ts'
import { type Clock, createClock, wallTime } from './bank/clock.ts'
import { createHistory } from './bank/history.ts'
import { createLedger, type Ledger } from './bank/saved-state.ts'
import { createTimeline, finalityDepth, type TimelineParts } from './bank/timeline.ts'
import { createVm } from './bank/vm.ts'
import { createFaucet, type Faucet } from './faucet/faucet.ts'
import { builtinAccounts, firstAccounts, mintAccounts } from './genesis.ts'
import { createMempool, type Mempool } from './mempool.ts'
import { loadStore } from './store/binaries.ts'
import { LocalnetDataError } from './store/data-error.ts'
import type { Store } from './store/store.ts'
import { createKeypair, newSecret } from './transaction/signature.ts'

export const usualSlotMs = 400

export interface ChainOptions {
  /**
   * Length of a slot; 400 as on a cluster. With a very large value (2 ** 31 - 1), slots pass only when a test advances
   * them.
   */
  readonly slotMs?: number
  /** Stores the chain here, or continues the one that exists. Default: memory. */
  readonly dataDir?: string
  /** Chain time of the first slot, in milliseconds since 1970. Default: now. Only for a new chain. */
  readonly startTime?: number
  /** Genesis hash of a new chain, so that its directory can have the same name. Default: random. */
  readonly genesisHash?: string
}

export interface Chain {
  readonly bank: Bank
  readonly faucet: Faucet
  readonly mempool: Mempool
  readonly genesisHash: string
  readonly slotMs: number
}

export async function openChain(options: ChainOptions): Promise<Chain> {
  const slotMs = options.slotMs ?? usualSlotMs
  if (!Number.isInteger(slotMs) || slotMs < 1 || slotMs > 2 ** 31 - 1)
    throw new RangeError('slotMs must be a whole number of milliseconds')
  const vm = await createVm()
  const { openStore } = await loadStore()
  const store = openStore(options.dataDir)
  const genesis = options.genesisHash === undefined ? randomBytes(32) : decodeAddress(options.genesisHash)
  if (!genesis) throw new RangeError('genesisHash must be 32 bytes in base58')
  if (store.isNew) writeGenesis(store, genesis, options.startTime ?? wallTime())
  const ledger = createLedger(store)
  const clock = createClock(Number(Buffer.from(readMeta(store, 'offset')).toString()))
  const faucetKey = createKeypair(readMeta(store, 'faucet'))
  const identity = createKeypair(readMeta(store, 'identity')).address
  if (store.isNew) {
    const ms = clock.now()
    // Slot 0 is the genesis block, which is closed from the start.
    ledger.addAnchors([
      { slot: 0, ms },
      { slot: 1, ms },
    ])
    ledger.save(firstAccounts(faucetKey.address, identity))
  }
  // A chain of an earlier version has its USDC at another address.
  const existing = new Map(ledger.accounts())
  ledger.save(mintAccounts(faucetKey.address, vm).filter(([address]) => !existing.has(address)))
  const history = createHistory(store)
  const timeline = createTimeline({ slotMs, ...readTimeline(store, ledger, slotMs, clock) })
  // The machine's clock may have been set back while the chain was closed. The chain's clock never goes back.
  const last = Math.max(history.lastSlot(), timeline.tipAt(clock.now()))
  clock.shift(Math.max(0, timeline.timeOf(last) - clock.now()))
  const accounts = createAccounts()
  const stored = [...ledger.accounts()]
  accounts.apply(0, [...builtinAccounts(vm), ...stored])
  accounts.forget(0)
  vm.put(stored)
  const bank = createBank({ vm, clock, timeline, accounts, history, ledger, store, identity })
  // The previous states of the last slots are not stored, so the content of the file is final from here on.
  if (history.countAfter(bank.view().finalized) > 0) bank.jump(finalityDepth + 1, 0)
  return {
    bank,
    faucet: createFaucet(bank, faucetKey),
    mempool: createMempool(bank),
    genesisHash: encodeBase58(readMeta(store, 'genesis')),
    slotMs,
  }
}

/** The past keeps its slot length. A chain reopened with another length continues from a new anchor. */
function readTimeline(store: Store, ledger: Ledger, slotMs: number, clock: Clock): Omit<TimelineParts, 'slotMs'> {
  const parts = { seed: readMeta(store, 'seed'), anchors: ledger.anchors(), gaps: ledger.gaps() }
  const before = Number(Buffer.from(store.getMeta('slotMs') ?? Buffer.from(String(slotMs))).toString())
  store.setMeta('slotMs', Buffer.from(String(slotMs)))
  if (before === slotMs) return parts
  const past = createTimeline({ slotMs: before, ...parts })
  const now = clock.now()
  ledger.addAnchors(past.jump(past.tipAt(now), 1, now))
  return { ...parts, anchors: ledger.anchors() }
}

function writeGenesis(store: Store, genesis: Uint8Array, startTime: number): void {
  store.begin()
  store.setMeta('genesis', genesis)
  store.setMeta('seed', randomBytes(32))
  store.setMeta('faucet', newSecret())
  store.setMeta('identity', newSecret())
  store.setMeta('offset', Buffer.from(String(startTime - wallTime())))
  store.commit()
}

function readMeta(store: Store, key: string): Uint8Array {
  const value = store.getMeta(key)
  if (!value) throw new LocalnetDataError(`the localnet's chain has no ${key}: it was not created completely`)
  return value
}
