import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTransaction } from '../../src/chain/read/decode.ts'
import { createSignedTransactions } from '../../src/chain/read/signed-transactions.ts'
import { callOneByOne } from '../../src/chain/rpc/rpc.ts'
import type { SignedPayment } from '../../src/chain/send/message.ts'
import { createVerifier } from '../../src/host/keys/ed25519.ts'
import {
  createNodesFixture,
  foundIn,
  honest,
  lying,
  NodeError,
  type NodeScript,
  type NodesFixture,
} from './nodes-fixture.ts'

let world: NodesFixture
let paid: SignedPayment
let other: SignedPayment
const dead: NodeScript = () => Promise.reject(new Error('no route'))

beforeAll(async () => {
  world = await createNodesFixture()
  paid = await world.pay()
  other = await world.pay({ requestId: 'rid_2' })
})
afterAll(() => world.close())

interface Told {
  readonly slot: number
  readonly blockTime: number
  readonly transaction: readonly [string, string]
  readonly meta: Readonly<Record<string, unknown>>
}

/** One node that tells something else about the transaction. */
const bent = (change: (told: Told) => unknown) => lying('getTransaction', (result) => change(result as Told))
const read = (script: NodeScript) => world.chainOf([script]).read(paid.signature, 0)
const flip = (wire: string, at: number) => {
  const bytes = Buffer.from(wire, 'base64')
  bytes[at] = (bytes[at] ?? 0) ^ 1
  return bytes.toString('base64')
}

describe('one node', () => {
  it('is believed when all fits', async () => {
    const effect = foundIn(await read(honest))
    expect(effect).toMatchObject({ signature: paid.signature, failed: false, memos: ['rid_1'] })
    expect(effect.transfers).toMatchObject([{ asset: 'SOL', units: 1_000_000n, authority: world.payer.address }])
  })

  it.each<[string, NodeScript]>([
    ['T2: meta is null', bent((told) => ({ ...told, meta: null }))],
    ['err is absent', bent((told) => ({ ...told, meta: { ...told.meta, err: undefined } }))],
    ['a byte of the message was changed', bent((told) => ({ ...told, transaction: [flip(paid.wire, 200), 'base64'] }))],
    ['a byte of the signature was changed', bent((told) => ({ ...told, transaction: [flip(paid.wire, 9), 'base64'] }))],
    ['T71: it is another transaction', bent((told) => ({ ...told, transaction: [other.wire, 'base64'] }))],
    ['it is cut short', bent((told) => ({ ...told, transaction: [paid.wire.slice(0, 300), 'base64'] }))],
    ['it is no base64', bent((told) => ({ ...told, transaction: ['%%%%', 'base64'] }))],
    ['it is in another encoding', bent((told) => ({ ...told, transaction: [paid.wire, 'base58'] }))],
    ['it was parsed for us', bent((told) => ({ ...told, transaction: { message: {} } }))],
    ['the slot is absent', bent((told) => ({ ...told, slot: undefined }))],
    ['it is a number', bent(() => 7)],
    ['T32: it is of a version the node keeps back', () => Promise.reject(new NodeError(-32015))],
    ['the node lost its history', () => Promise.reject(new NodeError(-32011))],
    ['the node is out of reach', dead],
    ['T73: it speaks for another chain', lying('getGenesisHash', () => 'EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG')],
    ['it does not tell its chain', lying('getGenesisHash', () => null)],
  ])('T68: %s: unavailable', async (_name, script) => {
    const reading = await read(script)
    expect(reading.kind).toBe('unavailable')
    expect(JSON.stringify(reading)).not.toMatch(/s3cret|node0/)
  })

  it('T140: leaves no address in the log', () => {
    expect(world.logged.length).toBeGreaterThan(5)
    expect(world.logged.join()).not.toMatch(/s3cret|node0/)
    expect(world.logged.join()).toContain('node 1')
  })

  it('T58: without a block time asks for it once more, and says unavailable when there is none', async () => {
    const asked: unknown[] = []
    const timeless =
      (time: unknown): NodeScript =>
      async (question, forward) => {
        if (question.method !== 'getBlockTime') return bent((told) => ({ ...told, blockTime: null }))(question, forward)
        asked.push(...question.params)
        return time
      }
    const { slot } = await world.effectOf(paid.signature)
    expect(foundIn(await read(timeless(1_700_000_000))).blockTime).toBe(1_700_000_000)
    expect(asked).toEqual([slot])
    expect((await read(timeless(null))).kind).toBe('unavailable')
    expect((await read(timeless(-5))).kind).toBe('unavailable')
  })

  it('asks for any version, confirmed, in base64', async () => {
    let asked: readonly unknown[] = []
    await read((question, forward) => {
      if (question.method === 'getTransaction') asked = question.params
      return forward()
    })
    expect(asked).toEqual([
      paid.signature,
      { encoding: 'base64', commitment: 'confirmed', maxSupportedTransactionVersion: 1 },
    ])
  })
})

