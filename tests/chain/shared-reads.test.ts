import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { SignedPayment } from '../../src/chain/send/message.ts'
import { submit } from '../../src/chain/send/send.ts'
import { encodeBase58 } from '../../src/core/encoding/base58.ts'
import { createNodesFixture, honest, NodeError, type NodeScript, type NodesFixture } from './nodes-fixture.ts'

let world: NodesFixture
let paid: SignedPayment

beforeAll(async () => {
  world = await createNodesFixture()
  paid = await world.pay()
})
afterAll(() => world.close())

/** Hides a transaction until it is told to show it. */
function hiding(): { readonly script: NodeScript; show(): void; asked(): number } {
  let [shown, asked] = [false, 0]
  return {
    script: async (question, forward) => {
      const result = await forward()
      if (question.method === 'getTransaction') {
        asked += 1
        return shown ? result : null
      }
      if (question.method !== 'getSignatureStatuses') return result
      asked += 1
      return shown ? result : { value: (question.params[0] as readonly string[]).map(() => null) }
    },
    show: () => {
      shown = true
    },
    asked: () => asked,
  }
}

const elapse = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

describe('one read for all readers', () => {
  it('T113: twenty at once are one call to a node', async () => {
    const chain = world.chainOf([honest])
    const readings = await Promise.all(Array.from({ length: 20 }, () => chain.read(paid.signature, 1_000)))
    expect(readings.every((reading) => reading.kind === 'found')).toBe(true)
    expect(Object.fromEntries(chain.calls())).toEqual({ getGenesisHash: 2, getTransaction: 1 })
  })

  it('and one to each of two nodes', async () => {
    const chain = world.chainOf([honest, honest])
    await Promise.all(Array.from({ length: 20 }, () => chain.read(paid.signature, 1_000)))
    expect(Object.fromEntries(chain.calls())).toEqual({ getGenesisHash: 4, getTransaction: 2 })
  })

  it('a trusted reader also serves the doubted readers of a transaction', async () => {
    const forgetful: NodeScript = (question, forward) =>
      question.method === 'getSignatureStatuses'
        ? Promise.resolve({ context: { slot: 1 }, value: (question.params[0] as readonly string[]).map(() => null) })
        : forward()
    const chain = world.chainOf([forgetful])
    const doubted = chain.read(paid.signature, 5_000, { isDoubtful: true })
    await elapse(20)
    expect((await chain.read(paid.signature, 1_000)).kind).toBe('found')
    expect((await doubted).kind).toBe('found')
  })

  it('different transactions have reads of their own', async () => {
    const chain = world.chainOf([honest])
    const other = await world.pay({ requestId: 'rid_2' })
    const [one, two] = await Promise.all([chain.read(paid.signature, 0), chain.read(other.signature, 0)])
    expect([one, two]).toMatchObject([{ effect: { memos: ['rid_1'] } }, { effect: { memos: ['rid_2'] } }])
    expect(Object.fromEntries(chain.calls())).toEqual({ getGenesisHash: 3, getTransaction: 2 })
  })
})

