/** WebSockets of servers: `ws` with a heartbeat, because a dead connection gives no sign. */
import { WebSocket } from 'ws'
import type { ConnectSocket } from '../../core/runtime.ts'

const heartbeatMs = 10_000
const longestMessage = 1_000_000

export const connectSocket: ConnectSocket = (url, listener) => attach(openSocket(url), listener)

/** A socket that does not keep the process running once it is open. */
export const connectIdleSocket: ConnectSocket = (url, listener) => {
  const socket = openSocket(url)
  socket.on('upgrade', (response) => response.socket.unref())
  return attach(socket, listener)
}

function openSocket(url: string): WebSocket {
  return new WebSocket(url, { maxPayload: longestMessage, handshakeTimeout: 5_000, followRedirects: false })
}

function attach(socket: WebSocket, listener: Parameters<ConnectSocket>[1]): ReturnType<ConnectSocket> {
  let isAlive = true
  const heartbeat = setInterval(() => {
    if (!isAlive) return socket.terminate()
    isAlive = false
    if (socket.readyState === WebSocket.OPEN) socket.ping()
  }, heartbeatMs)
  heartbeat.unref()
  const stir = () => {
    isAlive = true
  }
  socket.on('open', () => {
    stir()
    listener.opened()
  })
  socket.on('pong', stir)
  socket.on('message', (data) => {
    stir()
    listener.received(String(data))
  })
  // The following close event reports the error.
  socket.on('error', () => {})
  socket.on('close', () => {
    clearInterval(heartbeat)
    listener.closed()
  })
  return {
    send: (text) => {
      if (socket.readyState === WebSocket.OPEN) socket.send(text)
    },
    close: () => socket.terminate(),
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
