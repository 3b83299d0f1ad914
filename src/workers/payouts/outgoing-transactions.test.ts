import { describe, expect, it } from 'vitest'
import { createMeter } from '../../core/encoding/metrics.ts'
import type { Effect } from '../../core/payment/verify.ts'
import type { Outcome, SignedBytes } from '../../core/payouts/outgoing-wallet.ts'
import type { KeptBytes, OutgoingTransaction } from '../../core/payouts/ports/outgoing.ts'
import {
  advance,
  createTransactionId,
  formatMemo,
  type OutgoingTransactionParts,
  type OutgoingTransactionPlan,
} from './outgoing-transactions.ts'

const effectOf = (failed: boolean): Effect => ({
  ...{ signature: 's1', slot: 7, blockTime: 0, failed, feePayer: '', fee: 0n },
  ...{ memos: [], transfers: [], holdings: [] },
})

const planned: OutgoingTransaction = {
  id: 'd1',
  kind: 'payout',
  lane: '',
  state: 'planned',
  version: 1,
  at: 0,
  changedAt: 0,
  attempts: 0,
  failures: 0,
  signed: undefined,
  slot: 0,
  why: '',
  about: '',
}
const quiet = { info: () => {}, warn: () => {}, error: () => {} }

/** One dispatch with the rule of versions, and a chain on which blocks are made by hand. */
function stage(options: { readonly isLost?: () => boolean } = {}) {
  let row = planned
  let height = 0
  const stored = new Set<string>()
  const landed = new Map<string, number>()
  const dead = new Map<string, number>()
  const sent: string[] = []
  let made = 0
  const change = (version: number, next: (row: OutgoingTransaction) => Partial<OutgoingTransaction>) => {
    if (version !== row.version) return undefined
    row = { ...row, version: row.version + 1, ...next(row) }
    return row
  }
  const dispatches: OutgoingTransactionParts['dispatches'] = {
    sign: async (_id, version, signed: KeptBytes, about) =>
      change(version, ({ attempts, state, about: before }) => {
        expect(state).toBe('planned')
        stored.add(signed.signature)
        return { state: 'signed', signed, attempts: attempts + 1, about: about ?? before }
      }),
    unsign: async (_id, version, why, hasFailed) =>
      change(version, ({ signed, failures }) => {
        const erased = signed && { ...signed, sealed: '' }
        return { state: 'planned', why, signed: erased, failures: failures + (hasFailed ? 1 : 0) }
      }),
    land: async (_id, version, slot, about) =>
      change(version, ({ about: before }) => ({ state: 'landed', slot, about: about ?? before })),
    drop: async (_id, version, why) => change(version, () => ({ state: 'dropped', why })),
  }
  const heightOf = new Map<string, number>()
  const outcomeOf = async ({ signature }: SignedBytes): Promise<Outcome> => {
    const slot = landed.get(signature)
    if (slot !== undefined) return { kind: 'landed', slot }
    if (dead.has(signature)) return { kind: 'failed', slot: dead.get(signature) ?? 0, why: 'no money' }
    return height > (heightOf.get(signature) ?? 0) ? { kind: 'expired' } : { kind: 'open', why: 'not there yet' }
  }
  const parts: OutgoingTransactionParts = {
    dispatches,
    outgoingWallet: {
      send: async ({ signature }) => {
        expect(stored).toContain(signature)
        sent.push(signature)
        return options.isLost?.() ? { kind: 'unknown', why: 'lost' } : { kind: 'sent' }
      },
      readOutcome: outcomeOf,
      read: async () => effectOf(false),
    },
    sealer: {
      seal: (bytes, about) => `${about}|${bytes.join()}`,
      open: (text, about) => (text.startsWith(`${about}|`) ? new Uint8Array([1]) : undefined),
    },
    log: quiet,
    meter: createMeter(),
    clock: { now: () => 0, monotonic: () => 0 },
  }
  const plan: OutgoingTransactionPlan = {
    mostAttempts: 3,
    sign: async () => {
      made += 1
      const signature = `s${made}`
      heightOf.set(signature, height + 2)
      return {
        kind: 'signed',
        signed: { wire: new Uint8Array([1]), signature, lastValidBlockHeight: height + 2, slot: 0 },
      }
    },
  }
  return {
    parts,
    plan,
    sent,
    stored,
    landed,
    row: () => row,
    height: () => height,
    pass: (blocks: number) => {
      height += blocks
    },
    /** Puts into a block what was sent, where it still may. */
    include: (signature: string) => {
      if (height <= (heightOf.get(signature) ?? 0)) landed.set(signature, height)
    },
    fail: (signature: string) => dead.set(signature, height),
    step: (dispatch = row) => advance(dispatch, plan, parts),
  }
}

