import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { encodeBase58 } from '../../core/encoding/base58.ts'
import type { Effect } from '../../core/payment/verify.ts'
import type { Reading } from '../../core/ports/chain.ts'
import type { Mark } from '../../core/ports/journal.ts'
import type { ConnectSocket } from '../../core/runtime.ts'
import type { Call } from '../rpc/rpc.ts'
import type { NodeReader } from './node-reader.ts'
import { createWatcher, type Watcher } from './watcher.ts'

const address = 'the shop'
/** As a signature looks on the wire. */
const signed = (byte: number) => encodeBase58(new Uint8Array(64).fill(byte))
const [one, failed] = [signed(1), signed(2)]
const quiet = () => {}

/** A chain, a journal and a socket in the hands of the test. */
function createStage() {
  const rows: { signature: string; slot: number; err: unknown; confirmationStatus: string }[] = []
  const unknown = new Set<string>()
  /** Transactions that the nodes have on another fork, where they fail. */
  const forked = new Set<string>()
  const noted: string[] = []
  const marks: Mark[] = []
  const reads: string[] = []
  let [isJournalBroken, isListless] = [false, false]
  let socket: Parameters<ConnectSocket>[1] | undefined
  const sent: { id: number; method: string; params: unknown[] }[] = []

  const effectOf = (signature: string): Effect => ({
    signature,
    slot: rows.find((row) => row.signature === signature)?.slot ?? 0,
    blockTime: 1,
    failed: false,
    feePayer: 'payer',
    fee: 0n,
    memos: [],
    transfers: [
      {
        asset: 'SOL',
        destination: signature.startsWith('other') ? 'somebody else' : address,
        destinationOwner: address,
        sourceOwner: 'payer',
        authority: 'payer',
        units: 1n,
        signers: [],
        memos: [],
      },
    ],
    holdings: [],
  })
  const ask: Call = async (method, [, given]) => {
    if (method === 'getSlot') return { kind: 'answered', result: 5 }
    if (isListless) return { kind: 'unavailable', why: 'gone' }
    const { until } = given as { until?: string }
    const stop = rows.findIndex(({ signature }) => signature === until)
    return { kind: 'answered', result: rows.slice(stop + 1).reverse() }
  }
  const never = () => Promise.reject(new Error('not asked for here'))
  const nodeReader: NodeReader = { failures: () => 0, appeared: never, read: never, ask }
  const watcher: Watcher = createWatcher({
    nodeReaders: [nodeReader],
    read: async (signature): Promise<Reading> => {
      reads.push(signature)
      if (unknown.has(signature)) return { kind: 'missing' }
      const effect = { ...effectOf(signature), ...(forked.has(signature) && { failed: true, transfers: [] }) }
      watcher.found(effect, true)
      return { kind: 'found', effect }
    },
    clock: { now: () => Date.now(), monotonic: () => Date.now() },
    log: { info: quiet, warn: quiet, error: quiet },
    connect: (_url, listener) => {
      socket = listener
      return { send: (text) => void sent.push(JSON.parse(text)), close: quiet }
    },
    socketUrls: [['ws://one.test']],
    journal: {
      mark: async () => marks.at(-1),
      note: async (effects, read) => {
        if (isJournalBroken) throw new Error('the ledger is away')
        noted.push(...effects.map(({ signature }) => signature))
        if (read) marks.push(read.mark)
      },
    },
  })
  return {
    watcher,
    effectOf,
    noted,
    marks,
    reads,
    unknown,
    forked,
    pay: (signature: string, slot: number, more = {}) =>
      rows.push({ signature, slot, err: null, confirmationStatus: 'finalized', ...more }),
    settle: () => {
      for (const row of rows) row.confirmationStatus = 'finalized'
    },
    breakLists: (isBroken: boolean) => {
      isListless = isBroken
    },
    breakJournal: (isBroken: boolean) => {
      isJournalBroken = isBroken
    },
    /** The node accepts the connection and all subscriptions. */
    connect: async () => {
      socket?.opened()
      for (const { id } of sent.splice(0)) socket?.received(JSON.stringify({ jsonrpc: '2.0', id, result: 7 }))
      await vi.advanceTimersByTimeAsync(10)
    },
    notify: (signature: string, err: unknown = null) =>
      socket?.received(
        JSON.stringify({ method: 'logsNotification', params: { result: { value: { signature, err } } } }),
      ),
    receive: (text: string) => socket?.received(text),
    disconnect: () => socket?.closed(),
    /** Until the next list was read. */
    poll: () => vi.advanceTimersByTimeAsync(2_100),
  }
}

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

