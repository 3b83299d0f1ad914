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
  /** The status of a transaction of an earlier block. Undefined if blocks have no transactions. */
  readonly witness?: unknown
  /** The slot of the answer with the witness. */
  readonly later?: number
  readonly fails?: string
}

const final = { confirmationStatus: 'finalized', err: null, slot: 10 }
const failed = { ...final, err: { InstructionError: [0, 'Custom'] } }
const confirmed = { ...final, confirmationStatus: 'confirmed' }

function witnessOf({ at, later, finalized = 1_000, oldest = 0, statuses = [final], witness, fails }: Node): NodeReader {
  const ask: Call = async (method, [names]) => {
    if (method === fails) return { kind: 'unavailable', why: 'gone' }
    // A witness is asked for beside the payment.
    const hasWitness = Array.isArray(names) && names.includes('witness')
    const value = hasWitness && statuses ? [...statuses, witness] : statuses
    const results: Record<string, unknown> = {
      getSlot: finalized,
      getFirstAvailableBlock: oldest,
      getBlocks: [9],
      getBlock: { signatures: witness === undefined ? [] : ['witness'] },
      getSignatureStatuses: { context: { slot: (hasWitness ? later : undefined) ?? at ?? finalized }, value },
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
    ['T201: absent from an answer with an earlier block', [{ ...gone, witness: { ...final, slot: 9 } }], 'reverted'],
    ['T201: absent beside an earlier block from another node', [{ ...gone, witness: null }], 'open'],
    ['T201: absent beside a block that is not earlier', [{ ...gone, witness: { ...final, slot: 11 } }], 'open'],
    ['T201: absent beside a block that is not final', [{ ...gone, witness: { ...confirmed, slot: 9 } }], 'open'],
    ['T201: absent from a lagging answer', [{ ...gone, witness: { ...final, slot: 9 }, later: 999 }], 'open'],
    ['T201: absent, and no node lists blocks', [{ ...gone, fails: 'getBlocks' }], 'open'],
    ['T201: absent, and no node has the blocks', [{ ...gone, fails: 'getBlock' }], 'open'],
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
      if (method === 'getBlocks') return { kind: 'answered', result: [10] }
      if (method === 'getBlock') return { kind: 'answered', result: { signatures: [] } }
      if (method !== 'getSignatureStatuses') return { kind: 'answered', result: method === 'getSlot' ? 1_000 : 0 }
      const names = signatures as readonly string[]
      sizes.push(names.length)
      return {
        kind: 'answered',
        result: { context: { slot: 1_000 }, value: names.map((name) => (Number(name) % 2 ? final : null)) },
      }
    }
    const fates = await readFinality([{ ...witnessOf({}), ask }], landed)
    expect(sizes).toEqual([256, 128, 256, 128, 88, 44])
    expect(fates).toEqual(landed.map((_, index) => (index % 2 ? 'finalized' : 'reverted')))
  })
})
