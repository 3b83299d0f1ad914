import { EventEmitter, once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Server as TcpServer } from 'node:net'
import { afterEach, expect, it, vi } from 'vitest'
import { type WebSocket, WebSocketServer } from 'ws'
import { connectIdleSocket, connectSocket, listSocketUrls } from './sockets.ts'

it.each([
  ['https://node.example/?key=1', ['wss://node.example/?key=1']],
  ['http://127.0.0.1:8899', ['ws://127.0.0.1:8899/', 'ws://127.0.0.1:8900/']],
  ['https://node.example/#part', ['wss://node.example/']],
])('%s', (node, sockets) => {
  expect(listSocketUrls(node)).toEqual(sockets)
})

const ends: (() => void)[] = []

afterEach(() => {
  vi.useRealTimers()
  for (const end of ends.splice(0)) end()
})

it('sends and receives text, and closes once when the node goes away', async () => {
  const node = await startNode()
  const heard = listen()
  const socket = connectSocket(node.url, heard.listener)
  socket.send('too early')
  const [client] = (await once(node.sockets, 'connection')) as [WebSocket]
  await heard.opened
  socket.send('question')
  expect(String((await once(client, 'message'))[0])).toBe('question')
  client.send('answer')
  await vi.waitFor(() => expect(heard.texts).toEqual(['answer']))
  client.terminate()
  await heard.closed
  socket.send('too late')
  socket.close()
  await nextTurns()
  expect(heard.counts).toEqual({ opened: 1, closed: 1 })
})

it('closes when told to, also while it connects', async () => {
  const node = await startNode()
  for (const waits of [false, true]) {
    const heard = listen()
    const socket = connectSocket(node.url, heard.listener)
    if (waits) await heard.opened
    socket.close()
    await heard.closed
    await nextTurns()
    expect(heard.counts.closed).toBe(1)
  }
})

it('closes if nothing listens at the address, or the handshake is refused', async () => {
  const refusing = createServer((_request, response) => response.writeHead(403).end()).listen(0, '127.0.0.1')
  await once(refusing, 'listening')
  ends.push(() => refusing.close())
  for (const url of ['ws://127.0.0.1:1/', urlOf(refusing)]) {
    const heard = listen()
    connectSocket(url, heard.listener)
    await heard.closed
    expect(heard.counts).toEqual({ opened: 0, closed: 1 })
  }
})

it('closes at a message of more than a megabyte', async () => {
  const node = await startNode()
  const heard = listen()
  node.sockets.on('connection', (client) => {
    client.on('error', () => {})
    client.send('a'.repeat(1_000_000))
    client.send('b'.repeat(1_000_001))
  })
  connectSocket(node.url, heard.listener)
  await heard.closed
  expect(heard.texts.map((text) => text.slice(0, 1))).toEqual(['a'])
})

it('stays open while the node answers the heartbeat, and closes when the node falls silent', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const node = await startNode()
  const heard = listen()
  connectSocket(node.url, heard.listener)
  const [client] = (await once(node.sockets, 'connection')) as [WebSocket]
  await heard.opened
  for (let beat = 0; beat < 4; beat += 1) {
    const asked = once(client, 'ping')
    vi.advanceTimersByTime(5_000)
    await asked
    await nextTurns()
  }
  expect(heard.counts.closed).toBe(0)
  client.pause()
  vi.advanceTimersByTime(15_000)
  await heard.closed
})

it('closes if the node accepts the connection and never answers the handshake', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const mute = createTcpServer((socket) => socket.on('error', () => {})).listen(0, '127.0.0.1')
  await once(mute, 'listening')
  ends.push(() => mute.close())
  const heard = listen()
  const accepted = once(mute, 'connection')
  connectSocket(urlOf(mute), heard.listener)
  await accepted
  vi.advanceTimersByTime(5_000)
  await heard.closed
  expect(heard.counts.opened).toBe(0)
})

it('sends the name and password of the address', async () => {
  const node = await startNode()
  const heard = listen()
  const socket = connectIdleSocket(node.url.replace('ws://', 'ws://na%20me:secret@'), heard.listener)
  const [, request] = await once(node.sockets, 'connection')
  expect(request.headers.authorization).toBe(`Basic ${Buffer.from('na me:secret').toString('base64')}`)
  socket.close()
  await heard.closed
})

async function startNode() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const sockets = new WebSocketServer({ server })
  ends.push(() => {
    for (const client of sockets.clients) client.terminate()
    server.close()
  })
  return { sockets, url: urlOf(server) }
}

function urlOf(server: Server | TcpServer): string {
  return `ws://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

function listen() {
  const events = new EventEmitter()
  const counts = { opened: 0, closed: 0 }
  const texts: string[] = []
  return {
    counts,
    texts,
    opened: once(events, 'opened'),
    closed: once(events, 'closed'),
    listener: {
      opened: () => {
        counts.opened += 1
        events.emit('opened')
      },
      received: (text: string) => void texts.push(text),
      closed: () => {
        counts.closed += 1
        events.emit('closed')
      },
    },
  }
}

async function nextTurns(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}
