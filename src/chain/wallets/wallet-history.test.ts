import { describe, expect, it } from 'vitest'
import { callOneByOne, type Node } from '../rpc/rpc.ts'
import { createWalletHistory } from './wallet-history.ts'

interface World {
  /** Newest first. */
  readonly rows?: readonly { readonly signature: string; readonly slot: number; readonly memo: string | null }[]
  readonly finalized?: number
  readonly first?: number
  readonly genesis?: string
  readonly blockhash?: string
  readonly isValid?: boolean
  /** Its reports on transactions exceed the largest answer. */
  readonly isLarge?: boolean
}

function nodeOf(world: World): Node {
  const { rows = [], finalized = 100, first = 0, genesis = 'chain', blockhash = 'h', isValid, isLarge } = world
  const results: Readonly<Record<string, unknown>> = {
    getGenesisHash: genesis,
    getSlot: finalized,
    getFirstAvailableBlock: first,
    getSignaturesForAddress: rows.map((row) => ({ err: null, confirmationStatus: 'finalized', ...row })),
    getTransaction: null,
    getLatestBlockhash: { context: { slot: finalized }, value: { blockhash, lastValidBlockHeight: 9 } },
    isBlockhashValid: { context: { slot: finalized }, value: isValid },
  }
  const call: Node['call'] = async (method, params) => {
    const { minContextSlot = 0 } = (params[1] ?? {}) as { readonly minContextSlot?: number }
    if (method === 'getTransaction' && isLarge) return { kind: 'unavailable', why: 'too large', isTooLarge: true }
    if (minContextSlot > finalized) return { kind: 'refused', code: -32016, message: '', data: undefined }
    return { kind: 'answered', result: results[method] }
  }
  return { name: 'node', call, callWithGenesis: callOneByOne(call) }
}

const open = (...worlds: readonly World[]) =>
  createWalletHistory('wallet', {
    rpc: { nodes: worlds.map(nodeOf) },
    genesis: 'chain',
    verifier: () => true,
    clock: { now: () => 0, monotonic: () => 0 },
    log: { info: () => {}, warn: () => {}, error: () => {} },
  })
const [old, one, two] = [
  { signature: 'old', slot: 40, memo: '[4] memo' },
  { signature: 'one', slot: 60, memo: '[4] memo' },
  { signature: 'two', slot: 70, memo: '[4] memo' },
]
const namesOf = async (listing: ReturnType<ReturnType<typeof open>['list']>) =>
  (await listing)?.transactions.map(({ signature }) => signature)

describe('the history of a wallet', () => {
  it('lists the transactions after a slot that have a memo and are final', async () => {
    const plain = { signature: 'plain', slot: 65, memo: null }
    const early = { signature: 'early', slot: 101, memo: '[4] memo' }
    const history = open({ rows: [early, two, plain, one, old] })
    expect(await history.list(40)).toMatchObject({ slot: 100 })
    expect(await namesOf(history.list(40))).toEqual(['one', 'two'])
  })

  it('joins the lists of two nodes, so that one node cannot hide a transaction', async () => {
    const history = open({ rows: [two] }, { rows: [one] })
    expect((await namesOf(history.list(40)))?.toSorted()).toEqual(['one', 'two'])
  })

  it.each<[string, World[]]>([
    ['one of two nodes is on another chain', [{ rows: [one] }, { genesis: 'other' }]],
    ['one of two nodes has forgotten the blocks since then', [{ rows: [one] }, { first: 60 }]],
    ['the nodes are behind', [{ finalized: 30 }, { finalized: 30 }]],
    ['T197: one of two nodes reports no memos', [{ rows: [one] }, { rows: [{ ...one, memo: null }] }]],
  ])('lists nothing while %s', async (_name, worlds) => {
    expect(await open(...worlds).list(40)).toBeUndefined()
  })

  it('needs no old blocks for a ledger that has never sent anything', async () => {
    expect(await namesOf(open({ rows: [one], first: 60 }).list(0))).toEqual(['one'])
  })

  it('does not tell who sent a transaction that a node does not have', async () => {
    expect(await open({}).hasSent('signature')).toBeUndefined()
  })

  it('T199: did not send a transaction whose report exceeds the largest answer', async () => {
    expect(await open({ isLarge: true }, { isLarge: true }).hasSent('signature')).toBe(false)
    expect(await open({ isLarge: true }, {}).hasSent('signature')).toBeUndefined()
  })

  it('reads the newest blockhash of all nodes, and the slot at which it has expired', async () => {
    const worlds = [{ finalized: 90 }, { finalized: 100, blockhash: 'newest', isValid: false }]
    const history = open(...worlds)
    expect(await history.readBlockhash()).toMatchObject({ blockhash: 'newest', slot: 100 })
    expect(await history.readExpiry({ blockhash: 'newest', slot: 100 })).toBe(100)
    expect(await open({ isValid: true }).readExpiry({ blockhash: 'h', slot: 100 })).toBeUndefined()
  })
})
