import { describe, expect, it } from 'vitest'
import { size } from '../../../tests/harness/length.ts'
import { createMeter } from '../../core/observability/metrics.ts'
import type { Effect } from '../../core/payment/verify.ts'
import { formatMemo } from '../../core/payouts/outgoing-memo.ts'
import type { Outcome, SignedBytes } from '../../core/payouts/outgoing-wallet.ts'
import type { KeptBytes, OutgoingTransaction } from '../../core/payouts/ports/outgoing.ts'
import {
  advance,
  createTransactionId,
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
  lockKey: '',
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

/** One outgoing transaction with the rule of versions, and a chain on which blocks are made by hand. */
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
  const outgoing: OutgoingTransactionParts['outgoing'] = {
    sign: async (_id, version, signed: KeptBytes, about) => {
      const transaction = change(version, ({ attempts, state, about: before }) => {
        expect(state).toBe('planned')
        stored.add(signed.signature)
        return { state: 'signed', signed, attempts: attempts + 1, about: about ?? before }
      })
      return transaction ? { kind: 'signed', transaction } : { kind: 'passed' }
    },
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
    outgoing,
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
      tag: 'test-tag',
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
    step: (transaction = row) => advance(transaction, plan, parts),
  }
}

describe('an outgoing transaction', () => {
  it('is signed, kept, sent and, once its transaction is final, landed', async () => {
    const fixture = stage()
    expect(await fixture.step()).toMatchObject({ kind: 'waiting', transaction: { state: 'signed', attempts: 1 } })
    fixture.include('s1')
    expect(await fixture.step()).toMatchObject({ kind: 'landed', transaction: { state: 'landed', slot: 0 } })
    expect(await fixture.step()).toEqual({ kind: 'passed' })
    expect(fixture.sent).toEqual(['s1'])
  })

  it('T149: is sent again with the same bytes until its outcome is known, for any response of the node', async () => {
    const fixture = stage({ isLost: () => true })
    for (let turn = 0; turn < 3; turn += 1) expect(await fixture.step()).toMatchObject({ kind: 'waiting' })
    expect(fixture.sent).toEqual(['s1', 's1', 's1'])
  })

  it('is not sent again while every node has it in a block', async () => {
    const fixture = stage()
    await fixture.step()
    const outcomeOf = async () => ({ kind: 'open', why: 'not final', isThere: true }) as const
    const parts = { ...fixture.parts, outgoingWallet: { ...fixture.parts.outgoingWallet, readOutcome: outcomeOf } }
    expect(await advance(fixture.row(), fixture.plan, parts)).toMatchObject({ kind: 'waiting', why: 'not final' })
    expect(fixture.sent).toEqual(['s1'])
  })

  it.each(['expired', 'failed'] as const)('T148: is signed anew only once it %s', async (how) => {
    const fixture = stage()
    await fixture.step()
    if (how === 'expired') fixture.pass(3)
    else fixture.fail('s1')
    expect(await fixture.step()).toMatchObject({ kind: 'unsigned', transaction: { state: 'planned' } })
    expect(await fixture.step()).toMatchObject({ kind: 'waiting', transaction: { state: 'signed', attempts: 2 } })
    expect(fixture.sent).toEqual(['s1', 's2'])
  })

  it('is given up after so many attempts, with the last reason', async () => {
    const fixture = stage()
    for (let turn = 0; turn < 6; turn += 1) {
      await fixture.step()
      fixture.pass(3)
    }
    expect(await fixture.step()).toMatchObject({
      kind: 'dropped',
      why: 'the transaction was signed 3 times; last reason: the transaction did not land in time',
    })
    expect(fixture.row().state).toBe('dropped')
  })

  it('is dropped after several failures on chain, and not for expired attempts', async () => {
    const fixture = stage()
    const plan = { ...fixture.plan, mostAttempts: 9, mostFailures: 2 }
    const step = () => advance(fixture.row(), plan, fixture.parts)
    for (const how of ['failed', 'expired', 'expired', 'failed']) {
      expect(await step()).toMatchObject({ kind: 'waiting' })
      if (how === 'failed') fixture.fail(fixture.sent.at(-1) ?? '')
      else fixture.pass(3)
      expect(await step()).toMatchObject({ kind: 'unsigned' })
    }
    const why = 'the transaction failed 2 times; last reason: the transaction failed on chain: no money'
    expect(await step()).toMatchObject({ kind: 'dropped', why })
    expect(fixture.sent).toHaveLength(4)
  })

  it('is given up when it cannot be built, and waits when that cannot be told', async () => {
    const fixture = stage()
    const sign = async () => ({ kind: 'unavailable', why: 'no node answers' }) as const
    expect(await advance(fixture.row(), { ...fixture.plan, sign }, fixture.parts)).toMatchObject({ kind: 'waiting' })
    expect(fixture.row().version).toBe(1)
    const refuse = async () => ({ kind: 'impossible', why: 'no money' }) as const
    const step = await advance(fixture.row(), { ...fixture.plan, sign: refuse }, fixture.parts)
    expect(step).toMatchObject({ kind: 'dropped', why: 'no money' })
  })

  it('lands only when its effect could be read, and stores that effect', async () => {
    const fixture = stage()
    await fixture.step()
    fixture.include('s1')
    for (const [effect, why] of [
      [undefined, 'not all nodes report'],
      [effectOf(true), 'disagree'],
    ] as const) {
      const blind = { ...fixture.parts, outgoingWallet: { ...fixture.parts.outgoingWallet, read: async () => effect } }
      const step = await advance(fixture.row(), fixture.plan, blind)
      expect(step).toMatchObject({ kind: 'waiting', why: expect.stringContaining(why) })
    }
    const plan: OutgoingTransactionPlan = { ...fixture.plan, result: (_dispatch, { slot }) => `{"slot":${slot}}` }
    expect(await advance(fixture.row(), plan, fixture.parts)).toMatchObject({ transaction: { about: '{"slot":7}' } })
  })

  it('is told of where it has been under way for longer than it can be', async () => {
    const fixture = stage()
    await fixture.step()
    const lines: unknown[] = []
    const at = (ms: number) => ({
      ...fixture.parts,
      clock: { now: () => fixture.row().changedAt + ms, monotonic: () => 0 },
      log: { ...quiet, warn: (event: string, facts?: object) => lines.push([event, facts]) },
    })
    await advance(fixture.row(), fixture.plan, at(600_000))
    expect(lines).toEqual([])
    await advance(fixture.row(), fixture.plan, at(600_001))
    const next = expect.stringContaining('rpc')
    expect(lines).toEqual([['outgoing.waiting', { id: 'd1', kind: 'payout', tx: 's1', why: 'not there yet', next }]])
  })

  it('is left alone when its bytes were sealed with another secret, or for another transaction', async () => {
    const fixture = stage()
    await fixture.step()
    fixture.pass(3)
    const foreign = { ...fixture.parts, sealer: { ...fixture.parts.sealer, open: () => undefined } }
    expect(await advance(fixture.row(), fixture.plan, foreign)).toMatchObject({ kind: 'waiting' })
    const { signed } = fixture.row()
    const swapped = { ...fixture.row(), signed: signed && { ...signed, sealed: 'dispatch d2 s1|1' } }
    expect(await advance(swapped, fixture.plan, fixture.parts)).toMatchObject({ kind: 'waiting' })
    expect(fixture.row().state).toBe('signed')
  })

  it('has a name of its own, which fits a memo', () => {
    const ids = new Set(Array.from({ length: 1_000 }, () => createTransactionId({ tag: 'test-tag' }, 'payout')))
    expect(ids.size).toBe(1_000)
    for (const id of ids) expect(formatMemo(id)).toMatch(/^paystile:test-tagp[A-Za-z0-9_-]{14}$/)
  })
})

