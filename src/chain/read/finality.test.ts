import { describe, expect, it } from 'vitest'
import type { Fate } from '../../core/ports/chain.ts'
import type { Call } from '../rpc/rpc.ts'
import { readFinality } from './finality.ts'
import type { NodeReader } from './node-reader.ts'

interface Node {
  readonly at?: number
  readonly finalized?: number
  readonly oldest?: number | null
  readonly statuses?: readonly unknown[] | null
  readonly fails?: string
}

const final = { confirmationStatus: 'finalized', err: null, slot: 10 }
const failed = { ...final, err: { InstructionError: [0, 'Custom'] } }
const confirmed = { ...final, confirmationStatus: 'confirmed' }

function witnessOf({ at, finalized = 1_000, oldest = 0, statuses = [final], fails }: Node): NodeReader {
  const ask: Call = async (method) => {
    if (method === fails) return { kind: 'unavailable', why: 'gone' }
    const results: Record<string, unknown> = {
      getSlot: finalized,
      getFirstAvailableBlock: oldest,
      getSignatureStatuses: { context: { slot: at ?? finalized }, value: statuses },
    }
    return { kind: 'answered', result: results[method] }
  }
  const never = () => Promise.reject(new Error('not asked for here'))
  return { failures: () => 0, appeared: never, read: never, ask }
}

const gone: Node = { statuses: [null] }

describe('readFates', () => {
  it.each<[string, readonly Node[], Fate]>([
    ['final', [{}], 'finalized'],
    ['confirmed only', [{ statuses: [confirmed] }], 'open'],
    ['absent for long', [gone], 'reverted'],
    ['absent, and it may still come', [{ ...gone, finalized: 10 + 512 }], 'open'],
    ['absent, and just too old to come', [{ ...gone, finalized: 10 + 513 }], 'reverted'],
    ['absent from a node that forgets', [{ ...gone, oldest: 11 }], 'open'],
    ['absent from a node that does not say how far it remembers', [{ ...gone, oldest: null }], 'open'],
    ['absent from a node that cannot say so', [{ ...gone, fails: 'getFirstAvailableBlock' }], 'open'],
    ['absent from a node that is behind the one that told the slot', [{ ...gone, at: 999 }], 'open'],
    ['landed again and failed', [{ statuses: [failed] }], 'reverted'],
    ['final without a word on success', [{ statuses: [{ confirmationStatus: 'finalized' }] }], 'open'],
    ['a list that is too short', [{ statuses: [] }], 'open'],
    ['no list', [{ statuses: null }], 'open'],
    ['no slot', [{ fails: 'getSlot' }], 'open'],
    ['no answer', [{ fails: 'getSignatureStatuses' }], 'open'],
    ['T62: two of two say that it is gone', [gone, gone], 'reverted'],
    ['T62: one of two says that it is gone, the other does not say', [gone, { fails: 'getSlot' }], 'open'],
    ['T62: one of two says that it is gone, the other that it is there', [gone, {}], 'open'],
    ['T62: one of two says that it is there, the other lags', [{}, { statuses: [confirmed] }], 'open'],
    ['T62: one of three lies', [gone, {}, {}], 'finalized'],
    ['T62: one of three lies, the other way', [{}, gone, gone], 'reverted'],
    ['T62: two against two', [gone, {}, gone, {}], 'open'],
  ])('%s: %#', async (_name, nodes, fate) => {
    expect(await readFinality(nodes.map(witnessOf), [{ signature: 's', slot: 10 }])).toEqual([fate])
  })

  it('asks for no more at once than a node takes, and keeps the order', async () => {
    const sizes: number[] = []
    const landed = Array.from({ length: 600 }, (_, index) => ({ signature: `${index}`, slot: 10 }))
    const ask: Call = async (method, [signatures]) => {
      if (method !== 'getSignatureStatuses') return { kind: 'answered', result: method === 'getSlot' ? 1_000 : 0 }
      const names = signatures as readonly string[]
      sizes.push(names.length)
      return {
        kind: 'answered',
        result: { context: { slot: 1_000 }, value: names.map((name) => (Number(name) % 2 ? final : null)) },
      }
    }
    const fates = await readFinality([{ ...witnessOf({}), ask }], landed)
    expect(sizes).toEqual([256, 256, 88])
    expect(fates).toEqual(landed.map((_, index) => (index % 2 ? 'finalized' : 'reverted')))
  })
})
