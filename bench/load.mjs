// Load on a server: some connections, each with one request under way. The connections stay open, so rounds may be short.
import { connect } from 'node:net'

/** @typedef {{ status?: number, headers?: Record<string, string> }} LoadOptions The expected status, 402 unless told. */

const connections = 32
const headEnd = Buffer.from('\r\n\r\n')
const lastChunk = Buffer.from('\r\n0\r\n\r\n')

/**
 * @param {string} address
 * @param {LoadOptions} [options]
 */
export function createLoad(address, { status = 402, headers = {} } = {}) {
  const { hostname, port, pathname } = new URL(address)
  const head = Object.entries({ Host: `${hostname}:${port}`, ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  )
  const request = `GET ${pathname} HTTP/1.1\r\n${head.join('')}\r\n`
  let left = 0
  let running = 0
  let done = () => {}
  /** @type {(error: Error) => void} */
  let fail = () => {}

  const lines = Array.from({ length: connections }, () => {
    const socket = connect(Number(port), hostname)
    let received = Buffer.alloc(0)
    let missing = -1
    const next = () => {
      missing = -1
      if (left > 0) {
        left -= 1
        socket.write(request)
      } else if (--running === 0) done()
    }
    socket.on('data', (chunk) => {
      if (missing < 0) {
        received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
        const end = received.indexOf(headEnd)
        if (end < 0) return
        const said = received.toString('latin1', 0, end)
        const length = /\r\ncontent-length: (\d+)/i.exec(said)?.[1]
        const isChunked = /\r\ntransfer-encoding: chunked/i.test(said)
        if (!said.startsWith(`HTTP/1.1 ${status}`) || (length === undefined && !isChunked))
          return fail(new Error(`Expected ${status}, got: ${said}`))
        if (isChunked && !received.subarray(-lastChunk.length).equals(lastChunk)) return undefined
        missing = isChunked ? 0 : end + headEnd.length + Number(length) - received.length
        received = Buffer.alloc(0)
      } else missing -= chunk.length
      if (missing === 0) next()
      else if (missing < 0) fail(new Error('The server sent more than one answer to a request.'))
    })
    socket.on('error', (error) => fail(error))
    socket.on('close', () => fail(new Error('The server closed a connection.')))
    return { next, close: () => socket.destroy() }
  })

  return {
    /**
     * Resolves after so many answers; rejects at the first answer with another status.
     *
     * @param {number} amount
     * @returns {Promise<void>}
     */
    run: (amount) =>
      new Promise((resolve, reject) => {
        ;[done, fail, left, running] = [resolve, reject, amount, connections]
        for (const line of lines) line.next()
      }),
    close: () => {
      for (const line of lines) line.close()
    },
  }
}