describe('T67: a transaction that is not there yet', () => {
  it('is waited for, ever less often', async () => {
    const node = hiding()
    const chain = world.chainOf([node.script])
    const reading = chain.read(paid.signature, 5_000)
    await elapse(30)
    for (let round = 0; round < 8; round += 1) await elapse(50)
    node.show()
    expect((await reading).kind).toBe('found')
    // At 0, 50, 150 and 350 ms; then the status that shows it, and the transaction itself.
    expect(node.asked()).toBeGreaterThanOrEqual(5)
    expect(node.asked()).toBeLessThanOrEqual(7)
    expect(Object.fromEntries(chain.calls())).toMatchObject({ getTransaction: 2 })
  })

  it('is found as soon as it is sent', async () => {
    const chain = world.chainOf([honest])
    const payment = await world.sign({ requestId: 'late' })
    const reading = chain.read(payment.signature, 5_000)
    await submit(world.rpc, payment)
    expect(await reading).toMatchObject({ kind: 'found', effect: { memos: ['late'] } })
  })

  it('T128: is looked for together with the others that are missing', async () => {
    const node = hiding()
    const chain = world.chainOf([node.script])
    const signatures = await Promise.all(
      Array.from({ length: 40 }, async (_, index) => (await world.sign({ requestId: `rid_${index}` })).signature),
    )
    const readings = await Promise.all([paid.signature, ...signatures].map((signature) => chain.read(signature, 500)))
    expect(readings.every((reading) => reading.kind === 'missing')).toBe(true)
    // One call each to begin with; then three more rounds of all in a few calls, not in 123.
    expect(chain.calls().get('getTransaction')).toBe(41)
    expect(chain.calls().get('getSignatureStatuses')).toBeLessThanOrEqual(20)
  })

  it('is read again and again where the node tells no statuses', async () => {
    let left = 3
    const mute: NodeScript = async (question, forward) => {
      if (question.method === 'getSignatureStatuses') throw new NodeError(-32601)
      if (question.method !== 'getTransaction') return forward()
      left -= 1
      return left < 0 ? forward() : null
    }
    expect((await world.chainOf([mute]).read(paid.signature, 2_000)).kind).toBe('found')
  })

  it('T58: is waited for where only its time is not known yet', async () => {
    let left = 4
    const timeless: NodeScript = async (question, forward) => {
      if (question.method === 'getBlockTime') return null
      const result = await forward()
      if (question.method !== 'getTransaction') return result
      left -= 1
      return left < 0 ? result : { ...(result as object), blockTime: null }
    }
    const chain = world.chainOf([timeless])
    expect((await chain.read(paid.signature, 3_000)).kind).toBe('found')
  })

  it('T61: is missing while it is only processed', async () => {
    const slow = await createNodesFixture(2 ** 30)
    const payment = await slow.sign()
    await submit(slow.rpc, payment)
    expect((await slow.chainOf([honest]).read(payment.signature, 0)).kind).toBe('missing')
    slow.localnet.advanceSlots(1)
    expect((await slow.chainOf([honest]).read(payment.signature, 0)).kind).toBe('found')
    await slow.close()
  })

  it('is missing after the wait, and the miss is not remembered', async () => {
    const node = hiding()
    const chain = world.chainOf([node.script])
    const start = performance.now()
    expect((await chain.read(paid.signature, 120)).kind).toBe('missing')
    expect(performance.now() - start).toBeGreaterThan(100)
    expect(performance.now() - start).toBeLessThan(400)
    node.show()
    expect((await chain.read(paid.signature, 0)).kind).toBe('found')
  })

  it('asks once if no reader waits, and again for the next reader', async () => {
    const node = hiding()
    const chain = world.chainOf([node.script])
    expect((await chain.read(paid.signature, 0)).kind).toBe('missing')
    expect(node.asked()).toBe(1)
    node.show()
    expect((await chain.read(paid.signature, 0)).kind).toBe('found')
  })
})

describe('readers with different patience', () => {
  it('a reader with more time continues after the first one', async () => {
    const node = hiding()
    const chain = world.chainOf([node.script])
    const first = chain.read(paid.signature, 60)
    const second = chain.read(paid.signature, 3_000)
    expect((await first).kind).toBe('missing')
    for (let times = 0; times < 3; times += 1) await elapse(50)
    node.show()
    expect((await second).kind).toBe('found')
  })

  it('a reader without time leaves early, with the first result', async () => {
    const node = hiding()
    const chain = world.chainOf([node.script])
    const patient = chain.read(paid.signature, 3_000)
    expect((await chain.read(paid.signature, 0)).kind).toBe('missing')
    node.show()
    expect((await patient).kind).toBe('found')
  })

  it('a reader at its time limit does not wait for the next round', async () => {
    const node = hiding()
    const chain = world.chainOf([node.script])
    const patient = chain.read(paid.signature, 3_000)
    // The rounds are at 0, 50, 150, 350 and 750 ms.
    expect((await chain.read(paid.signature, 400)).kind).toBe('missing')
    expect(node.asked()).toBeLessThanOrEqual(4)
    node.show()
    expect((await patient).kind).toBe('found')
  })

  it('a late reader does not trigger an earlier request', async () => {
    const node = hiding()
    const chain = world.chainOf([node.script])
    const readers = [chain.read(paid.signature, 150)]
    for (let reader = 0; reader < 50; reader += 1) {
      readers.push(chain.read(paid.signature, 100))
      if (reader % 10 === 0) await elapse(5)
    }
    await Promise.all(readers)
    expect(node.asked()).toBeLessThanOrEqual(5)
  })
})

