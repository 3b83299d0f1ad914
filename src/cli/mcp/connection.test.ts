import { describe, expect, it } from 'vitest'
import { connect, RpcError } from './connection.ts'

/** Runs a connection over these lines, and returns the messages that it wrote. */
async function talk(lines: readonly string[], handle: Parameters<typeof connect>[1]): Promise<readonly unknown[]> {
  const written: string[] = []
  async function* input(): AsyncGenerator<string> {
    for (const line of lines) yield line
  }
  await connect({ input: input(), write: (line) => written.push(line) }, handle).closed
  return written
    .join('')
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as unknown)
}

const echo = async (method: string, params: unknown) => ({ method, params })
const question = (id: unknown, method = 'say') => JSON.stringify({ jsonrpc: '2.0', id, method, params: [id] })
const answer = (id: unknown) => ({ jsonrpc: '2.0', id, result: { method: 'say', params: [id] } })
const refusal = (code: number, id: unknown = null) => ({
  jsonrpc: '2.0',
  id,
  error: { code, message: expect.any(String) },
})

describe('a connection', () => {
  it.each<[string, readonly string[], readonly unknown[]]>([
    ['a request', [`${question(1)}\n`], [answer(1)]],
    ['an id of text', [`${question('a')}\n`], [answer('a')]],
    ['two requests in one piece', [`${question(1)}\n${question(2)}\n`], [answer(1), answer(2)]],
    ['a request in pieces', [question(1).slice(0, 9), `${question(1).slice(9)}\n`], [answer(1)]],
    ['empty lines', [`\n\r\n${question(1)}\r\n`], [answer(1)]],
    ['a notification', ['{"jsonrpc":"2.0","method":"notifications/initialized"}\n'], []],
    ['an answer to no question', ['{"jsonrpc":"2.0","id":7,"result":{}}\n'], []],
    ['half a line at the end', [question(1)], []],
    ['no JSON, and then a request', [`{"a\n${question(1)}\n`], [refusal(-32700), answer(1)]],
    ['a list', ['[]\n'], [refusal(-32600)]],
    ['null', ['null\n'], [refusal(-32600)]],
    ['another version', ['{"jsonrpc":"1.0","id":1,"method":"say"}\n'], [refusal(-32600)]],
    ['an id that is an object', [`${question({})}\n`], [refusal(-32600)]],
    ['an id twice at once', [`${question(1)}\n${question(1)}\n`], [refusal(-32600, 1), answer(1)]],
    ['a line without an end', ['x'.repeat(4 * 1024 * 1024 + 1), `\n${question(1)}\n`], [refusal(-32600)]],
  ])('answers %s', async (_name, lines, messages) => {
    expect(await talk(lines, echo)).toEqual(messages)
  })

  it('reports an error of the handler by its code, and a defect without its text', async () => {
    const handle = async (method: string) => {
      throw method === 'say' ? new RpcError('method', 'There is no such method.') : new Error('a secret')
    }
    expect(await talk([`${question(1)}\n${question(2, 'other')}\n`], handle)).toEqual([
      { jsonrpc: '2.0', id: 1, error: { code: -32601, message: 'There is no such method.' } },
      { jsonrpc: '2.0', id: 2, error: { code: -32603, message: 'The request failed.' } },
    ])
  })

  it('aborts a cancelled request, and does not answer it', async () => {
    const aborted: boolean[] = []
    const handle = (_method: string, _params: unknown, signal: AbortSignal) =>
      new Promise<unknown>((resolve) =>
        signal.addEventListener('abort', () => {
          aborted.push(true)
          resolve({})
        }),
      )
    const cancel = '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}'
    expect(await talk([`${question(1)}\n`, `${cancel}\n`], handle)).toEqual([])
    expect(aborted).toEqual([true])
  })

  it('asks the client, and gives up when the question is withdrawn or the client is gone', async () => {
    const written: string[] = []
    const wait = new AbortController()
    async function* input(): AsyncGenerator<string> {
      yield '{"jsonrpc":"2.0","id":"paystile-1","result":{"yes":true}}\n'
      yield '{"jsonrpc":"2.0","id":"paystile-2","error":{"code":1,"message":"no"}}\n'
      wait.abort()
    }
    const connection = connect({ input: input(), write: (line) => written.push(line) }, echo)
    const asked = ['a', 'b', 'c', 'd'].map((method, index) =>
      connection.ask(method, {}, index === 2 ? wait.signal : new AbortController().signal),
    )
    const ends = await Promise.allSettled(asked)
    expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected', 'rejected'])
    expect(written.join('')).toContain('"method":"notifications/cancelled","params":{"requestId":"paystile-3"}')
  })

  it('completes its work when the client is gone, and then asks nothing', async () => {
    const written: string[] = []
    async function* input(): AsyncGenerator<string> {
      yield `${question(1)}\n`
      throw new Error('read ECONNRESET')
    }
    const ends: string[] = []
    const connection = connect({ input: input(), write: (line) => written.push(line) }, async () => {
      await new Promise((resolve) => setTimeout(resolve, 20))
      await connection.ask('elicitation/create', {}, new AbortController().signal).catch(() => ends.push('not asked'))
      ends.push('completed')
      return {}
    })
    await expect(connection.closed).rejects.toThrow('ECONNRESET')
    expect(ends).toEqual(['not asked', 'completed'])
    expect(written.join('')).not.toContain('elicitation')
  })
})
