import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { connect } from 'node:net'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import type { Hub } from './hub.ts'
import { type Sockets, serveSockets } from './sockets.ts'
import { createFaults } from './wire/faults.ts'

const ended: number[] = []
const hub: Hub = {
  subscribe: () => 7,
  unsubscribe: (id) => ended.push(id) > 0,
  received: () => {},
  close: () => {},
}

let server: Server
let sockets: Sockets
let port: number
beforeEach(async () => {
  server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  port = typeof address === 'object' && address ? address.port : 0
  sockets = serveSockets([server], hub, createFaults(), { maxSockets: 2, heartbeatMs: 250 })
})
afterEach(() => {
  sockets.close()
  server.close()
})

it('keeps a socket that answers pings, and ends one that does not', async () => {
  const live = new WebSocket(`ws://127.0.0.1:${port}`)
  await once(live, 'open')
  const dead = connect(port, '127.0.0.1')
  const key = Buffer.alloc(16).toString('base64')
  dead.write(
    `GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
      `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${key}\r\n\r\n`,
  )
  dead.resume()
  await once(dead, 'close')
  for (let beats = 0; beats < 2; beats++) await once(live, 'ping')
  expect(live.readyState).toBe(WebSocket.OPEN)
  live.terminate()
})

it('takes no more than its number', async () => {
  const url = `ws://127.0.0.1:${port}`
  const [first, second] = [new WebSocket(url), new WebSocket(url)]
  await Promise.all([once(first, 'open'), once(second, 'open')])
  await expect(once(new WebSocket(url), 'open')).rejects.toThrow('403')
  first.terminate()
  second.terminate()
})

it('ends the subscriptions of a socket that is gone', async () => {
  const socket = new WebSocket(`ws://127.0.0.1:${port}`)
  await once(socket, 'open')
  socket.send('{"jsonrpc":"2.0","id":1,"method":"slotSubscribe"}')
  await once(socket, 'message')
  socket.terminate()
  while (ended.length === 0) await new Promise((done) => setTimeout(done, 5))
  expect(ended).toEqual([7])
})