describe('a dispatch', () => {
  it('is signed, kept, sent and, once its transaction is final, landed', async () => {
    const scene = stage()
    expect(await scene.step()).toMatchObject({ kind: 'waiting', dispatch: { state: 'signed', attempts: 1 } })
    scene.include('s1')
    expect(await scene.step()).toMatchObject({ kind: 'landed', dispatch: { state: 'landed', slot: 0 } })
    expect(await scene.step()).toEqual({ kind: 'passed' })
    expect(scene.sent).toEqual(['s1'])
  })

  it('T149: is sent again with the same bytes while its fate is open, whatever the node said', async () => {
    const scene = stage({ isLost: () => true })
    for (let turn = 0; turn < 3; turn += 1) expect(await scene.step()).toMatchObject({ kind: 'waiting' })
    expect(scene.sent).toEqual(['s1', 's1', 's1'])
  })

  it('is not sent again while every node has it in a block', async () => {
    const scene = stage()
    await scene.step()
    const outcomeOf = async () => ({ kind: 'open', why: 'not final', isThere: true }) as const
    const parts = { ...scene.parts, outgoingWallet: { ...scene.parts.outgoingWallet, readOutcome: outcomeOf } }
    expect(await advance(scene.row(), scene.plan, parts)).toMatchObject({ kind: 'waiting', why: 'not final' })
    expect(scene.sent).toEqual(['s1'])
  })

  it.each(['expired', 'failed'] as const)('T148: is signed anew only once it %s', async (how) => {
    const scene = stage()
    await scene.step()
    if (how === 'expired') scene.pass(3)
    else scene.fail('s1')
    expect(await scene.step()).toMatchObject({ kind: 'unsigned', dispatch: { state: 'planned' } })
    expect(await scene.step()).toMatchObject({ kind: 'waiting', dispatch: { state: 'signed', attempts: 2 } })
    expect(scene.sent).toEqual(['s1', 's2'])
  })

  it('is given up after so many attempts, with the last reason', async () => {
    const scene = stage()
    for (let turn = 0; turn < 6; turn += 1) {
      await scene.step()
      scene.pass(3)
    }
    expect(await scene.step()).toMatchObject({
      kind: 'dropped',
      why: 'it was signed 3 times, and then: it did not land in time',
    })
    expect(scene.row().state).toBe('dropped')
  })

  it('is given up after so many failures on chain, and not for what missed its time', async () => {
    const scene = stage()
    const plan = { ...scene.plan, mostAttempts: 9, mostFailures: 2 }
    const step = () => advance(scene.row(), plan, scene.parts)
    for (const how of ['failed', 'expired', 'expired', 'failed']) {
      expect(await step()).toMatchObject({ kind: 'waiting' })
      if (how === 'failed') scene.fail(scene.sent.at(-1) ?? '')
      else scene.pass(3)
      expect(await step()).toMatchObject({ kind: 'unsigned' })
    }
    const why = 'it failed 2 times, and then: it failed on chain: no money'
    expect(await step()).toMatchObject({ kind: 'dropped', why })
    expect(scene.sent).toHaveLength(4)
  })

  it('is given up when it cannot be built, and waits when that cannot be told', async () => {
    const scene = stage()
    const sign = async () => ({ kind: 'unavailable', why: 'no node answers' }) as const
    expect(await advance(scene.row(), { ...scene.plan, sign }, scene.parts)).toMatchObject({ kind: 'waiting' })
    expect(scene.row().version).toBe(1)
    const refuse = async () => ({ kind: 'impossible', why: 'no money' }) as const
    const step = await advance(scene.row(), { ...scene.plan, sign: refuse }, scene.parts)
    expect(step).toMatchObject({ kind: 'dropped', why: 'no money' })
  })

  it('is landed only when what came of it could be read, and with that', async () => {
    const scene = stage()
    await scene.step()
    scene.include('s1')
    for (const [effect, why] of [
      [undefined, 'not all nodes know'],
      ['missing', 'not all nodes know'],
      [effectOf(true), 'do not agree'],
    ] as const) {
      const blind = { ...scene.parts, outgoingWallet: { ...scene.parts.outgoingWallet, read: async () => effect } }
      const step = await advance(scene.row(), scene.plan, blind)
      expect(step).toMatchObject({ kind: 'waiting', why: expect.stringContaining(why) })
    }
    const plan: OutgoingTransactionPlan = { ...scene.plan, result: (_dispatch, { slot }) => `{"slot":${slot}}` }
    expect(await advance(scene.row(), plan, scene.parts)).toMatchObject({ dispatch: { about: '{"slot":7}' } })
  })

  it('is told of where it has been under way for longer than it can be', async () => {
    const scene = stage()
    await scene.step()
    const lines: unknown[] = []
    const at = (ms: number) => ({
      ...scene.parts,
      clock: { now: () => scene.row().changedAt + ms, monotonic: () => 0 },
      log: { ...quiet, warn: (event: string, facts?: object) => lines.push([event, facts]) },
    })
    await advance(scene.row(), scene.plan, at(600_000))
    expect(lines).toEqual([])
    await advance(scene.row(), scene.plan, at(600_001))
    const next = expect.stringContaining('rpc')
    expect(lines).toEqual([['dispatch waits', { id: 'd1', kind: 'payout', tx: 's1', why: 'not there yet', next }]])
  })

  it('is left alone when its bytes were sealed with another secret, or for another dispatch', async () => {
    const scene = stage()
    await scene.step()
    scene.pass(3)
    const foreign = { ...scene.parts, sealer: { ...scene.parts.sealer, open: () => undefined } }
    expect(await advance(scene.row(), scene.plan, foreign)).toMatchObject({ kind: 'waiting' })
    const { signed } = scene.row()
    const swapped = { ...scene.row(), signed: signed && { ...signed, sealed: 'dispatch d2 s1|1' } }
    expect(await advance(swapped, scene.plan, scene.parts)).toMatchObject({ kind: 'waiting' })
    expect(scene.row().state).toBe('signed')
  })

  it('has a name of its own, which fits a memo', () => {
    const ids = new Set(Array.from({ length: 1_000 }, createTransactionId))
    expect(ids.size).toBe(1_000)
    for (const id of ids) expect(formatMemo(id)).toMatch(/^paystile:[A-Za-z0-9_-]{16}$/)
  })
})