describe('limits', () => {
  const silent: NodeScript = () => new Promise(() => {})

  it('on readers of one transaction', async () => {
    const chain = world.chainOf([silent])
    const readers = Array.from({ length: 300 }, () => chain.read(paid.signature, 1_000))
    const refused = await Promise.all(readers.slice(256))
    expect(new Set(refused.map((reading) => reading.kind === 'unavailable' && reading.why))).toEqual(
      new Set(['too many requests wait for this payment']),
    )
    const start = performance.now()
    await chain.close()
    const others = await Promise.all(readers.slice(0, 256))
    expect(others.every((reading) => reading.kind === 'unavailable')).toBe(true)
    expect(performance.now() - start).toBeLessThan(500)
  })

  it('on transactions being waited for', async () => {
    const chain = world.chainOf([silent])
    const readers = Array.from({ length: 4_097 }, (_, index) => chain.read(`signature ${index}`, 1_000))
    expect(await readers[4_096]).toEqual({ kind: 'unavailable', why: 'too many pending payments' })
    await chain.close()
    await Promise.all(readers)
    expect(await chain.read(paid.signature, 0)).toEqual({ kind: 'unavailable', why: 'the chain is closed' })
  })

  it('T131: on unconfirmed transactions: the oldest gives up its place to a new one', async () => {
    const { script } = hiding()
    const chain = world.chainOf([script])
    const doubted = Array.from({ length: 4_096 }, () =>
      chain.read(encodeBase58(randomBytes(64)), 1_000, { isDoubtful: true }),
    )
    const late = chain.read(paid.signature, 0)
    expect(await doubted[0]).toEqual({ kind: 'missing' })
    expect((await late).kind).toBe('missing')
    // Who is still waited for is told at once, and not when nodes would have been asked for all of them.
    await chain.close()
    expect(await doubted.at(-1)).toEqual({ kind: 'unavailable', why: 'the chain is closed', isUnreadable: false })
    await Promise.all(doubted)
  })

  it('on tries when no node can be reached: the answer comes before the patience ends', async () => {
    let asked = 0
    const dead: NodeScript = () => {
      asked += 1
      return Promise.reject(new Error('no route'))
    }
    const start = performance.now()
    expect((await world.chainOf([dead]).read(paid.signature, 10_000)).kind).toBe('unavailable')
    expect(performance.now() - start).toBeLessThan(1_000)
    expect(asked).toBe(3)
  })

  it('a node that comes back in time is no outage', async () => {
    let failures = 2
    const stumbling: NodeScript = (_question, forward) => {
      failures -= 1
      return failures >= 0 ? Promise.reject(new Error('lost')) : forward()
    }
    expect((await world.chainOf([stumbling]).read(paid.signature, 2_000)).kind).toBe('found')
  })

  it('a fault of our own is an outage, not a crash', async () => {
    const verifier = () => {
      throw new RangeError('bug')
    }
    expect((await world.chainOf([honest], { verifier }).read(paid.signature, 0)).kind).toBe('unavailable')
    expect(world.logged.join()).toContain('RangeError')
  })

  it('close ends a wait at once', async () => {
    const chain = world.chainOf([hiding().script])
    const reading = chain.read(paid.signature, 10_000)
    await elapse(40)
    const start = performance.now()
    await chain.close()
    expect((await reading).kind).not.toBe('found')
    expect(performance.now() - start).toBeLessThan(200)
  })
})
