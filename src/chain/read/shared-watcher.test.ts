import { expect, it } from 'vitest'
import type { Effect } from '../../core/payment/verify.ts'
import type { WatchNotice } from '../../core/ports/processes.ts'
import { createSharedWatcher } from './shared-watcher.ts'

const effectOf = (signature: string, destination = 'the shop'): Effect => ({
  ...{ signature, slot: 5, blockTime: 1, failed: false, feePayer: 'payer', fee: 0n, memos: [], holdings: [] },
  transfers: [
    {
      ...{ asset: 'SOL', destination, destinationOwner: destination, sourceOwner: 'payer', authority: 'payer' },
      ...{ units: 1n, signers: [], memos: [] },
    },
  ],
})

function create() {
  let now = 0
  let take: (notice: WatchNotice) => void = () => {}
  let lead: () => void = () => {}
  const published: WatchNotice[] = []
  const seen: string[] = []
  const quiet = () => {}
  const connections: string[] = []
  const watcher = createSharedWatcher({
    peers: {
      publish: (notice) => void published.push(notice),
      subscribe: (taker) => {
        take = taker
        return quiet
      },
      onceLeading: (begin) => {
        lead = begin
        return quiet
      },
    },
    onSeen: ({ signature }) => void seen.push(signature),
    nodeReaders: [],
    read: async () => ({ kind: 'missing' }),
    clock: { now: () => now, monotonic: () => now },
    log: { info: quiet, warn: quiet, error: quiet },
    connect: (url) => {
      connections.push(url)
      return { send: quiet, close: quiet }
    },
    socketUrls: [['ws://one.test']],
    journal: { mark: async () => undefined, note: async () => {} },
  })
  return {
    ...{ watcher, published, seen, connections },
    take: (notice: WatchNotice) => take(notice),
    lead: () => lead(),
    pass: (ms: number) => {
      now += ms
    },
  }
}

it('keeps the payments of the leading process, to the addresses that this process watches', async () => {
  const { watcher, take, seen, connections } = create()
  watcher.watch('the shop')
  take({ kind: 'seen', effect: effectOf('one') })
  take({ kind: 'seen', effect: effectOf('two', 'somebody else') })
  expect([watcher.seen('one')?.signature, watcher.seen('two')]).toEqual(['one', undefined])
  expect([seen, connections]).toEqual([['one', 'two'], []])
  await watcher.close()
})

it('is current only while the leading process says so', async () => {
  const { watcher, take, pass } = create()
  watcher.watch('the shop')
  expect(watcher.isCurrent()).toBe(false)
  take({ kind: 'current', isCurrent: true })
  expect(watcher.isCurrent()).toBe(true)
  pass(3_000)
  expect(watcher.isCurrent()).toBe(false)
  take({ kind: 'current', isCurrent: true })
  take({ kind: 'current', isCurrent: false })
  expect(watcher.isCurrent()).toBe(false)
  await watcher.close()
})

it('watches itself once it leads, and tells the others of each new payment once', async () => {
  const { watcher, take, lead, published, connections } = create()
  watcher.watch('the shop')
  take({ kind: 'seen', effect: effectOf('before') })
  lead()
  expect(connections).toEqual(['ws://one.test'])
  watcher.found(effectOf('after'), true)
  watcher.found(effectOf('after'), true)
  expect(published).toEqual([{ kind: 'seen', effect: effectOf('after') }])
  expect([watcher.seen('before')?.signature, watcher.seen('after')?.signature]).toEqual(['before', 'after'])
  await watcher.close()
})
