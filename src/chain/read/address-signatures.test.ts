import { describe, expect, it } from 'vitest'
import type { Call } from '../rpc/rpc.ts'
import { listPayments } from './address-signatures.ts'
import type { NodeReader } from './node-reader.ts'

interface Row {
  readonly signature: string
  readonly slot: number
  readonly err?: unknown
  readonly confirmationStatus?: string
}

/** A node that keeps to its protocol, as far as it has come. */
function nodeOf(rows: readonly Row[], slot: number, failures = 0): NodeReader & { readonly asked: unknown[] } {
  const asked: unknown[] = []
  const ask: Call = async (_method, [, given]) => {
    const config = given as { minContextSlot?: number; before?: string; until?: string; limit: number }
    asked.push(config)
    if ((config.minContextSlot ?? 0) > slot) return { kind: 'refused', code: -32016, message: '', data: undefined }
    const start = config.before === undefined ? 0 : 1 + rows.findIndex(({ signature }) => signature === config.before)
    const until = rows.findIndex(({ signature }) => signature === config.until)
    const page = rows.slice(start, until < 0 ? undefined : until).slice(0, config.limit)
    return { kind: 'answered', result: page.map((row) => ({ err: null, confirmationStatus: 'finalized', ...row })) }
  }
  const never = () => Promise.reject(new Error('not asked for here'))
  return { failures: () => failures, appeared: never, read: never, ask, asked }
}

const newestFirst = (count: number): Row[] =>
  Array.from({ length: count }, (_, index) => ({ signature: `s${count - index}`, slot: count - index }))
const namesOf = (listed: Awaited<ReturnType<typeof listPayments>>) => listed?.map(({ signature }) => signature)

describe('listPayments', () => {
  it('lists transactions after the mark, the oldest first, without failed ones', async () => {
    const rows = newestFirst(6).map((row) => (row.slot === 5 ? { ...row, err: {} } : row))
    const listed = await listPayments([nodeOf(rows, 9)], 'a', { signature: 's3', slot: 3 }, 0)
    expect(namesOf(listed)).toEqual(['s4', 's6'])
  })

  it('goes by the slot where the mark names no payment, or one that the node does not know', async () => {
    for (const signature of ['', 'forgotten']) {
      const listed = await listPayments([nodeOf(newestFirst(6), 9)], 'a', { signature, slot: 4 }, 0)
      expect(namesOf(listed)).toEqual(['s4', 's5', 's6'])
    }
  })

  it('reads as many pages as there are', async () => {
    const node = nodeOf(newestFirst(2_500), 9_999)
    const listed = await listPayments([node], 'a', { signature: '', slot: 0 }, 0)
    expect(listed).toHaveLength(2_500)
    expect([listed?.[0]?.slot, listed?.at(-1)?.slot]).toEqual([1, 2_500])
    expect(node.asked).toHaveLength(3)
  })

  it('T75: leaves a node that is behind for one that is not', async () => {
    const [behind, ahead] = [nodeOf(newestFirst(3), 3), nodeOf(newestFirst(6), 6, 1)]
    const listed = await listPayments([behind, ahead], 'a', { signature: 's2', slot: 2 }, 6)
    expect(namesOf(listed)).toEqual(['s3', 's4', 's5', 's6'])
    expect(await listPayments([behind], 'a', { signature: 's2', slot: 2 }, 6)).toBeUndefined()
  })

  it('distinguishes final transactions from others', async () => {
    const rows = [{ signature: 's2', slot: 2, confirmationStatus: 'confirmed' }, ...newestFirst(1)]
    const listed = await listPayments([nodeOf(rows, 9)], 'a', { signature: '', slot: 0 }, 0)
    expect(listed?.map(({ isFinal }) => isFinal)).toEqual([true, false])
  })

  it('gives up on a node with an endless list', async () => {
    let slot = 10_000_000
    const endless: NodeReader = {
      ...nodeOf([], 9),
      ask: async () => ({
        kind: 'answered',
        result: Array.from({ length: 1_000 }, () => ({ signature: `s${slot--}`, slot, err: null })),
      }),
    }
    expect(await listPayments([endless], 'a', { signature: '', slot: 0 }, 0)).toBeUndefined()
  })

  it.each([null, 7, 'text', {}])('makes nothing of an answer that is no list (%j)', async (result) => {
    const odd: NodeReader = { ...nodeOf([], 9), ask: async () => ({ kind: 'answered', result }) }
    expect(await listPayments([odd], 'a', { signature: '', slot: 0 }, 0)).toBeUndefined()
  })

  it('passes over lines that are none', async () => {
    const result = [null, 7, {}, { signature: 1, slot: 1 }, { signature: 's', slot: -1 }, { signature: 's1', slot: 1 }]
    const odd: NodeReader = { ...nodeOf([], 9), ask: async () => ({ kind: 'answered', result }) }
    // Without a word on success it is not taken for one.
    expect(await listPayments([odd], 'a', { signature: '', slot: 0 }, 0)).toEqual([])
  })
})
