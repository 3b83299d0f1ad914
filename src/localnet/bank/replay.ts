/**
 * Messages that became part of the chain while their blockhash may still be used: none of them does so twice.
 *
 * A replay is the same message, whatever its signatures: a signer can make many for one message.
 */
import { createHash } from 'node:crypto'
import { decodeTransaction, type Message } from '../transaction/wire.ts'
import type { TransactionRecord } from './history.ts'

export interface ReplayGuard {
  has(message: Message, upToSlot: number): boolean
  add(message: Message, slot: number): void
  /** Slots after this one never happened. */
  drop(afterSlot: number): void
  /** Blockhashes this old have expired. */
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
