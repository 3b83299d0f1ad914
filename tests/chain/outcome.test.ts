/** What became of a payout, told by nodes that lag, forget, lie or speak for another chain. */
import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { SignedBytes } from '../../src/core/payouts/outgoing-wallet.ts'
import { size } from '../harness/length.ts'
import { honest, lying, NodeError, type NodeScript } from './nodes-fixture.ts'
import { createOffice, type PayoutFixture, signedIn, transfer } from './payout-fixture.ts'

let fixture: PayoutFixture
let owner: string
let serial = 0

beforeAll(async () => {
  fixture = await createOffice()
})
afterAll(() => fixture.close())
beforeEach(async () => {
  const [person = ''] = await fixture.people(1)
  owner = person
})

const sign = async (units = 7n) => {
  serial += 1
  return signedIn(
    await fixture.outgoingWallet.sign({
      mint: fixture.native,
      transfers: [transfer(owner, units)],
      memo: `paystile:${serial}`,
    }),
  )
}
const pass = (slots: number) => fixture.localnet.advance(0, slots)
const by = (scripts: readonly NodeScript[], signed: SignedBytes) => fixture.courierOf(scripts).readOutcome(signed)
const open = (why: string, isThere = false) => ({ kind: 'open', why: expect.stringContaining(why), isThere })

const dead: NodeScript = () => Promise.reject(new Error('no route'))
/** Several lies of one node. */
const both =
  (...scripts: readonly NodeScript[]): NodeScript =>
  (question, forward) =>
    scripts.reduce<() => Promise<unknown>>((inner, script) => () => script(question, inner), forward)()
const withValue = (value: unknown) => (result: unknown) => ({ ...(result as object), value })
const absent = lying('getSignatureStatuses', withValue([null]))
const stale = lying('isBlockhashValid', withValue(false))
/** A node that is sure that nothing of it is there. */
const denies = both(absent, stale)
const pruned = lying('getFirstAvailableBlock', () => 10 ** 9)
const foreign = lying('getGenesisHash', () => 'elsewhere')
const statusOf = (status: object) =>
  lying('getSignatureStatuses', withValue([{ slot: 5, confirmations: null, err: null, ...status }]))
const final = { confirmationStatus: 'finalized' }
const failure = { err: { InstructionError: [3, { Custom: 1 }] }, ...final }

