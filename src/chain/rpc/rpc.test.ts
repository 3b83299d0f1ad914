import { describe, expect, it } from 'vitest'
import type { Transport } from '../../core/runtime.ts'
import { createRpc, type RpcAnswer } from './rpc.ts'

const secretUrl = 'https://node.example/?api-key=s3cret'

interface Question {
  readonly id: number
  readonly method: string
}
type Reply = (question: Question) => { status?: number; text: string } | Promise<{ status?: number; text: string }>

function transportOf(replies: Readonly<Record<string, Reply>>): Transport {
  return async (url, body) => {
    const reply = replies[url]
    if (!reply) throw new Error(`connect ECONNREFUSED ${url}`)
    return { status: 200, ...(await reply(JSON.parse(body) as Question)) }
  }
}

const result =
  (value: unknown): Reply =>
  ({ id }) => ({ text: JSON.stringify({ jsonrpc: '2.0', id, result: value }) })
const error =
  (code: number): Reply =>
  ({ id }) => ({
    text: JSON.stringify({ jsonrpc: '2.0', id, error: { code, message: 'no' } }),
  })

const ask = (reply: Reply): Promise<RpcAnswer> =>
  createRpc({ urls: [secretUrl], transport: transportOf({ [secretUrl]: reply }) }).call('getSlot', [])

describe('an answer', () => {
  it('has a result, which may be null', async () => {
    expect(await ask(result({ a: 1 }))).toEqual({ kind: 'answered', result: { a: 1 } })
    expect(await ask(result(null))).toEqual({ kind: 'answered', result: null })
  })

  it('T69: or a code', async () => {
    expect(await ask(error(-32015))).toMatchObject({ kind: 'refused', code: -32015, message: 'no' })
  })

  it('may tell its code under another HTTP status', async () => {
    const reply: Reply = (question) => ({ ...error(-32005)(question), status: 503 }) as { status: number; text: string }
    expect(await ask(reply)).toMatchObject({ kind: 'refused', code: -32005 })
  })

  const text =
    (make: (id: number) => unknown): Reply =>
    ({ id }) => ({ text: JSON.stringify(make(id)) })
  it.each<[string, Reply]>([
    ['status 429', () => ({ status: 429, text: '{}' })],
    ['status 500 with a page', () => ({ status: 500, text: '<html>' })],
    ['a result under status 502', ({ id }) => ({ status: 502, text: `{"jsonrpc":"2.0","id":${id},"result":1}` })],
    ['a redirect', () => ({ status: 302, text: '' })],
    ['HTML', () => ({ text: '<html></html>' })],
    ['nothing', () => ({ text: '' })],
    ['a cut answer', ({ id }) => ({ text: `{"jsonrpc":"2.0","id":${id},"res` })],
    ['another id', text((id) => ({ jsonrpc: '2.0', id: id + 1, result: 1 }))],
    ['the id as text', text((id) => ({ jsonrpc: '2.0', id: String(id), result: 1 }))],
    ['no id', text(() => ({ jsonrpc: '2.0', result: 1 }))],
    ['no version', text((id) => ({ id, result: 1 }))],
    ['no result', text((id) => ({ jsonrpc: '2.0', id }))],
    ['result and error', text((id) => ({ jsonrpc: '2.0', id, result: 1, error: 'x' }))],
    ['an error without code', text((id) => ({ jsonrpc: '2.0', id, error: { message: 'x' } }))],
    ['a list', text((id) => [{ jsonrpc: '2.0', id, result: 1 }])],
    ['more than 1 MB', text((id) => ({ jsonrpc: '2.0', id, result: 'x'.repeat(1_000_000) }))],
    ['a lost connection', () => Promise.reject(Object.assign(new Error(secretUrl), { code: 'ECONNRESET' }))],
  ])('T68: %s is of no use', async (_name, reply) => {
    const answer = await ask(reply)
    expect(answer.kind).toBe('unavailable')
    expect(JSON.stringify(answer)).not.toMatch(/s3cret|example/)
  })

  it('T140: reports the failure without the address of the node', async () => {
    expect(await ask(() => Promise.reject(Object.assign(new Error(secretUrl), { code: 'ECONNRESET' })))).toEqual({
      kind: 'unavailable',
      why: 'the node cannot be reached (ECONNRESET)',
    })
    expect(await ask(() => Promise.reject(Object.assign(new Error('x'), { code: secretUrl })))).toEqual({
      kind: 'unavailable',
      why: 'the node cannot be reached',
    })
  })
})

