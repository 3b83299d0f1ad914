/**
 * WebSockets of servers, with a heartbeat, because a dead connection gives no sign.
 *
 * They are undici's. A package that connects through the client of `node:http` would slow down the server of
 * `node:http`: both share functions, and V8 compiles these to faster code while only the server uses them.
 */
import '../supported-runtime.ts'
import './own-fetch.ts'
import type { Socket } from 'node:net'
import { Agent, buildConnector, ping, WebSocket } from 'undici'
import type { ConnectSocket } from '../../core/runtime.ts'
import { readCredentials } from './transport.ts'

const heartbeatMs = 5_000
/** Heartbeats without a byte from the other side, although each one asks for an answer. */
const longestSilence = 2
const longestMessage = 1_000_000

export const connectSocket: ConnectSocket = (url, listener) => openSocket(url, listener, () => {})

/** A socket that does not keep the process running once it is open. */
export const connectIdleSocket: ConnectSocket = (url, listener) =>
  openSocket(url, listener, (connection) => connection?.unref())

function openSocket(
  url: string,
  listener: Parameters<ConnectSocket>[1],
  opened: (connection: Socket | undefined) => void,
): ReturnType<ConnectSocket> {
  let connection: Socket | undefined
  const connect = buildConnector({ timeout: heartbeatMs })
  const agent = new Agent({
    webSocket: { maxPayloadSize: longestMessage },
    connect: (options, callback) =>
      connect(options, (...made) => {
        connection = made[1] ?? undefined
        callback(...made)
      }),
  })
  const socket = new WebSocket(url, { dispatcher: agent, headers: readCredentials(new URL(url)) })
  const terminate = (): void => {
    connection?.destroy()
    // Ends an attempt to connect.
    void agent.destroy()
  }

  let [seenBytes, silence] = [0, 0]
  const heartbeat = setInterval(() => {
    const bytes = connection?.bytesRead ?? 0
    silence = bytes === seenBytes ? silence + 1 : 0
    seenBytes = bytes
    if (socket.readyState !== WebSocket.OPEN || silence >= longestSilence) terminate()
    else ping(socket)
  }, heartbeatMs)
  heartbeat.unref()

  socket.addEventListener('open', () => {
    opened(connection)
    listener.opened()
  })
  socket.addEventListener('message', ({ data }) => listener.received(String(data)))
  socket.addEventListener('close', () => {
    clearInterval(heartbeat)
    listener.closed()
  })
  return {
    send: (text) => {
      if (socket.readyState === WebSocket.OPEN) socket.send(text)
    },
    close: terminate,
  }
}

/** The WebSocket addresses of a node: the same address or, for Solana's own validator, one port higher. */
export function listSocketUrls(nodeUrl: string): readonly string[] {
  const url = new URL(nodeUrl)
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:'
  url.hash = ''
  const same = url.toString()
  if (url.port === '') return [same]
  url.port = String(Number(url.port) + 1)
  return [same, url.toString()]
}