describe('several workers', () => {
  it('T150: sign the same transaction once: the bytes that were not kept are never sent', async () => {
    const fixture = stage()
    const seen = fixture.row()
    const steps = await Promise.all([fixture.step(seen), fixture.step(seen), fixture.step(seen)])
    expect(steps.map(({ kind }) => kind).toSorted()).toEqual(['passed', 'passed', 'waiting'])
    expect(new Set(fixture.sent).size).toBe(1)
  })

  it('T147: that die at any line and see the past never land it twice', async () => {
    for (let seed = 1; seed <= size(500, 2_000); seed += 1) {
      let state = seed
      const below = (most: number) => {
        state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
        return (state >>> 8) % most
      }
      const fixture = stage({ isLost: () => below(2) === 0 })
      const memories: OutgoingTransaction[] = [fixture.row(), fixture.row()]
      /** A process that dies while it waits for a part of the world; what that part did stands. */
      const mortal = <Args extends readonly unknown[], Result>(work: (...args: Args) => Promise<Result>) => {
        return async (...args: Args): Promise<Result> => {
          if (below(8) === 0) throw new Error('killed before')
          const result = await work(...args)
          if (below(8) === 0) throw new Error('killed after')
          return result
        }
      }
      const { outgoing, outgoingWallet } = fixture.parts
      const parts: OutgoingTransactionParts = {
        ...fixture.parts,
        outgoing: {
          sign: mortal(outgoing.sign),
          unsign: mortal(outgoing.unsign),
          land: mortal(outgoing.land),
          drop: mortal(outgoing.drop),
        },
        outgoingWallet: {
          send: mortal(outgoingWallet.send),
          readOutcome: mortal(outgoingWallet.readOutcome),
          read: mortal(outgoingWallet.read),
        },
      }
      for (let turn = 0; turn < 40; turn += 1) {
        const who = below(2)
        if (below(3) > 0) memories[who] = fixture.row()
        const before = memories[who] ?? planned
        const work = Promise.allSettled([
          advance(before, fixture.plan, parts),
          ...(below(3) === 0 ? [advance(memories[1 - who] ?? planned, fixture.plan, parts)] : []),
        ])
        await work
        if (below(3) === 0) fixture.pass(1)
        const last = fixture.sent.at(below(Math.max(1, fixture.sent.length)))
        if (last !== undefined && below(4) === 0) fixture.include(last)
      }
      expect(fixture.landed.size, `seed ${seed}`).toBeLessThanOrEqual(1)
      if (fixture.row().state === 'landed') expect(fixture.landed.size, `seed ${seed}`).toBe(1)
      if (fixture.row().state === 'dropped') expect(fixture.landed.size, `seed ${seed}`).toBe(0)
    }
  })
})
