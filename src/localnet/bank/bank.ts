/**
 * The chain itself: the open slot accepts transactions, time closes it, and a dropped fork reverts slots.
 *
 * Time passes by itself, so every entry point first closes the slots that are over (`sync`). A slot that a reader sees
 * as confirmed has therefore been written to the store.
 */
import type { Account } from '../accounts/account.ts'
import type { Change } from '../accounts/accounts.ts'
import type { Message, Transaction } from '../transaction/wire.ts'
import { computeView, type View } from './commitment.ts'
import type { Rejection, Surroundings } from './evaluate.ts'
import type { Report } from './report.ts'
import { livesByNonce, type Submission, sceneAt, simulate, submit } from './run.ts'
import type { BankListener, BankParts } from './slots.ts'
import {
  closeBank,
  createCore,
  jump,
  latestClosed,
  maxLagSlots,
  plant,
  rollback,
  sync,
  untilNextSlot,
} from './slots.ts'
import { blockhashAge } from './timeline.ts'

export type { Submission } from './run.ts'
export type { BankListener, BankParts } from './slots.ts'

export interface Bank extends Pick<BankParts, 'identity' | 'timeline' | 'history' | 'accounts' | 'vm'> {
  /** Chain time in milliseconds. */
  now(): number
  /** Closes the slots that are over, and returns the open one. */
  sync(): number
  /** Closes the slots that are over, and returns the milliseconds until the open one is over, at least 1. */
  untilNextSlot(): number
  view(lagSlots?: number): View
  read(address: string, slot: number): Account | undefined
  /** Runs a transaction in the open slot. */
  submit(transaction: Transaction): Submission
  /** Returns the result on top of a slot without applying it. */
  simulate(transaction: Transaction, slot: number, anyAge: boolean): Report | Rejection
  /** The context of the checks on top of a slot. */
  sceneAt(slot: number, anyAge: boolean): Surroundings
  livesByNonce(message: Message, slot: number): boolean
  /** The last block height at which a transaction on top of this slot can use the blockhash. Undefined if it cannot. */
  lastValidHeight(blockhash: string, slot: number): number | undefined
  latestBlockhash(slot: number): string
  /** Changes accounts without a transaction, as if they had always been so. */
  plant(changes: readonly Change[]): void
  /** Closes the open slot and advances by that many slots and milliseconds. */
  jump(slots: number, milliseconds: number): void
  /** Drops the last slots as a losing fork. Returns the signatures that vanished. */
  rollback(slots: number): readonly string[]
  listen(listener: BankListener): () => void
  close(): void
}

export function createBank(parts: BankParts): Bank {
  const core = createCore(parts)
  const { timeline, accounts, history, vm, identity, clock } = parts
  return {
    ...{ identity, timeline, history, accounts, vm },
    now: () => clock.now(),
    sync: () => sync(core),
    untilNextSlot: () => untilNextSlot(core),
    view: (lagSlots = 0) => computeView(sync(core), Math.min(lagSlots, maxLagSlots), timeline),
    read: core.read,
    submit: (transaction) => submit(transaction, core),
    simulate: (transaction, slot, anyAge) => simulate(transaction, slot, anyAge, core),
    sceneAt: (slot, anyAge) => sceneAt(slot, anyAge, core),
    livesByNonce: (message, slot) => livesByNonce(message, slot, core),
    lastValidHeight(blockhash, slot) {
      const latest = latestClosed(slot, core)
      const found = timeline.slotOfBlockhash(blockhash, latest)
      if (found === undefined) return undefined
      return timeline.heightOf(slot) + blockhashAge - (timeline.heightOf(latest) - timeline.heightOf(found))
    },
    latestBlockhash: (slot) => timeline.blockhashOf(latestClosed(slot, core)),
    plant: (changes) => plant(changes, core),
    jump: (slots, milliseconds) => jump(slots, milliseconds, core),
    rollback: (slots) => rollback(slots, core),
    listen(listener) {
      core.listeners.add(listener)
      return () => core.listeners.delete(listener)
    },
    close: () => closeBank(core),
  }
}