describe('time', () => {
  it('T76: gives up on a node that does not respond, with any transport', async () => {
    let signalled = false
    const transport: Transport = (_url, _body, { signal }) => {
      signal.addEventListener('abort', () => {
        signalled = true
      })
      return new Promise(() => {})
    }
    const rpc = createRpc({ urls: [secretUrl], transport, timeoutMs: 20 })
    const start = performance.now()
    expect(await rpc.call('getSlot', [])).toEqual({ kind: 'unavailable', why: 'the node did not respond in time' })
    expect(signalled).toBe(true)
    expect(performance.now() - start).toBeLessThan(1_000)
  })

  it('hears the answer that came while the process stood still', async () => {
    let answer = () => {}
    const transport: Transport = (_url, body) =>
      new Promise((resolve) => {
        answer = () =>
          resolve({ status: 200, text: JSON.stringify({ jsonrpc: '2.0', id: JSON.parse(body).id, result: 7 }) })
      })
    const rpc = createRpc({ urls: [secretUrl], transport, timeoutMs: 100 })
    const call = rpc.call('getSlot', [])
    for (const end = performance.now() + 150; performance.now() < end; );
    // Timers that are due run before the socket is read.
    setTimeout(() => setImmediate(answer), 0)
    expect(await call).toMatchObject({ kind: 'answered', result: 7 })
  })

  it('ends with close', async () => {
    let asked = 0
    const silent: Transport = () => {
      asked += 1
      return new Promise(() => {})
    }
    const rpc = createRpc({ urls: [secretUrl], transport: silent })
    const waiting = rpc.call('getSlot', [])
    rpc.close()
    expect((await waiting).kind).toBe('unavailable')
    expect((await rpc.call('getSlot', [])).kind).toBe('unavailable')
    expect(asked).toBe(1)
  })
})

describe('several nodes', () => {
  const urls = ['https://a.example', 'https://b.example']

  it.each<[string, Reply]>([
    ['is out of reach', () => Promise.reject(new Error('x'))],
    ['lags behind', error(-32005)],
    ['is overloaded', () => ({ status: 429, text: '' })],
  ])('the next is asked when one %s, and stays the first choice', async (_name, reply) => {
    const asked: string[] = []
    const transport = transportOf({ 'https://a.example': reply, 'https://b.example': result(7) })
    const rpc = createRpc({
      urls,
      transport: (url, body, options) => {
        asked.push(url)
        return transport(url, body, options)
      },
    })
    expect(await rpc.call('getSlot', [])).toEqual({ kind: 'answered', result: 7 })
    expect(await rpc.call('getSlot', [])).toEqual({ kind: 'answered', result: 7 })
    expect(asked).toEqual([urls[0], urls[1], urls[1]])
  })

  it('a refusal that is about the question is an answer', async () => {
    const transport = transportOf({ 'https://a.example': error(-32002), 'https://b.example': result(7) })
    expect(await createRpc({ urls, transport }).call('sendTransaction', [])).toMatchObject({ code: -32002 })
  })

  it('when none is of use, the last one says why', async () => {
    expect(await createRpc({ urls, transport: transportOf({}) }).call('getSlot', [])).toEqual({
      kind: 'unavailable',
      why: 'the node cannot be reached',
    })
  })

  it('there must be one', () => {
    expect(() => createRpc({ urls: [], transport: transportOf({}) })).toThrow(TypeError)
  })
})

