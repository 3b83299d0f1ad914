/**
 * The open connections of HTTP/2 servers. Node lists the connections of HTTP/1 servers only, so this file notes the
 * others while they are open.
 */
import { subscribe } from 'node:diagnostics_channel'
import { Server as HttpServer } from 'node:http'
import type { Http2Server, ServerHttp2Session, ServerHttp2Stream } from 'node:http2'
import { Server as HttpsServer } from 'node:https'
import type { Socket } from 'node:net'

export interface Http2Connections {
  /** Ends every session when its running responses have ended. Clients are told to send no more requests. */
  end(): void
  /** Breaks off all connections. */
  destroy(): void
}

interface Connections extends Http2Connections {
  readonly sockets: Set<Socket>
}

const byServer = new WeakMap<object, Connections>()

subscribe('net.server.socket', (message) => {
  const { socket } = message as { readonly socket: Socket & { readonly server?: object } }
  const { server } = socket
  if (!server || server instanceof HttpServer || server instanceof HttpsServer) return
  const known = byServer.get(server) ?? follow(server as Http2Server)
  byServer.set(server, known)
  known.sockets.add(socket)
  socket.once('close', () => known.sockets.delete(socket))
})

/** The first session of a server is older than this call, and is noted with its first request. */
function follow(server: Http2Server): Connections {
  const [sockets, sessions] = [new Set<Socket>(), new Set<ServerHttp2Session>()]
  let isEnding = false
  const note = (session: ServerHttp2Session): void => {
    if (sessions.has(session)) return
    sessions.add(session)
    session.once('close', () => sessions.delete(session))
    if (isEnding) session.close()
  }
  server.on('session', note)
  server.on('stream', ({ session }: ServerHttp2Stream) => session && note(session as ServerHttp2Session))
  return {
    sockets,
    end: () => {
      isEnding = true
      for (const session of sessions) session.close()
    },
    destroy: () => {
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** Undefined for servers of `node:http` and `node:https`, and for a server without connections so far. */
export function findHttp2Connections(server: object): Http2Connections | undefined {
  return byServer.get(server)
}
