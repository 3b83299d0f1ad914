import { expect, it } from 'vitest'
import { encodeBase58 } from '../../core/encoding/base58.ts'
import type { RecipientSet } from '../../core/payment/splits.ts'
import { nameRecipientSet } from '../../core/payment/splits.ts'
import type { KeyValueStore } from '../../core/ports/kv.ts'
import { LedgerUnavailable } from '../../core/ports/ledger.ts'
import { createSplitRegistry } from './split-registry.ts'

const [recipient = '', partner = ''] = [1, 2].map((byte) => encodeBase58(new Uint8Array(32).fill(byte)))
const recipientSet: RecipientSet = { recipient, splits: [{ recipient: partner, basisPoints: 1_000n }] }

function createStore() {
  const values = new Map<string, string>()
  const calls = { list: 0 }
  const kv: KeyValueStore = {
    put: async (name, value) => !values.has(name) && Boolean(values.set(name, value)),
    get: async (name) => values.get(name),
    remove: async (name) => values.delete(name),
    list: async (prefix) => {
      calls.list += 1
      return [...values].flatMap(([name, value]) => (name.startsWith(prefix) ? [{ name, value, until: 0 }] : []))
    },
  }
  return { kv, values, calls }
}

it('splits that are no longer configured stay known, to all servers', async () => {
  const { kv, values } = createStore()
  await createSplitRegistry(kv, { monotonic: () => 0 }).keep(recipientSet)
  expect([...values]).toEqual([[`splits/${nameRecipientSet(recipientSet)}`, `${partner} share 1000`]])
  const later = createSplitRegistry(kv, { monotonic: () => 0 })
  expect(later.known().size).toBe(0)
  await later.load()
  const collected = { ...recipientSet, isCollected: true }
  expect([...later.known()]).toEqual([
    [nameRecipientSet(recipientSet), recipientSet],
    [nameRecipientSet(collected), collected],
  ])
})

it('a set of recipients without splits needs no entry', async () => {
  const { kv, values } = createStore()
  await createSplitRegistry(kv, { monotonic: () => 0 }).keep({ recipient, splits: [] })
  expect(values.size).toBe(0)
})

it('made-up requestIds make a server read the ledger once a second', async () => {
  const { kv, calls } = createStore()
  let now = 0
  const registry = createSplitRegistry(kv, { monotonic: () => now })
  await Promise.all([registry.refresh(), registry.refresh(), registry.refresh()])
  expect(calls.list).toBe(1)
  await createSplitRegistry(kv, { monotonic: () => 0 }).keep(recipientSet)
  await registry.refresh()
  expect(registry.known().size).toBe(0)
  now = 1_000
  await registry.refresh()
  expect(registry.known().size).toBe(2)
  expect(calls.list).toBe(2)
})

it('all who ask during a reading wait for it', async () => {
  const { kv } = createStore()
  await createSplitRegistry(kv, { monotonic: () => 0 }).keep(recipientSet)
  const list: KeyValueStore['list'] = (prefix) =>
    new Promise((resolve) => setTimeout(resolve, 20)).then(() => kv.list(prefix))
  const registry = createSplitRegistry({ ...kv, list }, { monotonic: () => 0 })
  const count = () => registry.refresh().then(() => registry.known().size)
  expect(await Promise.all([count(), count()])).toEqual([2, 2])
})

it('an outage of the ledger is no proof that a requestId is made up', async () => {
  const { kv } = createStore()
  let [now, isDown] = [0, true]
  const list: KeyValueStore['list'] = (prefix) =>
    isDown ? Promise.reject(new LedgerUnavailable('down')) : kv.list(prefix)
  const registry = createSplitRegistry({ ...kv, list }, { monotonic: () => now })
  for (let turn = 0; turn < 2; turn += 1) await expect(registry.refresh()).rejects.toThrow('down')
  ;[now, isDown] = [1_000, false]
  await registry.refresh()
})

it.each([
  ['another digest', `splits/${nameRecipientSet({ ...recipientSet, recipient: partner })}`, `${partner} share 999`],
  ['no splits', `splits/${recipient}/x`, 'nonsense'],
])('ignores an entry with %s', async (_name, name, value) => {
  const { kv, values } = createStore()
  values.set(name, value)
  const registry = createSplitRegistry(kv, { monotonic: () => 0 })
  await registry.load()
  expect(registry.known().size).toBe(0)
})
