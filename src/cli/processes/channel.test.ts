import { expect, it } from 'vitest'
import { z } from 'zod'
import { createChannel } from './channel.ts'
import { createMember } from './member.ts'
import { toProcess, toSupervisor } from './messages.ts'

/** Two ends that pass copies of their messages to each other, as processes do. */
function join(handlers: { readonly add: (value: { a: number; b: number }) => unknown }) {
  const kinds = { add: z.strictObject({ a: z.number(), b: z.number() }) }
  const invalid: string[] = []
  const onInvalid = (why: string) => void invalid.push(why)
  const asking = createChannel<typeof kinds, Record<never, never>>({
    send: (message) => answering.receive(structuredClone(message)),
    kinds: {},
    handlers: {},
    onInvalid,
  })
  const answering = createChannel<Record<never, never>, typeof kinds>({
    send: (message) => asking.receive(structuredClone(message)),
    kinds,
    handlers,
    onInvalid,
  })
  return { asking, answering, invalid }
}

it('resolves a question with its answer, and rejects it with the reason of a failure', async () => {
  const { asking } = join({ add: ({ a, b }) => (a < 0 ? Promise.reject(new Error('too small')) : a + b) })
  expect(await asking.ask('add', { a: 1, b: 2 })).toBe(3)
  await expect(asking.ask('add', { a: -1, b: 2 })).rejects.toThrow('too small')
})

it('rejects open questions when the other process ends, and later ones at once', async () => {
  const { asking } = join({ add: () => new Promise(() => {}) })
  const open = asking.ask('add', { a: 1, b: 2 })
  asking.close()
  await expect(open).rejects.toThrow('the other process has ended')
  await expect(asking.ask('add', { a: 1, b: 2 })).rejects.toThrow('the other process has ended')
})

it.each([
  ['no message at all', undefined],
  ['a text', 'add'],
  ['an unknown kind', { kind: 'subtract', value: { a: 1, b: 2 } }],
  ['a name of an inherited property', { kind: 'constructor', value: {} }],
  ['a value of another form', { kind: 'add', value: { a: '1', b: 2 } }],
  ['a value with more in it', { kind: 'add', value: { a: 1, b: 2, c: 3 } }],
  ['an answer to no question', { answers: 7, value: 1 }],
])('T194: drops %s, reports it, and goes on', async (_name, message) => {
  let calls = 0
  const { asking, answering, invalid } = join({ add: ({ a, b }) => (calls += a + b) })
  answering.receive(message)
  await Promise.resolve()
  expect([calls, invalid.length]).toEqual([0, 1])
  expect(await asking.ask('add', { a: 1, b: 2 })).toBe(3)
})

it.each([
  ['a payment without its transfers', 'notice', { service: 's', notice: { kind: 'seen', effect: { signature: 'x' } } }],
  ['a cost of a thousand', 'leave', { visit: 1, cost: -1000 }],
  ['a limit without a number', 'enter', { buckets: [{ book: 'b', name: 'n', rate: {} }], cost: 0 }],
  ['metrics that are no numbers', 'ended', { values: new Map([['paystile_ready', 'yes']]), histograms: new Map() }],
] as const)('T194: the supervisor accepts no message with %s', (_name, kind, value) => {
  expect(toSupervisor[kind].safeParse(value).success).toBe(false)
  expect(toProcess.notice.safeParse(value).success).toBe(false)
})

it('T193: limits without an answer of the supervisor admit nothing', async () => {
  const { limits } = createMember({
    ask: () => Promise.reject(new Error('gone')),
    tell: () => {},
    receive: () => {},
    close: () => {},
  })
  const bucket = { book: 'proof', name: 'a', rate: { most: 5, secondsEach: 5 } }
  expect(await limits.enter({ buckets: [bucket], cost: 0 })).toEqual({ kind: 'later', seconds: 1 })
  expect(await limits.admitFree({ quota: 'q', address: 'a', most: 5, period: 1 })).toBe(false)
})

it('asks no more for a client that has used its free quota, until the next period', async () => {
  const asked: unknown[] = []
  const { limits } = createMember({
    ask: async (_kind, value) => {
      asked.push(value)
      return false
    },
    tell: () => {},
    receive: () => {},
    close: () => {},
  })
  const order = { quota: 'q', address: 'a', most: 5, period: 1 }
  expect(await limits.admitFree(order)).toBe(false)
  expect(limits.admitFree(order)).toBe(false)
  expect(await limits.admitFree({ ...order, period: 2 })).toBe(false)
  expect(asked).toHaveLength(2)
})