describe('expired', () => {
  it('T148: is told only once the finalized chain has passed its last height', async () => {
    const signed = await sign()
    expect(await fixture.outgoingWallet.readOutcome(signed)).toEqual(open('may still land'))
    pass(150)
    expect(await fixture.outgoingWallet.readOutcome(signed)).toEqual(open('may still land'))
    // The last block that takes it has passed, and is not final.
    pass(10)
    expect((await fixture.outgoingWallet.send(signed)).kind).toBe('rejected')
    expect(await fixture.outgoingWallet.readOutcome(signed)).toEqual(open('may still land'))
    pass(40)
    expect(await fixture.outgoingWallet.readOutcome(signed)).toEqual({ kind: 'expired' })
    expect(await fixture.held(owner, fixture.native)).toBe(0n)
  })

  it('T148: needs two nodes, where there are two', async () => {
    const signed = await sign()
    pass(200)
    expect(await by([honest, honest], signed)).toEqual({ kind: 'expired' })
    expect(await by([honest, honest, dead], signed)).toEqual({ kind: 'expired' })
    expect((await by([honest, dead], signed)).kind).toBe('open')
    expect(await by([honest, pruned], signed)).toEqual(open('history'))
    expect(await by([honest, foreign], signed)).toEqual(open('chain'))
  })

  it('T148: is not told by a node that does not remember so far back, or does not say how far', async () => {
    const signed = await sign()
    pass(200)
    expect(await by([pruned], signed)).toEqual(open('history'))
    // A payment may have landed before its block was seen here, though not by long.
    expect(await by([lying('getFirstAvailableBlock', () => signed.slot - 299)], signed)).toEqual(open('history'))
    expect(await by([lying('getFirstAvailableBlock', () => signed.slot - 300)], signed)).toEqual({ kind: 'expired' })
    const silent: NodeScript = (question, forward) =>
      question.method === 'getFirstAvailableBlock' ? Promise.reject(new NodeError(-32601)) : forward()
    expect(await by([silent], signed)).toEqual(open('history'))
  })

  it('T201: is not told by a node that forgot it, behind the same address as a node with all blocks', async () => {
    // The block of another transaction is just before those in which it may have landed.
    await fixture.land(await sign())
    pass(301)
    const signed = await sign()
    await fixture.land(signed)
    const landedAt = fixture.localnet.slot()
    pass(400)
    /** Knows the statuses of later transactions only. All other questions go to a node with the whole history. */
    const forgetful = lying('getSignatureStatuses', (result) => {
      const { value, ...rest } = result as { readonly value: readonly ({ readonly slot: number } | null)[] }
      return { ...rest, value: value.map((status) => (status && status.slot <= landedAt ? null : status)) }
    })
    expect(await by([forgetful], signed)).toEqual(open('history'))
    expect(
      await by(
        [
          both(
            forgetful,
            lying('getBlocks', () => []),
          ),
        ],
        signed,
      ),
    ).toEqual(open('history'))
    const large: NodeScript = (question, forward) =>
      question.method === 'getBlock' ? Promise.reject(new Error('too large')) : forward()
    expect(await by([both(forgetful, large)], signed)).toEqual(open('history'))
    expect((await by([honest], signed)).kind).toBe('landed')
  })

  it('T201: is told by an answer that has an earlier transaction, and not by a node that lags', async () => {
    await fixture.land(await sign())
    pass(301)
    const signed = await sign()
    pass(200)
    const rpc = fixture.rpcOf([lying('getFirstAvailableBlock', () => 10 ** 9)])
    const outgoingWallet = fixture.courierOf([honest], { rpc })
    expect(await outgoingWallet.readOutcome(signed)).toEqual({ kind: 'expired' })
    expect(rpc.calls().get('getFirstAvailableBlock')).toBe(undefined)
    // Blocks are long, so the next payments use the same one.
    const blocks = rpc.calls().get('getBlock')
    expect(await outgoingWallet.readOutcome(signed)).toEqual({ kind: 'expired' })
    expect(rpc.calls().get('getBlock')).toBe(blocks)
    // The answer with the earlier transaction comes from a node that is behind the others, or finds the payment.
    const last = (change: (value: readonly unknown[]) => object) =>
      lying('getSignatureStatuses', (result) => {
        const { value } = result as { readonly value: readonly unknown[] }
        return value.length === 1 ? result : { ...(result as object), ...change(value) }
      })
    expect(await by([last(() => ({ context: { slot: signed.slot + 150 } }))], signed)).toEqual(open('lagging'))
    const found = { slot: 5, confirmations: null, err: null, ...final }
    expect((await by([last(([, ...others]) => ({ value: [found, ...others] }))], signed)).kind).toBe('landed')
    expect(await by([last(([, ...others]) => ({ value: [5, ...others] }))], signed)).toEqual(open('cannot be read'))
  })

  it('T148: is not reported by a node that is behind, even after responses of other nodes', async () => {
    const signed = await sign()
    pass(200)
    const early = { context: { slot: signed.slot - 1 } }
    const behind = (method: string) => lying(method, (result) => ({ ...(result as object), ...early }))
    expect(await by([behind('getSignatureStatuses')], signed)).toEqual(open('may still land'))
    expect(await by([behind('isBlockhashValid')], signed)).toEqual(open('lags'))
    expect(await by([lying('getSignatureStatuses', () => ({ value: [null] }))], signed)).toEqual(open('may still land'))
    // Its status is told at the slot at which its block had expired: a block before that may not be there yet.
    const finalized = await fixture.rpc<number>('getSlot', [{ commitment: 'finalized' }])
    let told = 0
    const laterBy = (slots: number) =>
      lying('getSignatureStatuses', (result) => {
        told += 1
        return told % 2 === 1 ? result : { ...(result as object), context: { slot: finalized + slots } }
      })
    expect(await by([laterBy(31)], signed)).toEqual(open('lagging'))
    expect(await by([laterBy(32)], signed)).toEqual({ kind: 'expired' })
  })

  it('T148: is not told while a node still takes its block', async () => {
    const signed = await sign()
    pass(200)
    expect(await by([lying('isBlockhashValid', withValue(true))], signed)).toEqual(open('may still land'))
    expect(await by([lying('isBlockhashValid', () => null)], signed)).toEqual(open('does not report'))
    expect(await by([lying('isBlockhashValid', () => ({ value: false }))], signed)).toEqual(open('does not report'))
  })

  it('T172: is told by nodes of which one is always behind, as soon as that one has seen enough', async () => {
    const signed = await sign()
    pass(200)
    fixture.localnet.faults.add({ methods: ['getSignatureStatuses'], lagSlots: 40 })
    try {
      const outgoingWallet = fixture.courierOf([honest])
      expect(await outgoingWallet.readOutcome(signed)).toEqual(open('lagging'))
      pass(39)
      expect(await outgoingWallet.readOutcome(signed)).toEqual(open('lagging'))
      pass(1)
      expect(await outgoingWallet.readOutcome(signed)).toEqual({ kind: 'expired' })
    } finally {
      fixture.localnet.faults.clear()
    }
  })

  it('T148: is not told because of a last height that was a lie', async () => {
    const signed = { ...(await sign()), lastValidBlockHeight: 1 }
    pass(40)
    expect(await fixture.outgoingWallet.readOutcome(signed)).toEqual(open('may still land'))
    await fixture.land(signed)
    pass(40)
    expect((await fixture.outgoingWallet.readOutcome(signed)).kind).toBe('landed')
  })

  it('T73, T148: is not told by a node of another chain, nor by one that comes from there or goes there meanwhile', async () => {
    const signed = await sign()
    await fixture.land(signed)
    pass(200)
    expect(await by([both(denies, foreign)], signed)).toEqual(open('chain'))
    for (const right of [1, 2]) {
      let asked = 0
      // Of the right chain when it is asked for the first or for the second time only.
      const wandering: NodeScript = (question, forward) => {
        if (question.method !== 'getGenesisHash') return denies(question, forward)
        asked += 1
        return asked === right ? forward() : Promise.resolve('elsewhere')
      }
      expect(await by([wandering], signed)).toEqual(open('chain'))
    }
    let left = 2
    const returning: NodeScript = (question, forward) => (left-- > 0 ? denies(question, forward) : forward())
    expect((await by([returning], signed)).kind).toBe('landed')
  })

  it('T149: is never reported for a transaction that has landed or can land, if one of two nodes lies', async () => {
    const signed = await sign()
    const lies: readonly NodeScript[] = [denies, both(denies, pruned), both(denies, foreign), dead, absent, stale]
    const tell = async () => {
      const outcomes = []
      for (const lie of lies) outcomes.push(await by([lie, honest], signed), await by([honest, lie], signed))
      return new Set(outcomes.map(({ kind }) => kind))
    }
    expect(await tell()).toEqual(new Set(['open']))
    await fixture.land(signed)
    expect(await tell()).toEqual(new Set(['open']))
    pass(40)
    expect(await tell()).toEqual(new Set(['landed']))
    pass(200)
    expect(await tell()).toEqual(new Set(['landed']))
    expect(await fixture.held(owner, fixture.native)).toBe(7n)
  })

  it('T148: is never reported too early, for any response of one of two nodes and any time of landing', async () => {
    const lies = [absent, stale, pruned, foreign, statusOf(failure), lying('getSlot', () => 10 ** 9)]
    const story = fc.record({
      told: fc.subarray(lies, { minLength: 1 }),
      isFirst: fc.boolean(),
      landsAfter: fc.option(fc.integer({ min: 1, max: 140 })),
      looks: fc.array(fc.integer({ min: 1, max: 90 }), { minLength: 2, maxLength: 4 }),
    })
    await fc.assert(
      fc.asyncProperty(story, async ({ told, isFirst, landsAfter, looks }) => {
        const liar = both(...told)
        const outgoingWallet = fixture.courierOf(isFirst ? [liar, honest] : [honest, liar])
        const before = await fixture.held(owner, fixture.native)
        const signed = await sign()
        if (landsAfter !== null) {
          pass(landsAfter)
          await fixture.land(signed)
        }
        for (const slots of looks) {
          const outcome = await outgoingWallet.readOutcome(signed)
          const height = await fixture.rpc<number>('getBlockHeight', [{ commitment: 'finalized' }])
          if (outcome.kind === 'landed') expect(landsAfter).not.toBeNull()
          if (outcome.kind === 'expired') {
            expect(landsAfter).toBeNull()
            expect(height).toBeGreaterThan(signed.lastValidBlockHeight)
          }
          expect(outcome.kind).not.toBe('failed')
          pass(slots)
        }
        expect((await fixture.held(owner, fixture.native)) - before).toBe(landsAfter === null ? 0n : 7n)
      }),
      { numRuns: size(20, 60) },
    )
  })

  it('T149: is not reported for a transaction that a node accepted without a response', async () => {
    const signed = await sign()
    const mute: NodeScript = async (question, forward) => {
      await forward()
      if (question.method === 'sendTransaction') throw new Error('timed out')
      return forward()
    }
    const outgoingWallet = fixture.courierOf([mute])
    expect(await outgoingWallet.send(signed)).toMatchObject({ kind: 'unknown' })
    pass(1)
    expect(await outgoingWallet.readOutcome(signed)).toEqual(open('final', true))
    pass(200)
    expect((await outgoingWallet.readOutcome(signed)).kind).toBe('landed')
  })

  it('T149: is not reported for a transaction that lands late', async () => {
    const signed = await sign()
    const remove = fixture.localnet.faults.add({ methods: ['sendTransaction'], delaySlots: 100 })
    await fixture.outgoingWallet.send(signed)
    remove()
    pass(90)
    expect(await fixture.outgoingWallet.readOutcome(signed)).toEqual(open('may still land'))
    pass(20)
    expect(await fixture.outgoingWallet.readOutcome(signed)).toEqual(open('final', true))
    pass(40)
    expect((await fixture.outgoingWallet.readOutcome(signed)).kind).toBe('landed')
  })
})

