/**
 * Another face of a chain: a node at an address of its own that passes questions on, or lies. Where a test needs two
 * nodes that do not tell the same, one of them is this.
 */
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import type { Duplex } from 'node:stream'
import { request as onward } from 'undici'

export interface Question {
  readonly id: unknown
  readonly method: string
  readonly params: readonly unknown[]
}

/** What goes over the wire in answer. */
export interface Told {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body: string
}

/** `ask` puts the question to the real node. A reset breaks the connection off without a word. */
export type Behaviour = (question: Question, ask: () => Promise<Told>) => Told | 'reset' | Promise<Told | 'reset'>

export interface FakeNode {
  readonly url: string
  /** The methods it was asked for, in order. */
  readonly asked: string[]
  /** From now on it has no WebSockets. */
  withoutSockets(): void
  /** Undefined makes it honest again. */
  behave(behaviour: Behaviour | undefined): void
  /** From now on it speaks for another node. */
  turnTo(rpcUrl: string): void
  close(): Promise<void>
}

/** An honest face, to begin with. `port` 0 takes a free one. */
export async function createFace(rpcUrl: string, port = 0): Promise<FakeNode> {
  let behaviour: Behaviour | undefined
  let target = rpcUrl
  const asked: string[] = []
  const sockets = new Set<Duplex>()
  let hasSockets = true
  let isClosed = false
  const tellOne = async (question: Question): Promise<Told | 'reset'> => {
    asked.push(question.method)
    const ask = async (): Promise<Told> => {
      const answer = await onward(target, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(question),
      })
      return { status: answer.statusCode, body: await answer.body.text() }
    }
    return behaviour ? behaviour(question, ask) : ask()
  }
  /** The answers to a batch, or the first one that breaks it. */
  const tell = async (questions: Question | readonly Question[]): Promise<Told | 'reset'> => {
    if (!Array.isArray(questions)) return tellOne(questions as Question)
    const bodies: string[] = []
    for (const question of questions) {
      const told = await tellOne(question)
      if (told === 'reset' || (told.status ?? 200) !== 200 || told.headers) return told
      bodies.push(told.body)
    }
    return { body: `[${bodies.join()}]` }
  }
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
    const told = await tell(JSON.parse(Buffer.concat(chunks).toString())).catch((error: unknown) => {
      // A slow answer may come when the test is over, and its chain is gone. A connection to it can break, too.
      if (isClosed || (error as NodeJS.ErrnoException).code === 'ECONNRESET') return 'reset' as const
      throw error
    })
    if (told === 'reset') return void request.socket.resetAndDestroy()
    const { status = 200, headers = {}, body } = told
    if (!response.destroyed) response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body)
  })
  server.on('upgrade', (request, socket, head) => {
    sockets.add(socket)
    socket.on('error', () => {})
    if (!hasSockets) {
      socket.end('HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n')
      return
    }
    const { hostname, port } = new URL(target)
    const onward = connect(Number(port), hostname)
    sockets.add(onward)
    onward.on('error', () => socket.destroy())
    onward.once('close', () => socket.destroy())
    socket.once('close', () => onward.destroy())
    const headers = Object.entries(request.headers).map(([name, value]) => `${name}: ${value}\r\n`)
    onward.write(`GET / HTTP/1.1\r\n${headers.join('')}\r\n`)
    onward.write(head)
    onward.pipe(socket).pipe(onward)
  })
  server.listen(port, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    withoutSockets: () => {
      hasSockets = false
    },
    behave: (next) => {
      behaviour = next
    },
    turnTo: (next) => {
      target = next
    },
    close: async () => {
      isClosed = true
      for (const socket of sockets) socket.destroy()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Tells another result in answer to one method. */
export function bend<Result>(method: string, change: (result: Result) => unknown): Behaviour {
  return async (question, ask) => {
    const told = await ask()
    if (question.method !== method) return told
    const answer = JSON.parse(told.body) as { readonly result: Result }
    return { body: JSON.stringify({ ...answer, result: change(answer.result) }) }
  }
}

/** No transaction is final yet. */
export const notFinal: Behaviour = ({ id, method, params }, ask) => {
  const { commitment } = (params[1] ?? {}) as { readonly commitment?: unknown }
  if (method !== 'getTransaction' || commitment !== 'finalized') return ask()
  return { body: JSON.stringify({ jsonrpc: '2.0', id, result: null }) }
}

/** The chain's time is so many seconds later than it is; before it where negative, as at a node that lags. */
export function timeOff(seconds: number): Behaviour {
  return async ({ method, params }, ask) => {
    const told = await ask()
    if (method !== 'getAccountInfo' || params[0] !== 'SysvarC1ock11111111111111111111111111111111') return told
    const answer = JSON.parse(told.body) as { result: { value: { data: [string, string] } } }
    const data = Buffer.from(answer.result.value.data[0], 'base64')
    data.writeBigInt64LE(data.readBigInt64LE(32) + BigInt(seconds), 32)
    answer.result.value.data[0] = data.toString('base64')
    return { ...told, body: JSON.stringify(answer) }
  }
}
