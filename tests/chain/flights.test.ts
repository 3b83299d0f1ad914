import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { SignedPayment } from '../../src/chain/payment.ts'
import { submit } from '../../src/chain/send.ts'
import { createWorld, honest, type NodeScript, type World } from './world.ts'

let world: World
let paid: SignedPayment

beforeAll(async () => {
  world = await createWorld()
  paid = await world.pay()
})
afterAll(() => world.close())

/** Hides a transaction until it is told to show it. */
function hiding(): { readonly script: NodeScript; show(): void; asked(): number } {
  let [shown, asked] = [false, 0]
  return {
    script: async (question, forward) => {
      const result = await forward()
      if (question.method !== 'getTransaction') return result
      asked += 1
      return shown ? result : null
    },
    show: () => {
      shown = true
    },
    asked: () => asked,
  }
}

const elapse = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

describe('one flight for all readers', () => {
  it('T113: twenty at once are one call to a node', async () => {
    const chain = world.chainOf([honest])
    const readings = await Promise.all(Array.from({ length: 20 }, () => chain.read(paid.signature, 1_000)))
    expect(readings.every((reading) => reading.kind === 'found')).toBe(true)
    expect(Object.fromEntries(chain.calls())).toEqual({ getGenesisHash: 1, getTransaction: 1 })
  })

  it('and one to each of two nodes', async () => {
    const chain = world.chainOf([honest, honest])
    await Promise.all(Array.from({ length: 20 }, () => chain.read(paid.signature, 1_000)))
    expect(Object.fromEntries(chain.calls())).toEqual({ getGenesisHash: 2, getTransaction: 2 })
  })

  it('different transactions have flights of their own', async () => {
    const chain = world.chainOf([honest])
    const other = await world.pay({ requestId: 'rid_2' })
    const [one, two] = await Promise.all([chain.read(paid.signature, 0), chain.read(other.signature, 0)])
    expect([one, two]).toMatchObject([{ effect: { memos: ['rid_1'] } }, { effect: { memos: ['rid_2'] } }])
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
    // At 0, 50, 150 and 350 ms, then the one that finds it.
    expect(node.asked()).toBeGreaterThanOrEqual(4)
    expect(node.asked()).toBeLessThanOrEqual(6)
  })

  it('is found as soon as it is sent', async () => {
    const chain = world.chainOf([honest])
    const payment = await world.sign({ requestId: 'late' })
    const reading = chain.read(payment.signature, 5_000)
    await submit(world.rpc, payment)
    expect(await reading).toMatchObject({ kind: 'found', effect: { memos: ['late'] } })
  })

  it('T61: is missing while it is only processed', async () => {
    const slow = await createWorld(2 ** 30)
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

  it('asks once where nobody wants to wait', async () => {
    const node = hiding()
    expect((await world.chainOf([node.script]).read(paid.signature, 0)).kind).toBe('missing')
    expect(node.asked()).toBe(1)
  })
})

describe('readers with different patience', () => {
  it('who can wait longer outlives the one who came first', async () => {
    const node = hiding()
    const chain = world.chainOf([node.script])
    const first = chain.read(paid.signature, 60)
    const second = chain.read(paid.signature, 3_000)
    expect((await first).kind).toBe('missing')
    node.show()
    expect((await second).kind).toBe('found')
  })

  it('who cannot wait leaves early, with the first answer', async () => {
    const node = hiding()
    const chain = world.chainOf([node.script])
    const patient = chain.read(paid.signature, 3_000)
    const start = performance.now()
    expect((await chain.read(paid.signature, 0)).kind).toBe('missing')
    expect(performance.now() - start).toBeLessThan(300)
    node.show()
    expect((await patient).kind).toBe('found')
  })

  it('who comes late does not make the node be asked sooner', async () => {
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
    expect(refused.every((reading) => reading.kind === 'unavailable')).toBe(true)
    const others = chain.close().then(() => Promise.all(readers.slice(0, 256)))
    expect((await others).every((reading) => reading.kind === 'unavailable')).toBe(true)
  })

  it('on transactions being waited for', async () => {
    const chain = world.chainOf([silent])
    const readers = Array.from({ length: 1_025 }, (_, index) => chain.read(`signature ${index}`, 1_000))
    expect(await readers[1_024]).toEqual({ kind: 'unavailable', why: 'too many payments are being waited for' })
    await chain.close()
    await Promise.all(readers)
    expect(await chain.read(paid.signature, 0)).toEqual({ kind: 'unavailable', why: 'the chain is closed' })
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
