import { describe, expect, it } from 'vitest'
import type { Call } from '../rpc/rpc.ts'
import { confirm, readFates, submit } from './send.ts'

const genesis = 'genesis'
/** A transaction with one signer and no instructions. */
const wire = Buffer.from([1, ...Array(64).fill(0), 1, 0, 1, 2, ...Array(64).fill(1), ...Array(32).fill(2), 0]).toString(
  'base64',
)
const landed = { slot: 5, err: null, confirmationStatus: 'confirmed' }

/** Answers with one status for each signature, by its name. */
function createNode(statuses: Readonly<Record<string, unknown>>, slot: number, chain = genesis) {
  const asked: string[] = []
  const call: Call = async (method, params) => {
    asked.push(method)
    if (method === 'getGenesisHash') return { kind: 'answered', result: chain }
    if (method !== 'getSignatureStatuses') return { kind: 'unavailable', why: 'not asked here' }
    const [signatures] = params as readonly [readonly string[]]
    const value = signatures.map((name) => statuses[name.replace(/\d+$/, '')] ?? null)
    return { kind: 'answered', result: { context: { slot }, value } }
  }
  return { asked, call }
}

const read = (names: readonly string[], ...nodes: readonly { readonly call: Call }[]) => {
  const [first] = nodes
  if (!first) throw new Error('no node')
  const rpc = { ...first, nodes: nodes.map(({ call }, index) => ({ call, name: `${index}`, failures: () => 0 })) }
  const payments = names.map((signature) => ({ signature, wire, slot: 100 }))
  return readFates({ rpc: rpc as unknown as Parameters<typeof readFates>[0]['rpc'], genesis }, payments)
}

describe('readFates', () => {
  it('asks once for 256 payments, and once for the chain', async () => {
    const node = createNode({ landed }, 200)
    const names = Array.from({ length: 300 }, (_, index) => `landed${index}`)
    const fates = await read(names, node)
    expect(fates).toHaveLength(300)
    expect(new Set(fates.map(({ kind }) => kind))).toEqual(new Set(['landed']))
    expect(node.asked.filter((method) => method === 'getSignatureStatuses')).toHaveLength(2)
  })

  it('keeps the order, and asks no more about payments that cannot have expired yet', async () => {
    const node = createNode({ landed, processed: { ...landed, confirmationStatus: 'processed' } }, 249)
    const kinds = (await read(['absent', 'landed', 'processed'], node)).map(({ kind }) => kind)
    expect(kinds).toEqual(['unknown', 'landed', 'unknown'])
    expect(node.asked.filter((method) => method === 'getSignatureStatuses')).toHaveLength(1)
  })

  it('reads each payment that failed or may have expired by itself, at all nodes', async () => {
    const failed = { slot: 5, err: 'InsufficientFunds', confirmationStatus: 'confirmed' }
    const nodes = [createNode({ failed, landed }, 300), createNode({ failed: landed }, 300)]
    const fates = await read(['failed', 'landed', 'absent'], ...nodes)
    expect(fates.map(({ kind }) => kind)).toEqual(['landed', 'landed', 'unknown'])
  })

  it('believes no node of another chain', async () => {
    const other = createNode({ landed: { ...landed, confirmationStatus: 'finalized' } }, 300, 'other')
    expect((await read(['landed'], other)).map(({ kind }) => kind)).toEqual(['unknown'])
  })
})

describe('confirm', () => {
  /** A node whose answers follow each other, and a listener that gives a notice at once. */
  const follow = async (...answers: readonly unknown[]) => {
    const left = [...answers]
    const node = createNode({}, 200)
    const call: Call = async (method, params) => {
      const answer = await node.call(method, params)
      if (method !== 'getSignatureStatuses') return answer
      return { kind: 'answered', result: { context: { slot: 200 }, value: [left.length > 1 ? left.shift() : left[0]] } }
    }
    const waits: number[] = []
    const time = { now: 0 }
    const rpc = { call, nodes: [{ call, name: 'node', failures: () => 0 }] } as unknown as Parameters<
      typeof confirm
    >[0]['rpc']
    const wait = async (ms: number) => {
      waits.push(ms)
      time.now += ms
    }
    const clock = { now: () => time.now, monotonic: () => time.now }
    const listening = { isActive: () => true, wait }
    const fate = await confirm({ rpc, clock, genesis }, { signature: 'tx', wire, slot: 100 }, 2_000, listening)
    return { fate, waits }
  }
  const failed = { slot: 5, err: 'InsufficientFunds', confirmationStatus: 'processed' }

  it('reads the status after each notice, and believes only the status', async () => {
    expect(await follow(null, { ...landed, confirmationStatus: 'processed' }, landed)).toMatchObject({
      fate: { kind: 'landed' },
      waits: [500, 500],
    })
  })

  it.each([
    ['nothing', null],
    ['a failure that is not confirmed', failed],
  ])('calls an outcome unknown if the socket speaks and the node reports %s', async (_, status) => {
    expect((await follow(status)).fate.kind).toBe('unknown')
  })
})

describe('submit', () => {
  it.each([
    [undefined, { preflightCommitment: 'confirmed' }],
    [{ isSimulated: true }, { skipPreflight: true }],
  ])('with %j asks the node for %j', async (options, expected) => {
    const asked: unknown[] = []
    const call: Call = async (...question) => {
      asked.push(question)
      return { kind: 'answered', result: 'landed' }
    }
    const posting = await submit({ call }, { signature: 'landed', wire, slot: 100 }, options)
    expect(posting).toEqual({ kind: 'sent' })
    expect(asked).toEqual([['sendTransaction', [wire, { encoding: 'base64', ...expected }]]])
  })
})
