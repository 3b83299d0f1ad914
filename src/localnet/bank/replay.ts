/**
 * The messages on chain with a blockhash that is still valid. None of them can land twice.
 *
 * Replays are detected by message and not by signature, because a signer can make many signatures of one message.
 */
import { createHash } from 'node:crypto'
import { decodeTransaction, type Message } from '../transaction/wire.ts'
import type { TransactionRecord } from './history.ts'

export interface ReplayGuard {
  has(message: Message, upToSlot: number): boolean
  add(message: Message, slot: number): void
  /** Removes all slots after this one. */
  drop(afterSlot: number): void
  /** Forgets blockhashes that have expired. */
  forget(upToSlot: number): void
  size(): number
}

export function createReplayGuard(recent: Iterable<TransactionRecord>): ReplayGuard {
  const slots = new Map<string, number>()
  const guard: ReplayGuard = {
    has(message, upToSlot) {
      const slot = slots.get(createKey(message))
      return slot !== undefined && slot <= upToSlot
    },
    add(message, slot) {
      slots.set(createKey(message), slot)
    },
    size: () => slots.size,
    drop(afterSlot) {
      for (const [key, slot] of slots) if (slot > afterSlot) slots.delete(key)
    },
    forget(upToSlot) {
      for (const [key, slot] of slots) {
        if (slot > upToSlot) return
        slots.delete(key)
      }
    },
  }
  for (const { wire, slot } of recent) {
    const decoded = decodeTransaction(wire)
    if (decoded.kind === 'ok') guard.add(decoded.value.message, slot)
  }
  return guard
}

function createKey({ bytes }: Message): string {
  return createHash('sha256').update(bytes).digest('base64')
}
