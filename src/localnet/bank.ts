/**
 * The chain itself: the open slot takes transactions, time closes it, and a dropped fork takes slots back.
 *
 * Time moves on its own, so every entry point first closes the slots that are over (`sync`): what a reader sees as
 * confirmed has then been written to the store.
 */

import { encodeBase58 } from '../core/base58.ts'
import { type Account, emptyAccount, sameAccount } from './account.ts'
import type { Accounts, Change } from './accounts.ts'
import { programs } from './addresses.ts'
import type { Clock } from './clock.ts'
import { admittedNonce, evaluate, type Rejection, resolve, type Scene } from './evaluate.ts'
import type { History, TransactionRecord } from './history.ts'
import type { Ledger } from './ledger.ts'
import { createReplayGuard } from './replay.ts'
import { type Report, recordOf, reportOf } from './report.ts'
import { signaturesHold } from './signature.ts'
import type { Store } from './store.ts'
import { slotsBefore, sysvarOf, sysvarsOf } from './sysvars.ts'
import { blockhashAge, type Timeline } from './timeline.ts'
import { type View, viewFrom } from './view.ts'
import type { Vm } from './vm.ts'
import type { Message, Transaction } from './wire.ts'

/** Slots whose state before them is remembered: 32 until they are final, the rest for nodes that lag. */
export const rememberedSlots = 96
export const maxLagSlots = rememberedSlots - 32
/** Twice what a blockhash lives, since slots of dropped forks do not age it. */
const replayWindow = 2 * blockhashAge
/** A simulation asks for a blockhash that will still live when the transaction has reached the leader. */
const forwardingBlocks = 6

export interface BankParts {
  readonly vm: Vm
  readonly clock: Clock
  readonly timeline: Timeline
  readonly accounts: Accounts
  readonly history: History
  readonly ledger: Ledger
  readonly store: Store
  /** The node's own address, which leads every slot and earns its fees. */
  readonly identity: string
}

export interface BankListener {
  transaction?(record: TransactionRecord): void
  /** The open slot closed and another opened; slots between them are idle. */
  moved?(from: number, to: number): void
  dropped?(after: number): void
}

export type Submission = { readonly kind: 'landed'; readonly record: TransactionRecord } | Rejection

export interface Bank {
  readonly identity: string
  readonly timeline: Timeline
  readonly history: History
  readonly accounts: Accounts
  readonly vm: Vm
  /** Chain time in milliseconds. */
  now(): number
  /** Closes the slots that are over, and returns the open one. */
  sync(): number
  view(lagSlots?: number): View
  read(address: string, slot: number): Account | undefined
  /** Runs a transaction in the open slot. */
  submit(transaction: Transaction): Submission
  /** What it would do on top of a slot, without doing it. */
  simulate(transaction: Transaction, slot: number, anyAge: boolean): Report | Rejection
  /** The checks' surroundings on top of a slot. */
  sceneAt(slot: number, anyAge: boolean): Scene
  livesByNonce(message: Message, slot: number): boolean
  /** Whether a blockhash may be used by a transaction on top of this slot, and until which block height. */
  lastValidHeight(blockhash: string, slot: number): number | undefined
  latestBlockhash(slot: number): string
  /** Changes accounts without a transaction, in the open slot. */
  plant(changes: readonly Change[]): void
  /** Closes the open slot and goes that many slots and milliseconds ahead. */
  jump(slots: number, milliseconds: number): void
  /** Drops the last slots as a fork that lost. Returns the signatures that vanished. */
  rollback(slots: number): readonly string[]
  listen(listener: BankListener): () => void
  close(): void
}