describe('an answer with the genesis hash', () => {
  type Batch = readonly Question[]
  const own = (id: number, value: unknown) => ({ jsonrpc: '2.0', id, result: value })
  const resultOf = ({ method }: Question) => (method === 'getGenesisHash' ? 'chain' : 7)
  const answered = (value: unknown): RpcAnswer => ({ kind: 'answered', result: value })
  const inOne = { answer: answered(7), genesis: answered('chain') }
  const single: Reply = (question) => ({ text: JSON.stringify(own(question.id, resultOf(question))) })
  const whole = (batch: Batch) => ({ text: JSON.stringify(batch.map((one) => own(one.id, resultOf(one)))) })

  /** A node with this answer to each batch in turn, the last one for all others. */
  const createNode = (...batches: readonly ((batch: Batch) => { status?: number; text: string })[]) => {
    const sent: string[] = []
    let turn = 0
    const transport: Transport = async (_url, body) => {
      const questions = JSON.parse(body) as Question | Batch
      sent.push(Array.isArray(questions) ? 'batch' : (questions as Question).method)
      if (!Array.isArray(questions)) return { status: 200, ...(await single(questions as Question)) }
      const reply = batches[Math.min(turn, batches.length - 1)]
      turn += 1
      return { status: 200, ...(reply?.(questions) ?? { text: '' }) }
    }
    const rpc = createRpc({ urls: [secretUrl], transport })
    return { rpc, sent, ask: () => rpc.nodes[0]?.callWithGenesis('getSlot', []) }
  }

  it('needs one HTTP request, and may be in any order', async () => {
    const node = createNode(whole, (batch) => whole(batch.toReversed()))
    expect([await node.ask(), await node.ask(), node.sent]).toEqual([inOne, inOne, ['batch', 'batch']])
  })

  it.each<[string, { status?: number; text: string }]>([
    ['an error', { text: '{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no batches"}}' }],
    ['status 403 without JSON', { status: 403, text: 'Batches are not part of your plan.' }],
    ['status 413', { status: 413, text: '{}' }],
    ['a page', { text: '<html>' }],
  ])('needs two if the node answers a batch with %s, and no batch is sent again', async (_name, reply) => {
    const node = createNode(() => reply)
    expect([await node.ask(), await node.ask()]).toEqual([inOne, inOne])
    expect(node.sent).toEqual(['batch', 'getSlot', 'getGenesisHash', 'getSlot', 'getGenesisHash'])
  })

  it('comes in a batch again from a node that answered one before', async () => {
    const node = createNode(whole, () => ({ text: '{}' }), whole)
    expect([await node.ask(), await node.ask(), await node.ask()]).toEqual([inOne, inOne, inOne])
    expect(node.sent).toEqual(['batch', 'batch', 'getSlot', 'getGenesisHash', 'batch'])
  })

  const troubles: readonly [string, number, string, string][] = [
    ['an overloaded node', 429, '{"error":{"code":-32429,"message":""}}', 'refused'],
    ['a broken node', 502, '<html>', 'unavailable'],
    ['a report that is too large', 200, ' '.repeat(1_048_577), 'unavailable'],
  ]
  it.each(troubles)('is %s, and the next batch is sent', async (_name, status, text, kind) => {
    const node = createNode(whole, () => ({ status, text }), whole)
    expect(await node.ask()).toEqual(inOne)
    expect(await node.ask()).toMatchObject({ answer: { kind }, genesis: { kind } })
    expect([await node.ask(), node.sent]).toEqual([inOne, ['batch', 'batch', 'batch']])
  })

  const refusingList = '[{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no batches"}}]'
  it.each([
    ...troubles.map(([name, status, text]) => [name, status, text] as const),
    ['a list with one error', 200, refusingList] as const,
  ])('needs two more if a node answers its first batches like %s', async (_name, status, text) => {
    const node = createNode(() => ({ status, text }))
    expect([await node.ask(), await node.ask()]).toEqual([inOne, inOne])
    const each = ['batch', 'getSlot', 'getGenesisHash']
    expect(node.sent).toEqual([...each, ...each])
  })

  it.each<[string, (batch: Batch) => unknown]>([
    ['is missing', ([first]) => [own(first?.id ?? 0, 7)]],
    ['has another id', ([first]) => [own(first?.id ?? 0, 7), own(-1, 'chain')]],
    ['has no id', ([first]) => [own(first?.id ?? 0, 7), { jsonrpc: '2.0', result: 'chain' }]],
    ['is no object', ([first]) => [own(first?.id ?? 0, 7), 'chain']],
    ['has its id as text', ([first, second]) => [own(first?.id ?? 0, 7), { ...own(0, 'chain'), id: `${second?.id}` }]],
  ])('T73: is unknown if its part of a batch %s', async (_name, make) => {
    const node = createNode(whole, (batch) => ({ text: JSON.stringify(make(batch)) }))
    await node.ask()
    expect(await node.ask()).toMatchObject({ answer: answered(7), genesis: { kind: 'unavailable' } })
  })

  it('is not asked for again from a node that cannot be reached', async () => {
    const node = createNode(() => {
      throw new Error('no route')
    })
    expect(await node.ask()).toMatchObject({ answer: { kind: 'unavailable' }, genesis: { kind: 'unavailable' } })
    expect(node.sent).toEqual(['batch'])
  })

  it('is not asked for after the connection was closed', async () => {
    const node = createNode(whole)
    node.rpc.close()
    expect([await node.ask(), node.sent]).toMatchObject([{ answer: { kind: 'unavailable' }, genesis: undefined }, []])
  })
})