describe('the mark', () => {
  it('begins where the chain is final when an address is new, and is written down at once', async () => {
    const { watcher, pay, poll, marks, noted } = createStage()
    pay('before', 4)
    watcher.watch(address)
    await poll()
    expect(marks).toEqual([{ signature: '', slot: 5 }])
    expect(noted).toEqual([])
  })

  it('advances past transactions that were read and are final', async () => {
    const { watcher, pay, poll, marks, noted, settle } = createStage()
    watcher.watch(address)
    await poll()
    pay('one', 6)
    pay('two', 7, { confirmationStatus: 'confirmed' })
    await poll()
    expect(noted).toEqual(['one', 'two'])
    expect(marks.at(-1)).toEqual({ signature: 'one', slot: 6 })
    settle()
    await poll()
    expect(marks.at(-1)).toEqual({ signature: 'two', slot: 7 })
    expect(noted).toEqual(['one', 'two'])
  })

  it('waits for a payment that the nodes do not agree on, five times', async () => {
    const { watcher, pay, poll, marks, unknown, reads, noted } = createStage()
    watcher.watch(address)
    await poll()
    unknown.add('ghost')
    pay('one', 6)
    pay('ghost', 7)
    pay('three', 8)
    for (let time = 1; time < 5; time += 1) {
      await poll()
      expect(marks.at(-1)).toEqual({ signature: 'one', slot: 6 })
    }
    await poll()
    expect(marks.at(-1)).toEqual({ signature: 'three', slot: 8 })
    expect(reads.filter((signature) => signature === 'ghost')).toHaveLength(5)
    expect(noted).toEqual(['one', 'three'])
  })

  it('does not hide a payment of the same slot that was found later', async () => {
    const { watcher, pay, poll, marks, unknown, noted } = createStage()
    watcher.watch(address)
    await poll()
    unknown.add('two')
    pay('one', 6)
    pay('two', 6)
    await poll()
    expect(marks.at(-1)).toEqual({ signature: 'one', slot: 6 })
    unknown.delete('two')
    await poll()
    expect(noted).toEqual(['one', 'two'])
  })

  it('stays while the journal is away, and nothing is lost', async () => {
    const { watcher, pay, poll, marks, noted, breakJournal } = createStage()
    watcher.watch(address)
    await poll()
    breakJournal(true)
    pay('one', 6)
    await poll()
    await poll()
    expect([noted, marks.length]).toEqual([[], 1])
    breakJournal(false)
    await poll()
    expect(noted).toEqual(['one'])
    expect(marks.at(-1)).toEqual({ signature: 'one', slot: 6 })
  })

  it('T200: reads a listed payment again that the nodes have on a fork where it fails', async () => {
    const { watcher, pay, poll, marks, noted, forked } = createStage()
    watcher.watch(address)
    await poll()
    const before = marks.at(-1)
    forked.add('one')
    pay('one', 6)
    await poll()
    expect([noted, marks.at(-1)]).toEqual([[], before])
    forked.clear()
    await poll()
    expect([noted, marks.at(-1)]).toEqual([['one'], { signature: 'one', slot: 6 }])
  })

  it('skips failed transactions and those that only mention the address', async () => {
    const { watcher, pay, poll, marks, noted, reads } = createStage()
    watcher.watch(address)
    await poll()
    pay('failed', 6, { err: {} })
    pay('other', 7)
    await poll()
    expect([reads, noted]).toEqual([['other'], []])
    expect(marks.at(-1)).toEqual({ signature: 'other', slot: 7 })
  })
})

