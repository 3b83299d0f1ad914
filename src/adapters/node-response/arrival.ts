/**
 * Whether a body arrived, as far as its connection shows it.
 *
 * Node says `finish` when the kernel has taken a body, and the kernel does not say when the client has it. A reset tells
 * that it never will. A clean close, the next request on the connection, or over HTTP/2 the answer to a PING tell that it
 * does: all of them come after the body. Where nothing comes, a quiet time decides.
 */
import type { ServerResponse } from 'node:http'
import type { ServerHttp2Session } from 'node:http2'
import { Socket } from 'node:net'

/**
 * A kernel holds about as much as a connection carries in two round trips, and hardly any round trip takes more than a
 * second. Node ends an idle connection after five, and a closed connection tells nothing.
 */
const quietMs = 2_000

/** Called with false for a connection that was reset. */
type Tell = (hasArrived: boolean) => void

/** The session of a response over HTTP/2, which is known only until the response is finished. */
export function readSession(response: ServerResponse): ServerHttp2Session | undefined {
  const { stream } = response as { readonly stream?: { readonly session?: ServerHttp2Session } }
  return stream?.session
}

/**
 * Tells once, later, whether the body of a response has arrived. To be called before Node's own listeners of `finish`, which
 * close a connection that is not kept alive. The function returned ends the wait: the body then counts as arrived.
 */
export function awaitArrival(
  response: ServerResponse,
  session: ServerHttp2Session | undefined,
  tell: Tell,
): (() => void) | undefined {
  const { req } = response
  if (session) return watchSession(session, tell)
  // Tests of frameworks put something else in its place.
  return req?.socket instanceof Socket ? watchSocket(req.socket, req.complete, tell) : undefined
}

/** The same for a response of `node:http` that may not be finished yet; one that never will be has not arrived. */
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

/** One body that is awaited. */
interface Wait {
  /** Its request has arrived whole, so that bytes that follow are of the next one. */
  readonly isAsked: boolean
  end(hasArrived: boolean): void
}

interface Watch {
  readonly waits: Set<Wait>
  stop(): void
}

/** Many bodies may be awaited on one connection at once. They share its listeners, which end with the last of them. */
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
    // Node would close the connection with this, and then hear no reset. The client gets the same end by half of it.
    socket.destroySoon = () => {
      isLast = true
      socket.end()
    }
    // A server that stops closes connections on which no response runs. One that both sides have ended closes by itself.
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

/** Requests on other streams show nothing, since they do not wait for each other; a PING follows the body in order. */
function watchSession(session: ServerHttp2Session, tell: Tell): () => void {
  const watch = (waits: ReadonlySet<Wait>) => {
    const endAll = (hasArrived: boolean): void => {
      for (const wait of [...waits]) wait.end(hasArrived)
    }
    const reset = (): void => endAll(false)
    const close = (hadError: boolean): void => endAll(!hadError)
    // The session itself closes without an error for a reset that follows a GOAWAY.
    const socket = session.destroyed ? undefined : session.socket
    // Bound, since a session lets go of its socket.
    const off = socket?.off.bind(socket)
    session.on('error', reset)
    socket?.on('close', close)
    return () => {
      session.off('error', reset)
      off?.('close', close)
    }
  }
  const arrive = waitOn(session, watch, true, tell)
  // It also fails where too many are on their way, which shows nothing.
  if (!session.destroyed) session.ping((error) => error || arrive())
  return arrive
}
