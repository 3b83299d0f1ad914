/** JSON-RPC 2.0 in lines of text, as the Model Context Protocol sends it over stdin and stdout. */
import { isFields } from '../../core/encoding/fields.ts'
import { PaystileError } from '../../core/errors/paystile-error.ts'

/** Answers a request of the client. `signal` aborts if the client cancels the request. */
export type Handle = (method: string, params: unknown, signal: AbortSignal) => Promise<unknown>

/** Asks the client. Rejects if the client answers with an error, or when `signal` aborts. */
export type Ask = (method: string, params: object, signal: AbortSignal) => Promise<unknown>

export interface Connection {
  readonly ask: Ask
  /** Resolves when the client has closed its side and every answer is written. */
  readonly closed: Promise<void>
}

const rpcCodes = { parse: -32700, request: -32600, method: -32601, params: -32602, internal: -32603 } as const

/** An answer that reports an error of the protocol. */
export class RpcError extends PaystileError {
  override readonly name = 'RpcError'
  declare readonly code: keyof typeof rpcCodes
  constructor(code: keyof typeof rpcCodes, message: string) {
    super(code, message)
  }
}

type Id = string | number

/** The longest line that is read. A longer one ends the connection, because its end cannot be found. */
const longestLine = 4 * 1024 * 1024

export interface Streams {
  readonly input: AsyncIterable<string | Uint8Array>
  readonly write: (line: string) => void
}

export function connect({ input, write }: Streams, handle: Handle): Connection {
  const running = new Map<Id, AbortController>()
  const work = new Set<Promise<void>>()
  const asked = new Map<Id, { readonly resolve: (value: unknown) => void; readonly reject: (error: Error) => void }>()
  let lastId = 0
  let isOpen = true

  const send = (message: object): void => write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  const refuse = (id: Id | null, { code, message }: RpcError): void =>
    send({ id, error: { code: rpcCodes[code], message } })

  async function answer(id: Id, method: string, params: unknown): Promise<void> {
    const controller = new AbortController()
    running.set(id, controller)
    try {
      const result = await handle(method, params, controller.signal)
      // A cancelled request gets no answer.
      if (!controller.signal.aborted) send({ id, result })
    } catch (error) {
      if (controller.signal.aborted) return
      refuse(id, error instanceof RpcError ? error : new RpcError('internal', 'The request failed.'))
    } finally {
      running.delete(id)
    }
  }

  function receive(line: string): void {
    const message = parse(line)
    if (message === undefined) refuse(null, new RpcError('parse', 'The line is not JSON.'))
    else if (!isFields(message) || message['jsonrpc'] !== '2.0')
      refuse(null, new RpcError('request', 'The message is not JSON-RPC 2.0.'))
    else if (typeof message['method'] !== 'string') settle(message['id'], message)
    else if (message['id'] === undefined) notice(message['method'], message['params'])
    else start(message['id'], message['method'], message['params'])
  }

  function start(id: unknown, method: string, params: unknown): void {
    if (typeof id !== 'string' && typeof id !== 'number')
      return void refuse(null, new RpcError('request', 'The id must be text or a number.'))
    if (running.has(id)) return void refuse(id, new RpcError('request', 'A request with this id is still running.'))
    const done = answer(id, method, params).finally(() => work.delete(done))
    work.add(done)
  }

  function notice(method: string, params: unknown): void {
    if (method === 'notifications/cancelled' && isFields(params)) running.get(params['requestId'] as Id)?.abort()
  }

  function settle(id: unknown, { result, error }: Readonly<Record<string, unknown>>): void {
    const question = asked.get(id as Id)
    if (!question) return
    asked.delete(id as Id)
    if (error === undefined) question.resolve(result)
    else question.reject(new Error('the client answered with an error'))
  }

  async function read(): Promise<void> {
    try {
      await readLines()
    } finally {
      // Without the client, no question is answered. Payments under way are still completed.
      isOpen = false
      for (const { reject } of asked.values()) reject(gone())
      await Promise.all(work)
    }
  }

  async function readLines(): Promise<void> {
    const decoder = new TextDecoder()
    let rest = ''
    for await (const chunk of input) {
      rest += typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true })
      const lines = rest.split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) if (line.trim() !== '') receive(line)
      if (rest.length <= longestLine) continue
      refuse(null, new RpcError('request', `A message may have at most ${longestLine} characters.`))
      break
    }
  }

  return {
    ask: (method, params, signal) =>
      new Promise((resolve, reject) => {
        if (!isOpen) return reject(gone())
        const id = `paystile-${++lastId}`
        const end = (): void => {
          if (!asked.delete(id)) return
          send({ method: 'notifications/cancelled', params: { requestId: id } })
          reject(new Error('the question was withdrawn'))
        }
        asked.set(id, { resolve, reject })
        signal.addEventListener('abort', end, { once: true })
        send({ id, method, params })
        if (signal.aborted) end()
      }),
    closed: read(),
  }
}

function gone(): Error {
  return new Error('the client has closed the connection')
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line) ?? null
  } catch {
    return undefined
  }
}