describe('the WebSocket', () => {
  it('is believed to tell everything once all before it was read, and no longer when it is closed', async () => {
    const { watcher, poll, connect, disconnect } = createStage()
    expect(watcher.isCurrent()).toBe(false)
    watcher.watch(address)
    await poll()
    expect(watcher.isCurrent()).toBe(false)
    await connect()
    expect(watcher.isCurrent()).toBe(true)
    disconnect()
    expect(watcher.isCurrent()).toBe(false)
    await poll()
    await connect()
    expect(watcher.isCurrent()).toBe(true)
  })

  it('is not trusted while earlier transactions cannot be read', async () => {
    const { watcher, poll, connect, breakLists } = createStage()
    breakLists(true)
    watcher.watch(address)
    await poll()
    await connect()
    expect(watcher.isCurrent()).toBe(false)
    breakLists(false)
    await poll()
    expect(watcher.isCurrent()).toBe(true)
  })

  it('is not believed while an address that joined later is not subscribed', async () => {
    const { watcher, poll, connect } = createStage()
    watcher.watch(address)
    await poll()
    await connect()
    watcher.watch('another')
    expect(watcher.isCurrent()).toBe(false)
    await connect()
    expect(watcher.isCurrent()).toBe(true)
  })

  it('has payments read at once, once, and not those that failed', async () => {
    const { watcher, pay, poll, connect, notify, reads, noted } = createStage()
    watcher.watch(address)
    await poll()
    await connect()
    pay(one, 6)
    notify(one)
    notify(one)
    notify(failed, { InstructionError: [0, 'Custom'] })
    await vi.advanceTimersByTimeAsync(300)
    expect(reads).toEqual([one])
    expect([noted, watcher.seen(one)?.signature]).toEqual([[one], one])
  })

  it('has nothing read that is no signature, and not everything at once', async () => {
    const { watcher, poll, connect, notify, reads } = createStage()
    watcher.watch(address)
    await poll()
    await connect()
    for (const text of ['', 'x'.repeat(10_000), '0OIl', signed(0).slice(1)]) notify(text)
    for (let index = 0; index < 6_000; index += 1) {
      notify(encodeBase58(Uint8Array.from({ length: 64 }, (_, at) => (at < 2 ? (index >> (8 * at)) & 255 : 7))))
    }
    await vi.advanceTimersByTimeAsync(300)
    expect(reads).toHaveLength(5_000)
  })

  it('is not mistrusted over a payment from before, which is no news either', async () => {
    const { watcher, poll, connect, noted, effectOf } = createStage()
    watcher.watch(address)
    await poll()
    await connect()
    watcher.found({ ...effectOf('last year'), slot: 3 }, false)
    await vi.advanceTimersByTimeAsync(300)
    expect([watcher.isCurrent(), noted]).toEqual([true, []])
    watcher.found({ ...effectOf('just now'), slot: 6 }, false)
    expect(watcher.isCurrent()).toBe(false)
  })

  it('keeps observed transactions for a minute', async () => {
    const { watcher, pay, poll, connect, notify } = createStage()
    watcher.watch(address)
    await poll()
    await connect()
    pay(one, 6)
    notify(one)
    await vi.advanceTimersByTimeAsync(59_000)
    expect(watcher.seen(one)).toBeDefined()
    await vi.advanceTimersByTimeAsync(2_000)
    expect(watcher.seen(one)).toBeUndefined()
  })

  it.each(['', 'nonsense', '[]', '{"id":"x"}', '{"method":"logsNotification"}', '{"id":99,"result":1}'])(
    'says something odd (%j), and nothing comes of it',
    async (text) => {
      const { watcher, poll, connect, receive, reads } = createStage()
      watcher.watch(address)
      await poll()
      await connect()
      receive(text)
      expect(watcher.isCurrent()).toBe(true)
      expect(reads).toEqual([])
    },
  )
})
