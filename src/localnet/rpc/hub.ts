/** Manages all subscriptions, and turns chain events into notifications. */
import type { Bank } from '../bank/bank.ts'
import type { Commitment, View } from '../bank/commitment.ts'
import { createMovedNotices, createProcessedNotices, type Notice, signatureNotice } from './notices.ts'
import type { Topic } from './subscriptions.ts'
import type { Node } from './wire/node.ts'

export type Push = (method: string, params: { readonly result: unknown; readonly subscription: number }) => void

interface Subscription {
  readonly id: number
  readonly topic: Topic
  readonly push: Push
}

export function createHub(bank: Bank, node: Node) {
  const subscriptions = new Map<number, Subscription>()
  let nextId = 1
  let seen: View = bank.view()

  function push({ id, topic, push }: Subscription, notices: readonly Notice[]): void {
    for (const { result, last } of notices) {
      if (last) subscriptions.delete(id)
      push(`${topic.kind}Notification`, { result, subscription: id })
    }
  }

  const stop = bank.listen({
    transaction: (record) => {
      const changed = new Set(bank.accounts.changedIn(record.slot))
      for (const subscription of [...subscriptions.values()])
        push(subscription, createProcessedNotices(subscription.topic, record, changed, node))
    },
    moved: (from, to) => {
      const view = bank.view()
      for (const subscription of [...subscriptions.values()])
        push(subscription, createMovedNotices(subscription.topic, { from, to, seen, view }, node))
      seen = view
    },
    dropped: () => {
      // Slots of the lost fork are reported again when others replace them.
      const view = bank.view()
      const lower = (commitment: Commitment) => Math.min(seen[commitment], view[commitment])
      seen = { processed: lower('processed'), confirmed: lower('confirmed'), finalized: lower('finalized') }
    },
  })

  return {
    /** The first notification arrives after this call has returned. */
    subscribe(topic: Topic, send: Push) {
      const id = nextId++
      const subscription = { id, topic, push: send }
      subscriptions.set(id, subscription)
      if (topic.kind === 'signature') {
        setImmediate(() => {
          if (subscriptions.has(id)) push(subscription, signatureNotice(topic, bank.view(), node))
        })
      }
      return id
    },
    unsubscribe: (id: number) => subscriptions.delete(id),
    /** A transaction has arrived, regardless of its outcome. */
    received(signature: string) {
      for (const subscription of subscriptions.values()) {
        const { topic } = subscription
        if (topic.kind !== 'signature' || !topic.received || topic.signature !== signature) continue
        push(subscription, [{ result: { context: { slot: bank.sync() }, value: 'receivedSignature' } }])
      }
    },
    close() {
      stop()
      subscriptions.clear()
    },
  }
}

export type Hub = ReturnType<typeof createHub>
