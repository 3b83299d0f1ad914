/** Ends a response so that nobody takes it for whole. */
import type { ServerResponse } from 'node:http'
import { readLength } from './headers.ts'

/** Ends the connection after what was written, but without the mark by which a response ends. */
export function breakOff(response: ServerResponse): void {
  const { stream } = response as { readonly stream?: { destroy(error: Error): void } }
  const { socket } = response
  if (stream) stream.destroy(new Error('the allowance is used up'))
  else if (!socket) response.destroy()
  else if (!endsWithConnection(response)) socket.destroySoon()
  // A reset overtakes what is still on its way out, and nobody here can tell when that has left.
  else socket.write('', () => setTimeout(() => socket.resetAndDestroy(), flushMs))
}

const flushMs = 25

/** Ends a response at once. */
export function tearDown(response: ServerResponse): void {
  if (endsWithConnection(response)) response.socket?.resetAndDestroy()
  response.destroy()
}

/** Whether the end of the connection is the only mark of its end, as over HTTP/1.0: one that is cut looks whole then. */
function endsWithConnection(response: ServerResponse): boolean {
  return response.headersSent && response.chunkedEncoding === false && readLength(response) === undefined
}
