/** Keeps all subscriptions, and turns what happens on the chain into notifications. */
import type { Bank } from '../bank/bank.ts'
import type { Commitment, View } from '../bank/commitment.ts'
import type { TransactionRecord } from '../bank/history.ts'
import {
  accountNotice,
  logsNotice,
  type Notice,
  noticesOfSpan,
  programNotice,
  signatureNotice,
  type Topic,
} from './subscriptions.ts'
import type { Node } from './wire/node.ts'

export type Push = (method: string, params: { readonly result: unknown; readonly subscription: number }) => void

export interface Hub {
  /** The first notification, if there is one, comes after this call has returned. */
  subscribe(topic: Topic, push: Push): number
  unsubscribe(id: number): boolean
  /** A transaction has arrived, whatever becomes of it. */
  received(signature: string): void
  close(): void
}

interface Subscription {
  readonly id: number
  readonly topic: Topic
  readonly push: Push
}

/** After a long jump only this many of the latest slots are told one by one. */
const toldSlots = 32

export function createHub(bank: Bank, node: Node): Hub {
  const subscriptions = new Map<number, Subscription>()
  let nextId = 1
  let seen: View = bank.view()

  function tell({ id, topic, push }: Subscription, notices: readonly Notice[]): void {
    for (const { result, last } of notices) {
      if (last) subscriptions.delete(id)
      push(`${topic.kind}Notification`, { result, subscription: id })
    }
  }

  function onTransaction(record: TransactionRecord): void {
    const changed = new Set(bank.accounts.changedIn(record.slot))
    for (const subscription of [...subscriptions.values()]) {
      const { topic } = subscription
      if (!('commitment' in topic) || topic.commitment !== 'processed') continue
      tell(subscription, processedNotices(topic, record, changed))
    }
  }

  function processedNotices(topic: Topic, record: TransactionRecord, changed: ReadonlySet<string>): readonly Notice[] {
    const { slot } = record
    const touched = record.changed.filter((address) => changed.has(address))
    if (topic.kind === 'logs') return logsNotice(topic, record, slot)
    if (topic.kind === 'signature')
      return topic.signature === record.signature ? signatureNotice(topic, bank.view(), node) : []
    if (topic.kind === 'account') return touched.includes(topic.address) ? accountNotice(topic, slot, node) : []
    if (topic.kind === 'program') return touched.flatMap((address) => programNotice(topic, address, slot, node))
    return []
  }

  function onMoved(from: number, to: number): void {
    const view = bank.view()
    for (const subscription of [...subscriptions.values()])
      tell(subscription, movedNotices(subscription.topic, from, to, view))
    seen = view
  }

  function movedNotices(topic: Topic, from: number, to: number, view: View): readonly Notice[] {
    if (topic.kind === 'slot') return slotNotices(from, to, view)
    if (topic.kind === 'root') return rootNotices(seen.finalized, view.finalized)
    if (topic.kind === 'slotsUpdates') return updateNotices(from, to, view)
    if (topic.commitment === 'processed') return []
    if (topic.kind === 'signature') return signatureNotice(topic, view, node)
    return noticesOfSpan(topic, { from: seen[topic.commitment], to: view[topic.commitment] }, node)
  }

  function* existing(after: number, upTo: number): Iterable<number> {
    for (let slot = Math.max(after + 1, upTo - toldSlots + 1); slot <= upTo; slot++)
      if (bank.timeline.exists(slot)) yield slot
  }

  function slotNotices(from: number, to: number, view: View): readonly Notice[] {
    return [...existing(from, to)].map((slot) => ({
      result: { parent: bank.timeline.parentOf(slot), root: Math.min(view.finalized, Math.max(0, slot - 32)), slot },
    }))
  }

  function rootNotices(from: number, to: number): readonly Notice[] {
    return [...existing(from, to)].map((slot) => ({ result: slot }))
  }

  function updateNotices(from: number, to: number, view: View): readonly Notice[] {
    const timestamp = bank.now()
    const update = (type: string, slot: number, rest = {}): Notice => ({ result: { slot, timestamp, type, ...rest } })
    return [
      ...[...existing(from - 1, to - 1)].map((slot) => update('frozen', slot, { stats: statsOf(slot) })),
      ...[...existing(seen.confirmed, view.confirmed)].map((slot) => update('optimisticConfirmation', slot)),
      ...[...existing(seen.finalized, view.finalized)].map((slot) => update('root', slot)),
      ...[...existing(from, to)].map((slot) => update('createdBank', slot, { parent: bank.timeline.parentOf(slot) })),
    ]
  }

  function statsOf(slot: number): Record<string, number> {
    const records = bank.history.inSlot(slot)
    const failed = records.filter(({ failure }) => failure !== undefined).length
    return {
      maxTransactionsPerEntry: records.length === 0 ? 0 : 1,
      numFailedTransactions: failed,
      numSuccessfulTransactions: records.length - failed,
      numTransactionEntries: records.length,
    }
  }

  const stop = bank.listen({
    transaction: onTransaction,
    moved: onMoved,
    dropped() {
      // Slots of the lost fork are told again when others take their place.
      const view = bank.view()
      const lower = (commitment: Commitment) => Math.min(seen[commitment], view[commitment])
      seen = { processed: lower('processed'), confirmed: lower('confirmed'), finalized: lower('finalized') }
    },
  })

  return {
    subscribe(topic, push) {
      const id = nextId++
      const subscription = { id, topic, push }
      subscriptions.set(id, subscription)
      if (topic.kind === 'signature') {
        setImmediate(() => {
          if (subscriptions.has(id)) tell(subscription, signatureNotice(topic, bank.view(), node))
        })
      }
      return id
    },
    unsubscribe: (id) => subscriptions.delete(id),
    received(signature) {
      for (const subscription of subscriptions.values()) {
        const { topic } = subscription
        if (topic.kind !== 'signature' || !topic.received || topic.signature !== signature) continue
        tell(subscription, [{ result: { context: { slot: bank.sync() }, value: 'receivedSignature' } }])
      }
    },
    close() {
      stop()
      subscriptions.clear()
    },
  }
}
