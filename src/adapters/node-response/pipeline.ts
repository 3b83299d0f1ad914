/** Responses that wait for their turn in a pipeline. They share one listener of their connection, however many they are. */
import type { Socket } from 'node:net'

const waiting = new WeakMap<Socket, Set<() => void>>()

/** Calls back when the connection closes. The function returned calls it off. */
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
