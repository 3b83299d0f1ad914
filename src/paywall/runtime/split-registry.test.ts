import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
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

describe('T205: made-up requestIds', () => {
  beforeEach(() => vi.useFakeTimers())
  afterEach(() => vi.useRealTimers())
  const monotonic = () => Date.now()

  it('make a server read the ledger at most four times a second', async () => {
    const { kv, calls } = createStore()
    const registry = createSplitRegistry(kv, { monotonic })
    const asked: Promise<void>[] = []
    for (let ms = 0; ms < 900; ms += 10) {
      asked.push(registry.refresh(), registry.refresh())
      await vi.advanceTimersByTimeAsync(10)
    }
    expect(calls.list).toBe(4)
    await vi.advanceTimersByTimeAsync(250)
    await Promise.all(asked)
    expect(calls.list).toBe(5)
  })

  it('do not hide splits that were quoted after the last reading began', async () => {
    const { kv } = createStore()
    const list: KeyValueStore['list'] = async (prefix) => {
      const entries = await kv.list(prefix)
      await new Promise((resolve) => setTimeout(resolve, 20))
      return entries
    }
    const registry = createSplitRegistry({ ...kv, list }, { monotonic })
    const count = () => registry.refresh().then(() => registry.known().size)
    const before = count()
    await vi.advanceTimersByTimeAsync(5)
    await createSplitRegistry(kv, { monotonic }).keep(recipientSet)
    const after = count()
    await vi.advanceTimersByTimeAsync(300)
    expect([await before, await after]).toEqual([0, 2])
  })
})

it('a reading that ends late hides no splits', async () => {
  const { kv } = createStore()
  const registry = createSplitRegistry(
    { ...kv, list: async () => registry.keep(recipientSet).then(() => []) },
    { monotonic: () => 0 },
  )
  await registry.load()
  expect(registry.known().size).toBe(2)
})

it('an outage of the ledger is no proof that a requestId is made up', async () => {
  const { kv } = createStore()
  let isDown = true
  const list: KeyValueStore['list'] = (prefix) =>
    isDown ? Promise.reject(new LedgerUnavailable('down')) : kv.list(prefix)
  const registry = createSplitRegistry({ ...kv, list }, { monotonic: () => performance.now() })
  for (let turn = 0; turn < 2; turn += 1) await expect(registry.refresh()).rejects.toThrow('down')
  isDown = false
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