describe('landed', () => {
  it('T152: is reported only for final transactions, and one node is enough', async () => {
    const signed = await sign()
    await fixture.land(signed)
    expect(await fixture.outgoingWallet.readOutcome(signed)).toEqual(open('final', true))
    expect(await by([statusOf({ confirmationStatus: 'processed' })], signed)).toEqual(open('final', true))
    // Whoever does not have it yet gets it again.
    const without = lying('getSignatureStatuses', withValue([null]))
    expect(await by([honest, without], signed)).toEqual(open('final'))
    // A fork takes it back, and it comes again.
    fixture.localnet.rollback(2)
    expect(await fixture.outgoingWallet.readOutcome(signed)).toEqual(open('may still land'))
    await fixture.land(signed)
    pass(40)
    expect((await by([dead, honest], signed)).kind).toBe('landed')
    expect(await fixture.held(owner, fixture.native)).toBe(7n)
  })

  it('T73: is not told by a node of another chain', async () => {
    expect(await by([both(statusOf(final), foreign)], await sign())).toEqual(open('chain'))
  })

  it('is found in the history long after', async () => {
    const signed = await sign()
    await fixture.land(signed)
    pass(2_000)
    const rpc = fixture.rpcOf([honest])
    expect((await fixture.courierOf([honest], { rpc }).readOutcome(signed)).kind).toBe('landed')
  })

  it('is waited for with one small question to a node', async () => {
    const signed = await sign()
    const rpc = fixture.rpcOf([honest])
    await fixture.courierOf([honest], { rpc }).readOutcome(signed)
    expect(Object.fromEntries(rpc.calls())).toEqual({ getSignatureStatuses: 1 })
    await fixture.land(signed)
    const later = fixture.rpcOf([honest])
    await fixture.courierOf([honest], { rpc: later }).readOutcome(signed)
    expect(Object.fromEntries(later.calls())).toEqual({ getSignatureStatuses: 1 })
  })
})