describe('a transaction that the service signed itself', () => {
  const readCounted = async (script: NodeScript, isKnown: boolean) => {
    const [verify, signed] = [createVerifier(), createSignedTransactions()]
    let verifications = 0
    if (isKnown) signed.add(paid.wire, openTransaction(Buffer.from(paid.wire, 'base64')))
    const chain = world.chainOf([script], {
      signed,
      verifier: (...signature) => {
        verifications += 1
        return verify(...signature)
      },
    })
    return { reading: await chain.read(paid.signature, 0), verifications: () => verifications }
  }

  it('needs no second verification of exactly its bytes', async () => {
    const unknown = await readCounted(honest, false)
    const known = await readCounted(honest, true)
    expect([unknown.verifications(), known.verifications()]).toEqual([1, 0])
    expect(known.reading).toEqual(unknown.reading)
  })

  it.each([
    ['a byte of the message', 200],
    ['a byte of the signature', 9],
  ])('T70: is verified if a node changes %s', async (_name, at) => {
    const { reading, verifications } = await readCounted(
      bent((told) => ({ ...told, transaction: [flip(paid.wire, at), 'base64'] })),
      true,
    )
    expect(reading.kind).toBe('unavailable')
    expect(verifications()).toBe(1)
  })

  it('T71: does not stand for another transaction', async () => {
    const signed = createSignedTransactions()
    signed.add(paid.wire, openTransaction(Buffer.from(paid.wire, 'base64')))
    const chain = world.chainOf([bent((told) => ({ ...told, transaction: [paid.wire, 'base64'] }))], { signed })
    expect((await chain.read(other.signature, 0)).kind).toBe('unavailable')
  })

  it('is forgotten after many others', () => {
    const signed = createSignedTransactions()
    const transaction = openTransaction(Buffer.from(paid.wire, 'base64'))
    for (let number = 0; number < 600; number += 1) signed.add(`${number}`, transaction)
    expect(signed.find('0')).toBeUndefined()
    expect(signed.find('599')).toBe(transaction)
  })
})

describe('the genesis hash', () => {
  it('is asked for at first, with every transaction, when a second has passed, and after the node was lost', async () => {
    const asked: string[] = []
    let [down, hidden, later] = [false, true, 0]
    const clock = { ...world.clock, monotonic: () => world.clock.monotonic() + later }
    const script: NodeScript = async (question, forward) => {
      asked.push(question.method)
      if (down) throw new Error('no route')
      return hidden && question.method === 'getTransaction' ? null : forward()
    }
    const chain = world.chainOf([script], { clock })
    const look = async () => {
      asked.length = 0
      await chain.read(paid.signature, 0)
      return asked
    }
    const [together, all] = [
      ['getTransaction', 'getGenesisHash'],
      ['getGenesisHash', 'getTransaction', 'getGenesisHash'],
    ]
    expect(await look()).toEqual(all)
    expect(await look()).toEqual(together)
    later += 1_000
    expect(await look()).toEqual(all)
    hidden = false
    expect(await look()).toEqual(together)
    expect(await look()).toEqual(together)
    down = true
    expect(await look()).toEqual(['getTransaction'])
    ;[down, hidden] = [false, true]
    expect(await look()).toEqual(all)
  })

  it.each([
    ['given', {}, true],
    ['given, by a node without batches', {}, false],
    ['pinned at first contact', { genesis: undefined as unknown as string }, true],
  ])(
    'T73: of another chain than the one %s is found out from one answer to the next',
    async (_name, parts, batches) => {
      let [foreign, hidden] = [false, false]
      const turning: NodeScript = async (question, forward) => {
        if (hidden && question.method === 'getTransaction') return null
        return foreign && question.method === 'getGenesisHash' ? 'elsewhere' : forward()
      }
      const rpc = world.rpcOf([turning])
      const nodes = rpc.nodes.map((node) => ({ ...node, callWithGenesis: callOneByOne(node.call) }))
      const chain = world.chainOf([turning], { rpc: batches ? rpc : { ...rpc, nodes }, ...parts })
      const read = async () => (await chain.read(paid.signature, 0)).kind
      expect(await read()).toBe('found')
      foreign = true
      expect(await read()).toBe('unavailable')
      ;[foreign, hidden] = [false, true]
      expect(await read()).toBe('missing')
      // Only a batch contains the hash beside an empty answer.
      foreign = true
      expect(await read()).toBe(batches ? 'unavailable' : 'missing')
    },
  )
})
