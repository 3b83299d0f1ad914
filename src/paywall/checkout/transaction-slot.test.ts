import { expect, it } from 'vitest'
import type { KeyValueStore } from '../../core/ports/kv.ts'
import type { PaymentDrafts, SignedDraft } from '../../core/ports/payment-drafts.ts'
import { createTransactionSlots } from './transaction-slot.ts'

const purchase = { name: 'n', claimableUntil: 1 }
const draft = (signature: string): SignedDraft => ({ wire: signature, signature, slot: 1 })

function setUp() {
  const kept = new Map<string, string>()
  const kv: KeyValueStore = {
    put: async (name, value) => {
      if (kept.has(name)) return false
      kept.set(name, value)
      return true
    },
    get: async (name) => kept.get(name),
    remove: async (name) => kept.delete(name),
    list: async (prefix) =>
      [...kept]
        .filter(([name]) => name.startsWith(prefix))
        .sort()
        .map(([name, value]) => ({ name, value, until: 1 })),
  }
  const over = new Set<string>()
  const sent: string[] = []
  let time = 0
  const paymentDrafts = {
    readFate: async ({ signature }: SignedDraft) => (over.has(signature) ? 'over' : 'open'),
    send: async ({ signature }: SignedDraft) => {
      sent.push(signature)
      return { kind: 'sent' }
    },
  } as unknown as PaymentDrafts
  const clock = { now: () => time, monotonic: () => time }
  const open = () => createTransactionSlots(kv, paymentDrafts, clock)
  return {
    open,
    over,
    sent,
    pass: (ms: number) => {
      time += ms
    },
  }
}

it('lets one of many through, whichever server they come to', async () => {
  const { open } = setUp()
  const servers = [open(), open(), open()]
  const passed = await Promise.all(
    Array.from({ length: 30 }, (_, index) => servers[index % 3]?.take(purchase, draft(`t${index}`))),
  )
  expect(passed.filter(Boolean)).toHaveLength(1)
  const winner = await servers[0]?.current(purchase)
  expect(winner && (await servers[1]?.take(purchase, winner))).toBe(true)
})

it('lets the next one through only when the last can no longer land', async () => {
  const { open, over } = setUp()
  const [one, other] = [open(), open()]
  expect(await one.take(purchase, draft('a'))).toBe(true)
  expect(await other.take(purchase, draft('b'))).toBe(false)
  over.add('a')
  const passed = await Promise.all([one, other, one].map((slots, index) => slots.take(purchase, draft(`c${index}`))))
  expect(passed.filter(Boolean)).toHaveLength(1)
  expect((await one.current(purchase))?.signature).toMatch(/^c/)
})

it('keeps purchases apart', async () => {
  const { open } = setUp()
  const slots = open()
  expect(await slots.take(purchase, draft('a'))).toBe(true)
  expect(await slots.take({ ...purchase, name: 'other' }, draft('b'))).toBe(true)
})

it('sends again every two seconds at the most', async () => {
  const { open, sent, pass } = setUp()
  const slots = open()
  for (let second = 0; second < 5; second += 1) {
    await slots.sendAgain(draft('a'))
    await slots.sendAgain(draft('a'))
    pass(1_000)
  }
  expect(sent).toHaveLength(3)
})
