import { describe, expect, it } from 'vitest'
import type { ConnectSocket } from '../../core/runtime.ts'
import { createSignatureNotices } from './signature-notices.ts'

type Listener = Parameters<ConnectSocket>[1]

/** Sockets that the test opens, answers and closes by hand. */
function createNotices(socketUrls: readonly string[] = ['ws://node']) {
  const opened: { url: string; listener: Listener; sent: { id: number; method: string; params: unknown[] }[] }[] = []
  const time = { now: 0 }
  const notices = createSignatureNotices({
    socketUrls,
    clock: { monotonic: () => time.now },
    connect: (url, listener) => {
      const sent: (typeof opened)[number]['sent'] = []
      opened.push({ url, listener, sent })
      return { send: (text) => sent.push(JSON.parse(text)), close: () => listener.closed() }
    },
  })
  const last = () => opened.at(-1) ?? expect.fail('no socket was opened')
  const answer = (message: unknown) => last().listener.received(JSON.stringify(message))
  const notify = (subscription: number) => answer({ method: 'signatureNotification', params: { subscription } })
  return { notices, opened, time, last, answer, notify }
}

const longMs = 60_000

describe('signature notices', () => {
  it('wake the caller when the node agrees, and when it sends the notice', async () => {
    const { notices, last, answer, notify } = createNotices()
    const listening = notices.listen('tx')
    last().listener.opened()
    expect(last().sent).toEqual([
      { jsonrpc: '2.0', id: 1, method: 'signatureSubscribe', params: ['tx', { commitment: 'confirmed' }] },
    ])
    const agreed = listening.wait(longMs)
    answer({ id: 1, result: 7 })
    await agreed
    expect(listening.isActive()).toBe(true)
    const noticed = listening.wait(longMs)
    notify(8)
    notify(7)
    await noticed
    expect(listening.isActive()).toBe(false)
  })

  it('that come before the wait end the wait at once', async () => {
    const { notices, last, answer, notify } = createNotices()
    const listening = notices.listen('tx')
    last().listener.opened()
    answer({ id: 1, result: 7 })
    notify(7)
    await listening.wait(longMs)
    expect(listening.isActive()).toBe(false)
  })

  it('wake the caller once each, however often a node repeats them', async () => {
    const { notices, last, answer, notify } = createNotices()
    const listening = notices.listen('tx')
    last().listener.opened()
    answer({ id: 1, result: 7 })
    notify(7)
    await listening.wait(longMs)
    answer({ id: 1, result: 7 })
    notify(7)
    const woken = listening.wait(40).then(() => 'woken')
    const asleep = new Promise((resolve) => setTimeout(resolve, 10)).then(() => 'asleep')
    expect(await Promise.race([woken, asleep])).toBe('asleep')
    expect(listening.isActive()).toBe(false)
    await woken
  })

  it('serve several payments over one socket, which stays open for the next', () => {
    const { notices, opened, last, answer } = createNotices()
    const first = notices.listen('one')
    last().listener.opened()
    const second = notices.listen('two')
    answer({ id: 2, result: 5 })
    expect([first.isActive(), second.isActive()]).toEqual([false, true])
    first.stop()
    second.stop()
    expect(last().sent.at(-1)).toMatchObject({ method: 'signatureUnsubscribe', params: [5] })
    notices.listen('three').stop()
    expect(opened).toHaveLength(1)
  })

  it('try each address in turn, and then rest for a minute', () => {
    const { notices, opened, time, last } = createNotices(['ws://one', 'ws://two'])
    notices.listen('tx')
    last().listener.closed()
    last().listener.closed()
    notices.listen('tx')
    expect(opened.map(({ url }) => url)).toEqual(['ws://one', 'ws://two'])
    time.now += 60_000
    notices.listen('tx')
    expect(opened.map(({ url }) => url)).toEqual(['ws://one', 'ws://two', 'ws://one'])
  })

  it('end with their socket: the caller polls from then on', () => {
    const { notices, last, answer } = createNotices()
    const listening = notices.listen('tx')
    last().listener.opened()
    answer({ id: 1, result: 7 })
    last().listener.closed()
    expect(listening.isActive()).toBe(false)
  })

  it.each([
    ['text', 'no json'],
    ['a list', []],
    ['an error', { id: 1, error: { code: -32601 } }],
    ['another answer', { id: 9, result: 7 }],
    ['no parameters', { method: 'signatureNotification' }],
  ])('ignore %s', (_, message) => {
    const { notices, last, answer } = createNotices()
    const listening = notices.listen('tx')
    last().listener.opened()
    answer(message)
    expect(listening.isActive()).toBe(false)
  })
})
