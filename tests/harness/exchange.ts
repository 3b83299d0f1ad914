/** One response of a server of Node, as bytes. */
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, Socket } from 'node:net'
import { vi } from 'vitest'
import { sendRaw } from './raw.ts'

export interface Exchange {
  /** The bytes of the response. */
  readonly text: string
  /** How often the server handed several pieces to the socket. */
  readonly inPieces: number
}

/** Sends one request to a server with this listener. */
export async function exchange(listener: RequestListener, method = 'GET'): Promise<Exchange> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const writev = vi.spyOn(Socket.prototype as Socket & { _writev: () => void }, '_writev')
  try {
    const text = await sendRaw(url, `${method} / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`)
    return { text, inPieces: writev.mock.calls.length }
  } finally {
    writev.mockRestore()
    server.close()
  }
}
