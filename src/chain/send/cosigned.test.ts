import { describe, expect, it } from 'vitest'
import { encodeBase58 } from '../../core/encoding/base58.ts'
import { type Call, callOneByOne } from '../rpc/rpc.ts'
import { readCosignedFate } from './cosigned.ts'

const genesis = 'genesis'
const signature = encodeBase58(new Uint8Array(64).fill(7))
const payment = { wallet: 'wallet', signature, blockhash: 'blockhash', slot: 100, memo: undefined }
const failure = { InstructionError: [0, { Custom: 1 }] }

/** A node that lists the payment with these outcomes. Undefined: it does not list it. */
function createNode(outcomes: Readonly<Record<'confirmed' | 'finalized', unknown>>) {
  const call: Call = async (method, params) => {
    if (method === 'getGenesisHash') return { kind: 'answered', result: genesis }
    if (method === 'getTransaction') return { kind: 'answered', result: { transaction: { signatures: [signature] } } }
    if (method !== 'getSignaturesForAddress') return { kind: 'unavailable', why: 'not asked here' }
    const [, { commitment }] = params as readonly [string, { readonly commitment: 'confirmed' | 'finalized' }]
    const err = outcomes[commitment]
    return { kind: 'answered', result: err === undefined ? [] : [{ signature: 'tx', slot: 101, err, memo: null }] }
  }
  return nodeOf(call)
}

function nodeOf(call: Call) {
  return { call, callWithGenesis: callOneByOne(call), name: 'node', failures: () => 0 }
}

describe('readCosignedFate', () => {
  it.each([
    ['landed, if it is confirmed', { confirmed: null, finalized: undefined }, { kind: 'landed', tx: 'tx' }],
    ['failed, if that is final', { confirmed: failure, finalized: failure }, { kind: 'failed', tx: 'tx' }],
    [
      'T196: unknown, if it failed in a block that can be dropped',
      { confirmed: failure, finalized: undefined },
      { kind: 'unknown', why: 'it failed in a block that is not final yet' },
    ],
    ['T196: landed, if it failed on the other fork', { confirmed: failure, finalized: null }, { kind: 'landed' }],
  ])('%s', async (_name, outcomes, expected) => {
    const rpc = { nodes: [createNode(outcomes)] }
    expect(await readCosignedFate({ rpc, genesis }, payment)).toMatchObject(expected)
  })

  /** The blockhash has expired, and the node lists other transactions of the wallet, at these slots. */
  const createLister = (...slots: readonly number[]) => {
    const { call } = createNode({ confirmed: undefined, finalized: undefined })
    const lister: Call = async (method, params) => {
      if (method === 'isBlockhashValid') return { kind: 'answered', result: { context: { slot: 300 }, value: false } }
      if (method === 'getTransaction') return { kind: 'answered', result: { transaction: { signatures: ['other'] } } }
      if (method === 'getFirstAvailableBlock') return { kind: 'answered', result: 0 }
      if (method !== 'getSignaturesForAddress') return call(method, params)
      const [, { minContextSlot = 0 }] = params as readonly [string, { readonly minContextSlot?: number }]
      if (minContextSlot > 300) return { kind: 'refused', code: -32016, message: '', data: undefined }
      const rows = slots.map((slot) => ({ signature: `tx${slot}`, slot, err: null, memo: null }))
      return { kind: 'answered', result: rows }
    }
    return nodeOf(lister)
  }

  it.each([
    ['expired, if the list has an earlier transaction', [200, 131], 'expired'],
    ['T201: unknown, if the list begins after the payment may have landed', [200, 132], 'unknown'],
    ['T201: unknown, if the list is empty', [], 'unknown'],
  ])('%s', async (_name, slots, kind) => {
    const rpc = { nodes: [createLister(...slots)] }
    expect((await readCosignedFate({ rpc, genesis }, payment)).kind).toBe(kind)
  })

  it('T199: passes over a transaction of a stranger whose report exceeds the largest answer', async () => {
    const { call } = createNode({ confirmed: null, finalized: null })
    const large: Call = async (method, params) =>
      method === 'getTransaction' ? { kind: 'unavailable', why: 'too large', isTooLarge: true } : call(method, params)
    const fate = await readCosignedFate({ rpc: { nodes: [nodeOf(large)] }, genesis }, payment)
    expect(fate).not.toMatchObject({ why: 'a transaction of the wallet cannot be read' })
  })
})
