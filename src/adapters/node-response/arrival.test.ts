import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { ServerHttp2Session } from 'node:http2'
import { expect, it } from 'vitest'
import { awaitArrival } from './arrival.ts'

type Answer = (error: Error | null) => void

/** A session over HTTP/2 whose PINGs the test answers. */
function openSession() {
  const pings: Answer[] = []
  const socket = new EventEmitter()
  const emitter = Object.assign(new EventEmitter(), { socket, ping: (answer: Answer) => pings.push(answer) })
  return {
    emitter,
    socket,
    session: emitter as unknown as ServerHttp2Session,
    answer: (error: Error | null) => pings[0]?.(error),
  }
}

it('takes a PING that could not be sent for no sign, and tells once', () => {
  const { emitter, session, answer } = openSession()
  const told: boolean[] = []
  awaitArrival({} as ServerResponse, session, (hasArrived) => told.push(hasArrived))
  answer(new Error('too many are on their way'))
  expect(told).toEqual([])
  emitter.emit('error', new Error('reset'))
  answer(null)
  expect(told).toEqual([false])
})

it('awaits nothing without a connection', () => {
  expect(awaitArrival({ req: { socket: {} } } as ServerResponse, undefined, () => {})).toBeUndefined()
})

it('shares the listeners of a connection among the bodies that are awaited on it, and leaves none behind', () => {
  const { emitter, socket, session, answer } = openSession()
  const told: boolean[] = []
  const tell = (hasArrived: boolean) => void told.push(hasArrived)
  const arrivals = Array.from({ length: 12 }, () => awaitArrival({} as ServerResponse, session, tell))
  const count = () => [emitter.listenerCount('error'), socket.listenerCount('close')]
  expect(count()).toEqual([1, 1])
  answer(null)
  expect([told, count()]).toEqual([[true], [1, 1]])
  for (const arrive of arrivals) arrive?.()
  expect([told.length, count()]).toEqual([12, [0, 0]])
})
