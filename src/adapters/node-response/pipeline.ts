/** Responses that wait for their turn in a pipeline. All share one listener of their connection. */
import type { Socket } from 'node:net'

const waiting = new WeakMap<Socket, Set<() => void>>()

/** Calls back when the connection closes. The returned function cancels that. */
export function awaitClose(socket: Socket, call: () => void): () => void {
  let calls = waiting.get(socket)
  if (!calls) {
    const all = new Set<() => void>()
    calls = all
    waiting.set(socket, all)
    socket.once('close', () => {
      for (const one of all) one()
    })
  }
  calls.add(call)
  return () => void calls.delete(call)
}
