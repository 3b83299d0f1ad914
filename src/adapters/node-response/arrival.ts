/**
 * Determines whether a body arrived, as far as its connection shows it.
 *
 * Node emits `finish` when the kernel has accepted a body, but the kernel does not report the arrival at the client. A
 * reset shows that the body did not arrive. A clean close, the next request on the connection, or over HTTP/2 the
 * response to a PING show that it did, because all of them follow the body. Without any of these, a quiet time decides.
 */
import type { ServerResponse } from 'node:http'
import type { ServerHttp2Session } from 'node:http2'
import { Socket } from 'node:net'

/**
 * A kernel buffers about as much as a connection carries in two round trips, and a round trip rarely takes more than a
 * second. Node closes an idle connection after five seconds, and a closed connection shows nothing.
 */
const quietMs = 2_000

/** Called with false for a connection that was reset. */
type Tell = (hasArrived: boolean) => void

/** The session of an HTTP/2 response, which is known only until the response is finished. */
export function readSession(response: ServerResponse): ServerHttp2Session | undefined {
  const { stream } = response as { readonly stream?: { readonly session?: ServerHttp2Session } }
  return stream?.session
}

/**
 * Calls `tell` once, later, with whether the body of a response has arrived. Must be called before Node's own listeners
 * of `finish`, which close a connection that is not kept alive. The returned function ends the wait: the body then
 * counts as arrived.
 */
export function awaitArrival(
  response: ServerResponse,
  session: ServerHttp2Session | undefined,
  tell: Tell,
): (() => void) | undefined {
  const { req } = response
  if (session) return watchSession(session, tell)
  // Test tools of frameworks replace the socket.
  return req?.socket instanceof Socket ? watchSocket(req.socket, req.complete, tell) : undefined
}

/**
 * The same for a response of `node:http` that may not be finished yet. A response that never finishes has not arrived.
 */
export function awaitEnd(response: ServerResponse, tell: Tell): () => void {
  let isTold = false
  let arrive: (() => void) | undefined
  const end = (hasArrived: boolean): void => {
    if (isTold) return
    isTold = true
    tell(hasArrived)
  }
  const watch = (): void => {
    arrive = awaitArrival(response, undefined, end)
    if (!arrive) end(true)
  }
  if (response.writableFinished) watch()
  else {
    response.prependOnceListener('finish', watch)
    response.once('close', () => arrive || end(response.writableFinished))
  }
  return () => (arrive ? arrive() : end(true))
}

/** One awaited body. */
interface Wait {
  /** Its request has arrived completely, so further bytes belong to the next one. */
  readonly isAsked: boolean
  end(hasArrived: boolean): void
}

interface Watch {
  readonly waits: Set<Wait>
  stop(): void
}

/**
 * Several bodies can be awaited on one connection. They share its listeners, which are removed with the last of them.
 */
const watches = new WeakMap<object, Watch>()

function waitOn(connection: object, watch: (waits: ReadonlySet<Wait>) => () => void, isAsked: boolean, tell: Tell) {
  let shared = watches.get(connection)
  if (!shared) {
    const waits = new Set<Wait>()
    shared = { waits, stop: watch(waits) }
    watches.set(connection, shared)
  }
  const { waits, stop } = shared
  const wait: Wait = {
    isAsked,
    end: (hasArrived) => {
      if (!waits.delete(wait)) return
      clearTimeout(timer)
      if (waits.size === 0) {
        watches.delete(connection)
        stop()
      }
      tell(hasArrived)
    },
  }
  waits.add(wait)
  const arrive = (): void => wait.end(true)
  const timer = setTimeout(arrive, quietMs)
  return arrive
}

function watchSocket(socket: Socket, isAsked: boolean, tell: Tell): () => void {
  const watch = (waits: ReadonlySet<Wait>) => {
    let isLast = false
    const { destroy } = socket
    const close = (hadError: boolean): void => {
      for (const wait of [...waits]) wait.end(!hadError)
    }
    const arrive = (): void => {
      for (const wait of [...waits]) if (wait.isAsked) wait.end(true)
    }
    // A client that closes its side makes Node close the connection.
    socket.on('close', close).on('data', arrive)
    // Node would close the connection here, and then receive no reset. Closing the sending half looks the same to the
    // client.
    socket.destroySoon = () => {
      isLast = true
      socket.end()
    }
    // A stopping server closes connections without a running response. A connection that both sides have ended closes
    // by itself.
    socket.destroy = (error) => {
      if (error || (socket.readableEnded && socket.writableFinished)) return destroy.call(socket, error)
      socket.destroySoon()
      return socket
    }
    return () => {
      socket.off('data', arrive).off('close', close)
      Reflect.deleteProperty(socket, 'destroySoon')
      Reflect.deleteProperty(socket, 'destroy')
      if (isLast) socket.destroySoon()
    }
  }
  return waitOn(socket, watch, isAsked, tell)
}

/** Requests on other streams prove nothing, because streams are independent. A PING follows the body in order. */
function watchSession(session: ServerHttp2Session, tell: Tell): () => void {
  const watch = (waits: ReadonlySet<Wait>) => {
    const endAll = (hasArrived: boolean): void => {
      for (const wait of [...waits]) wait.end(hasArrived)
    }
    const reset = (): void => endAll(false)
    const close = (hadError: boolean): void => endAll(!hadError)
    // The session itself closes without an error for a reset after a GOAWAY.
    const socket = session.destroyed ? undefined : session.socket
    // Bound, because a session releases its socket.
    const off = socket?.off.bind(socket)
    session.on('error', reset)
    socket?.on('close', close)
    return () => {
      session.off('error', reset)
      off?.('close', close)
    }
  }
  const arrive = waitOn(session, watch, true, tell)
  // It also fails if too many are pending, which proves nothing.
  if (!session.destroyed) session.ping((error) => error || arrive())
  return arrive
}