describe('failed', () => {
  /** Signed while there was money, sent when it was gone. */
  async function failing(): Promise<SignedBytes> {
    const all = await fixture.held(fixture.sender.address, fixture.native)
    const signed = await sign(all)
    await fixture.land(await sign(1n))
    await fixture.rpc('sendTransaction', [
      Buffer.from(signed.wire).toString('base64'),
      { encoding: 'base64', skipPreflight: true },
    ])
    pass(1)
    return signed
  }

  it('on chain is told once it is final, with the reason', async () => {
    const signed = await failing()
    expect(await fixture.outgoingWallet.readOutcome(signed)).toEqual(open('final', true))
    pass(40)
    expect(await fixture.outgoingWallet.readOutcome(signed)).toMatchObject({
      kind: 'failed',
      why: expect.stringContaining('Custom'),
    })
    expect(await by([honest, honest], signed)).toMatchObject({ kind: 'failed' })
    expect(await by([honest, dead], signed)).toEqual(open('only one node'))
    const effect = await fixture.outgoingWallet.read(signed.signature)
    expect(effect).toMatchObject({ failed: true, transfers: [] })
  })

  it('T148: is not believed of one node, where there are two', async () => {
    const signed = await sign()
    expect(await by([statusOf(failure), honest], signed)).toEqual(open('only one node'))
    expect(await by([statusOf(failure), statusOf(failure)], signed)).toMatchObject({ kind: 'failed', slot: 5 })
    await fixture.land(signed)
    expect(await by([statusOf(failure), honest], signed)).toEqual(open('final'))
    pass(40)
    expect(await by([statusOf(failure), honest], signed)).toEqual(open('another that it failed'))
    expect(await by([both(statusOf(failure), foreign)], signed)).toEqual(open('chain'))
  })
})

describe('read', () => {
  it('reports the result of two nodes, and none if they differ', async () => {
    const signed = await sign()
    await fixture.land(signed)
    pass(40)
    const read = (scripts: readonly NodeScript[]) => fixture.courierOf(scripts).read(signed.signature)
    expect(await read([honest, honest])).toMatchObject({ memos: [`paystile:${serial}`], failed: false })
    const blind = lying('getTransaction', () => null)
    expect(await read([honest, blind])).toBeUndefined()
    expect(await read([blind, blind])).toBeUndefined()
    expect(await read([dead])).toBeUndefined()
    expect(await read([foreign])).toBeUndefined()
    const dearer = lying('getTransaction', (result) => {
      const { meta, ...rest } = result as { readonly meta: object }
      return { ...rest, meta: { ...meta, fee: 1 } }
    })
    expect(await read([honest, dearer])).toBeUndefined()
  })
})
