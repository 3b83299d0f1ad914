/**
 * Another face of a chain: a node at an address of its own that passes questions on, or lies. Where a test needs two
 * nodes that do not tell the same, one of them is this.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Question {
  readonly method: string
  readonly params: readonly unknown[]
}

/** What goes over the wire in answer. */
export interface Told {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body: string
}

/** `ask` puts the question to the real node. */
export type Behaviour = (question: Question, ask: () => Promise<Told>) => Told | Promise<Told>

export interface Face {
  readonly url: string
  /** The methods it was asked for, in order. */
  readonly asked: string[]
  /** Undefined makes it honest again. */
  behave(behaviour: Behaviour | undefined): void
  /** From now on it speaks for another node. */
  turnTo(rpcUrl: string): void
  close(): Promise<void>
}

/** An honest face, to begin with. `port` 0 takes a free one. */
export async function createFace(rpcUrl: string, port = 0): Promise<Face> {
  let behaviour: Behaviour | undefined
  let target = rpcUrl
  const asked: string[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
    // It has no WebSocket.
    if (request.method !== 'POST') return void response.writeHead(405).end()
    const text = Buffer.concat(chunks).toString()
    const question = JSON.parse(text) as Question
    asked.push(question.method)
    const ask = async (): Promise<Told> => {
      const answer = await fetch(target, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: text,
      })
      return { status: answer.status, body: await answer.text() }
    }
    const { status = 200, headers = {}, body } = await (behaviour ? behaviour(question, ask) : ask())
    if (!response.destroyed) response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body)
  })
  server.listen(port, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    behave: (next) => {
      behaviour = next
    },
    turnTo: (next) => {
      target = next
    },
    close: async () => {
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
