import { EventEmitter } from 'node:events'
import { describe, expect, it } from 'vitest'
import { forward, type ProxyRequest } from './forward.ts'

interface Handler {
  onConnect(abort: (reason: Error) => void): void
  onError(error: Error): void
  onComplete(): void
}

/** A request on its way, with undici's side of it in hand. */
function setOut() {
  const handlers: Handler[] = []
  const response = Object.assign(new EventEmitter(), { headersSent: false, end: () => {} })
  const pool = { dispatch: (_options: unknown, handler: Handler) => handlers.push(handler) }
  const request = { method: 'GET', headers: {} }
  const upstream = { prefix: '', answerMs: 1, idleMs: 1 }
  forward({ request, response, target: '/', upstream, pool } as unknown as ProxyRequest, [])
  const aborted: string[] = []
  const connect = () => handlers.at(-1)?.onConnect((reason) => aborted.push(reason.message))
  return { handlers, response, aborted, connect }
}

describe('a client that leaves', () => {
  it('takes a request with it that waits for a connection', () => {
    const { response, aborted, connect } = setOut()
    response.emit('close')
    expect(aborted).toEqual([])
    connect()
    expect(aborted).toEqual(['the client disconnected'])
  })

  it('takes a request with it that is on its way, and asks for no other', () => {
    const { handlers, response, aborted, connect } = setOut()
    connect()
    response.emit('close')
    handlers[0]?.onError(Object.assign(new Error('reset'), { code: 'ECONNRESET' }))
    expect([aborted, handlers.length]).toEqual([['the client disconnected'], 1])
  })

  it('ignores requests that were already answered', () => {
    const { handlers, response, aborted, connect } = setOut()
    connect()
    handlers[0]?.onComplete()
    response.emit('close')
    expect(aborted).toEqual([])
  })
})

it('a request for which the connection broke is sent once more', () => {
  const { handlers } = setOut()
  for (const _turn of [1, 2]) handlers[0]?.onError(Object.assign(new Error('reset'), { code: 'ECONNRESET' }))
  expect(handlers).toHaveLength(2)
})