describe('several workers', () => {
  it('T150: sign the same dispatch once: the bytes that were not kept are never sent', async () => {
    const scene = stage()
    const seen = scene.row()
    const steps = await Promise.all([scene.step(seen), scene.step(seen), scene.step(seen)])
    expect(steps.map(({ kind }) => kind).toSorted()).toEqual(['passed', 'passed', 'waiting'])
    expect(new Set(scene.sent).size).toBe(1)
  })

  it('T147: that die at any line and see the past never land it twice', async () => {
    for (let seed = 1; seed <= 2_000; seed += 1) {
      let state = seed
      const below = (most: number) => {
        state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
        return (state >>> 8) % most
      }
      const scene = stage({ isLost: () => below(2) === 0 })
      const memories: OutgoingTransaction[] = [scene.row(), scene.row()]
      /** A process that dies while it waits for a part of the world; what that part did stands. */
      const mortal = <Args extends readonly unknown[], Result>(work: (...args: Args) => Promise<Result>) => {
        return async (...args: Args): Promise<Result> => {
          if (below(8) === 0) throw new Error('killed before')
          const result = await work(...args)
          if (below(8) === 0) throw new Error('killed after')
          return result
        }
      }
      const { dispatches, outgoingWallet } = scene.parts
      const parts: OutgoingTransactionParts = {
        ...scene.parts,
        dispatches: {
          sign: mortal(dispatches.sign),
          unsign: mortal(dispatches.unsign),
          land: mortal(dispatches.land),
          drop: mortal(dispatches.drop),
        },
        outgoingWallet: {
          send: mortal(outgoingWallet.send),
          readOutcome: mortal(outgoingWallet.readOutcome),
          read: mortal(outgoingWallet.read),
        },
      }
      for (let turn = 0; turn < 40; turn += 1) {
        const who = below(2)
        if (below(3) > 0) memories[who] = scene.row()
        const before = memories[who] ?? planned
        const work = Promise.allSettled([
          advance(before, scene.plan, parts),
          ...(below(3) === 0 ? [advance(memories[1 - who] ?? planned, scene.plan, parts)] : []),
        ])
        await work
        if (below(3) === 0) scene.pass(1)
        const last = scene.sent.at(below(Math.max(1, scene.sent.length)))
        if (last !== undefined && below(4) === 0) scene.include(last)
      }
      expect(scene.landed.size, `seed ${seed}`).toBeLessThanOrEqual(1)
      if (scene.row().state === 'landed') expect(scene.landed.size, `seed ${seed}`).toBe(1)
      if (scene.row().state === 'dropped') expect(scene.landed.size, `seed ${seed}`).toBe(0)
    }
  })
})