export function createBank(parts: BankParts): Bank {
  const { vm, clock, timeline, accounts, history, ledger, store, identity } = parts
  const listeners = new Set<BankListener>()
  let open = timeline.tipAt(clock.now())
  let vmSlot = -1
  let positions = 0
  let moving = false
  let fees = { base: 0n, priority: 0n }
  const replays = createReplayGuard(history.recent(open - replayWindow))

  function sync(): number {
    const tip = timeline.tipAt(clock.now())
    if (tip > open && !moving) moveTo(tip)
    return open
  }

  function moveTo(next: number, anchor?: () => void): void {
    const from = open
    closeSlot()
    anchor?.()
    open = next
    // Listeners may submit transactions: those belong to the slot just opened, however long the listeners take.
    moving = true
    for (const listener of listeners) listener.moved?.(from, next)
    moving = false
    accounts.forget(next - rememberedSlots)
    replays.forget(next - replayWindow)
  }

  function closeSlot(): void {
    const earned = fees.priority + fees.base - fees.base / 2n
    if (earned > 0n) {
      const before = accounts.get(identity) ?? emptyAccount(programs.system)
      const account = { ...before, lamports: before.lamports + earned }
      change([[identity, account]])
      history.addReward(open, { lamports: earned, postBalance: account.lamports })
    }
    if (store.durable)
      ledger.save([...accounts.changedIn(open)].map((address) => [address, accounts.get(address)] as const))
    store.commit()
    positions = 0
    fees = { base: 0n, priority: 0n }
  }

  function change(changes: readonly Change[]): void {
    store.begin()
    accounts.apply(open, changes)
    vm.put(changes)
  }

  function read(address: string, slot: number): Account | undefined {
    return sysvarOf(address, slot, timeline) ?? accounts.at(address, slot)
  }

  /** The last slot whose blockhash is known on top of this one: an open slot has none of its own yet. */
  function latestClosed(slot: number): number {
    return slot >= open ? timeline.parentOf(slot) : slot
  }

  function sceneAt(slot: number, anyAge: boolean, maxAge = blockhashAge): Scene {
    const latest = latestClosed(slot)
    return {
      vm,
      slot,
      anyAge,
      get: (address) => read(address, slot),
      lastBlockhash: timeline.blockhashOf(latest),
      isRecentBlockhash: (blockhash) => timeline.slotOfBlockhash(blockhash, latest, maxAge) !== undefined,
      isRecentSlot: (number) => [...slotsBefore(slot, 512, timeline)].some((recent) => BigInt(recent) === number),
      wasProcessed: (message) => replays.has(message, slot),
    }
  }

  function prepareVm(slot: number): void {
    if (vmSlot !== slot) vm.put(sysvarsOf(slot, timeline))
    vmSlot = slot
  }

  function submit(transaction: Transaction): Submission {
    sync()
    if (!signaturesHold(transaction)) {
      return {
        kind: 'rejected',
        failure: 'SignatureFailure',
        roles: [],
        loaded: { writable: [], readonly: [] },
        fee: undefined,
      }
    }
    prepareVm(open)
    const outcome = evaluate(transaction, sceneAt(open, false))
    if (outcome.kind === 'rejected') return outcome
    const report = reportOf(transaction, outcome, (address) => read(address, open))
    const changes = outcome.changes.filter(([address, account]) => !sameAccount(account, accounts.get(address)))
    const place = { slot: open, position: positions++ }
    const record = recordOf(
      transaction,
      report,
      place,
      changes.map(([address]) => address),
    )
    change(changes)
    history.add(
      record,
      outcome.roles.map(({ address }) => address),
    )
    replays.add(transaction.message, open)
    fees = {
      base: fees.base + outcome.fee - outcome.budget.priorityFee,
      priority: fees.priority + outcome.budget.priorityFee,
    }
    for (const listener of listeners) listener.transaction?.(record)
    return { kind: 'landed', record }
  }

  function simulate(transaction: Transaction, slot: number, anyAge: boolean): Report | Rejection {
    const past = pastAccounts(transaction, slot)
    vm.put(past)
    prepareVm(slot)
    try {
      const outcome = evaluate(transaction, sceneAt(slot, anyAge, blockhashAge - forwardingBlocks))
      return outcome.kind === 'rejected' ? outcome : reportOf(transaction, outcome, (address) => read(address, slot))
    } finally {
      vm.put(past.map(([address]) => [address, accounts.get(address)]))
    }
  }

  /** Accounts the transaction may read that have changed since the slot it is simulated on. */
  function pastAccounts({ message }: Transaction, slot: number): readonly Change[] {
    if (slot >= open) return []
    const named = new Set([...message.keys, ...message.lookups.flatMap(({ table }) => tableAddresses(table, slot))])
    return [...named]
      .map((address) => [address, accounts.at(address, slot)] as const)
      .filter(([address, account]) => account !== accounts.get(address))
  }

  function tableAddresses(table: string, slot: number): readonly string[] {
    const data = accounts.at(table, slot)?.data ?? new Uint8Array()
    const addresses: string[] = []
    for (let at = 56; at + 32 <= data.length; at += 32) addresses.push(encodeBase58(data.subarray(at, at + 32)))
    return addresses
  }

  function rollback(slots: number): readonly string[] {
    sync()
    const { finalized } = viewFrom(open, 0, timeline)
    const keep = open - slots
    if (!Number.isInteger(slots) || slots < 1 || keep < finalized) {
      throw new RangeError(`between 1 and ${open - finalized} slots can be dropped: slot ${finalized} is final`)
    }
    store.begin()
    const changes = accounts.revert(keep)
    vm.put(changes)
    if (store.durable) ledger.save(changes)
    const vanished = history.drop(keep)
    replays.drop(keep)
    ledger.addGap(timeline.drop(keep, open))
    ledger.addAnchors(timeline.jump(open, 1, clock.now()))
    positions = 0
    fees = { base: 0n, priority: 0n }
    store.commit()
    const lost = open
    open += 1
    vmSlot = -1
    for (const listener of listeners) listener.dropped?.(keep)
    for (const listener of listeners) listener.moved?.(lost, open)
    return vanished
  }

  return {
    identity,
    timeline,
    history,
    accounts,
    vm,
    now: () => clock.now(),
    sync,
    view: (lagSlots = 0) => viewFrom(sync(), Math.min(lagSlots, maxLagSlots), timeline),
    read,
    submit,
    simulate,
    sceneAt,
    livesByNonce(message, slot) {
      const scene = sceneAt(slot, false)
      const resolved = resolve(message, scene)
      return !('kind' in resolved) && admittedNonce(message, resolved.roles, scene) !== undefined
    },
    lastValidHeight(blockhash, slot) {
      const found = timeline.slotOfBlockhash(blockhash, latestClosed(slot))
      if (found === undefined) return undefined
      const age = timeline.heightOf(latestClosed(slot)) - timeline.heightOf(found)
      return timeline.heightOf(slot) + blockhashAge - age
    },
    latestBlockhash: (slot) => timeline.blockhashOf(latestClosed(slot)),
    plant(changes) {
      sync()
      change(changes)
    },
    jump(slots, milliseconds) {
      sync()
      moveTo(open + slots, () => {
        clock.shift(milliseconds)
        store.setMeta('offset', Buffer.from(String(clock.offset())))
        ledger.addAnchors(timeline.jump(open, slots, clock.now()))
      })
    },
    rollback,
    listen(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    close() {
      sync()
      closeSlot()
      store.close()
    },
  }
}
