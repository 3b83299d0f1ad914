import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { SignedPayment } from '../../src/chain/send/message.ts'
import { createNodesFixture, honest, lying, type NodeScript, type NodesFixture } from './nodes-fixture.ts'

let world: NodesFixture
let paid: SignedPayment

beforeAll(async () => {
  world = await createNodesFixture()
  paid = await world.pay()
})
afterAll(() => world.close())

const dead: NodeScript = () => Promise.reject(new Error('no route'))
const blind: NodeScript = async (question, forward) => {
  if (question.method === 'getTransaction') return null
  return question.method === 'getSignatureStatuses' ? { value: [null] } : forward()
}
const foreign = lying('getGenesisHash', () => 'elsewhere')
const bent = (change: (meta: Record<string, unknown>) => Record<string, unknown>) =>
  lying('getTransaction', (result) => {
    const told = result as { readonly meta: Record<string, unknown> } | null
    return told && { ...told, meta: { ...told.meta, ...change(told.meta) } }
  })
/** Says that a transaction failed that did not, or the other way round. */
const failing = bent(() => ({ err: { InstructionError: [0, { Custom: 1 }] } }))
const generous = bent((meta) => ({
  postBalances: (meta['postBalances'] as readonly number[]).map((units) => units + 1),
}))
const inventive = bent((meta) => ({ innerInstructions: [{ index: 0, instructions: [] }], fee: meta['fee'] }))
const elsewhen = lying('getTransaction', (result) => ({ ...(result as object), blockTime: 1_700_000_000 }))
const elsewhere = lying('getTransaction', (result) => ({ ...(result as object), slot: 77 }))

const kindOf = async (scripts: readonly NodeScript[], waitMs = 0) =>
  (await world.chainOf(scripts).read(paid.signature, waitMs)).kind

describe('T167: with two nodes', () => {
  it.each<[string, NodeScript, string]>([
    ['both honest', honest, 'found'],
    ['one says it failed', failing, 'disagreement'],
    ['one tells other balances', generous, 'disagreement'],
    ['one tells another time', elsewhen, 'disagreement'],
    ['one tells another slot', elsewhere, 'disagreement'],
    ['one does not have it', blind, 'disagreement'],
    ['one is out of reach', dead, 'unavailable'],
    ['one is of another chain', foreign, 'unavailable'],
    ['one differs only in what has no effect', inventive, 'found'],
  ])('%s', async (_name, script, kind) => {
    expect(await kindOf([honest, script])).toBe(kind)
    expect(await kindOf([script, honest])).toBe(kind)
  })

  it('a payment that was signed but never sent, and one node vouches for it', async () => {
    const unsent = await world.sign({ requestId: 'never sent' })
    const vouching: NodeScript = async (question, forward) => {
      if (question.method !== 'getTransaction') return forward()
      const told = (await forward()) as object | null
      if (told) return told
      const config = { encoding: 'base64', commitment: 'confirmed', maxSupportedTransactionVersion: 1 }
      const real = await world.rpc.call('getTransaction', [paid.signature, config])
      const result = real.kind === 'answered' ? (real.result as object) : {}
      return { ...result, transaction: [unsent.wire, 'base64'] }
    }
    expect((await world.chainOf([vouching, honest]).read(unsent.signature, 0)).kind).toBe('disagreement')
    // What a single node can do to a shop that has only one.
    expect((await world.chainOf([vouching]).read(unsent.signature, 0)).kind).toBe('found')
  })

  it('a contradiction is told at once, since waiting does not mend it', async () => {
    const start = performance.now()
    expect(await kindOf([honest, failing], 5_000)).toBe('disagreement')
    expect(performance.now() - start).toBeLessThan(500)
  })

  it('both without it: missing', async () => {
    expect(await kindOf([blind, blind])).toBe('missing')
  })

  it('one lags: it is waited for, and the other not asked again', async () => {
    const asked: number[] = []
    let lag = 3
    const note =
      (node: number, script: NodeScript): NodeScript =>
      (question, forward) => {
        if (question.method === 'getTransaction') asked.push(node)
        return script(question, forward)
      }
    const lagging: NodeScript = async (question, forward) => {
      const result = await forward()
      if (question.method !== 'getTransaction' || lag === 0) return result
      lag -= 1
      return null
    }
    const chain = world.chainOf([note(0, honest), note(1, lagging)])
    expect((await chain.read(paid.signature, 2_000)).kind).toBe('found')
    expect(asked.filter((node) => node === 0)).toHaveLength(1)
    expect(asked.filter((node) => node === 1)).toHaveLength(4)
  })
})

describe('with three nodes', () => {
  it.each<[string, readonly NodeScript[], string]>([
    ['one out of reach', [dead, honest, honest], 'found'],
    ['one lying', [failing, honest, honest], 'found'],
    ['one that does not have it', [honest, blind, honest], 'found'],
    ['one of another chain', [honest, foreign, honest], 'found'],
    ['two out of reach', [dead, dead, honest], 'unavailable'],
    ['each telling something else', [failing, generous, honest], 'disagreement'],
  ])('%s', async (_name, scripts, kind) => {
    expect(await kindOf(scripts)).toBe(kind)
  })

  it('asks others in the next round, so that two that lag for good do not hide the rest', async () => {
    expect(await kindOf([blind, blind, honest, honest], 1_000)).toBe('found')
  })

  it('asks two, and the third only when it is needed', async () => {
    const chain = world.chainOf([honest, honest, honest])
    await chain.read(paid.signature, 0)
    expect(chain.calls().get('getTransaction')).toBe(2)
  })

  it('T76: asks the third when one is slow, and does not wait for it', async () => {
    const slow: NodeScript = async (question, forward) => {
      if (question.method === 'getTransaction') await new Promise((resolve) => setTimeout(resolve, 2_000).unref())
      return forward()
    }
    const chain = world.chainOf([slow, honest, honest], { hedgeMs: 20 })
    const start = performance.now()
    expect((await chain.read(paid.signature, 0)).kind).toBe('found')
    expect(performance.now() - start).toBeLessThan(500)
  })

  it('asks a node that failed after the others', async () => {
    let asked = 0
    const failingOnce: NodeScript = (question, forward) => {
      asked += 1
      return dead(question, forward)
    }
    const chain = world.chainOf([failingOnce, honest, honest])
    await chain.read(paid.signature, 0)
    await chain.read(paid.signature, 0)
    await chain.read(paid.signature, 0)
    expect(asked).toBe(1)
  })
})
