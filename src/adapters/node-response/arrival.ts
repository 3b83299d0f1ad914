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

/** `isAsked`: the request has arrived whole, so that bytes that follow are of the next one. */
function watchSocket(socket: Socket, isAsked: boolean, tell: Tell): () => void {
  let isLast = false
  const end = (hasArrived: boolean): void => {
    clearTimeout(timer)
    socket.off('data', arrive).off('close', close)
    Reflect.deleteProperty(socket, 'destroySoon')
    if (isLast) socket.destroySoon()
    tell(hasArrived)
  }
  const arrive = (): void => end(true)
  const close = (hadError: boolean): void => end(!hadError)
  const timer = setTimeout(arrive, quietMs)
  // A client that closes its side makes Node close the connection.
  socket.once('close', close)
  if (isAsked) socket.once('data', arrive)
  // Node would close the connection with this, and then hear no reset. The client gets the same end by half of it.
  socket.destroySoon = () => {
    isLast = true
    socket.end()
  }
  return arrive
}

/** Requests on other streams show nothing, since they do not wait for each other; a PING follows the body in order. */
function watchSession(session: ServerHttp2Session, tell: Tell): () => void {
  let isOver = false
  const end = (hasArrived: boolean): void => {
    if (isOver) return
    isOver = true
    clearTimeout(timer)
    session.off('error', reset).off('close', arrive)
    tell(hasArrived)
  }
  const arrive = (): void => end(true)
  const reset = (): void => end(false)
  const timer = setTimeout(arrive, quietMs)
  session.once('error', reset).once('close', arrive)
  // It also fails where too many are on their way, which shows nothing.
  if (!session.destroyed) session.ping((error) => error || arrive())
  return arrive
}
