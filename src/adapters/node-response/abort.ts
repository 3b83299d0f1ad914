/** Ends a response so that it does not look complete. */
import type { ServerResponse } from 'node:http'
import { readLength } from './headers.ts'

/** Closes the connection after the written bytes, but without the end mark of the response. */
export function breakOff(response: ServerResponse): void {
  const { stream } = response as { readonly stream?: { destroy(error: Error): void } }
  const { socket } = response
  if (stream) stream.destroy(new Error('the allowance is used up'))
  else if (!socket) response.destroy()
  else if (!endsWithConnection(response)) socket.destroySoon()
  // A reset discards bytes that are still being sent, and their departure cannot be observed here.
  else socket.write('', () => setTimeout(() => socket.resetAndDestroy(), flushMs))
}

const flushMs = 25

/** Ends a response at once. */
export function tearDown(response: ServerResponse): void {
  if (endsWithConnection(response)) response.socket?.resetAndDestroy()
  response.destroy()
}

/**
 * Whether the close of the connection is the only end mark, as in HTTP/1.0. A truncated response would then look
 * complete.
 */
function endsWithConnection(response: ServerResponse): boolean {
  return response.headersSent && response.chunkedEncoding === false && readLength(response) === undefined
}
