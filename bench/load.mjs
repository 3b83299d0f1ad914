// Load on a server that answers 402 (or whatever status it is to be): some connections, each with one request on its way. Rounds may be short, because the
// connections stay.
import { connect } from 'node:net'

const connections = 32
const headEnd = Buffer.from('\r\n\r\n')

export function createLoad(address, { status = 402, headers = {} } = {}) {
  const { hostname, port, pathname } = new URL(address)
  const head = Object.entries({ Host: `${hostname}:${port}`, ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  )
  const request = `GET ${pathname} HTTP/1.1\r\n${head.join('')}\r\n`
  let left = 0
  let running = 0
  let done = () => {}
  let broken = () => {}

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
        const said = received.latin1Slice(0, end)
        const length = /\r\ncontent-length: (\d+)/i.exec(said)?.[1]
        if (!said.startsWith(`HTTP/1.1 ${status}`) || length === undefined)
          return broken(new Error(`not a ${status}: ${said}`))
        missing = end + headEnd.length + Number(length) - received.length
        received = Buffer.alloc(0)
      } else missing -= chunk.length
      if (missing === 0) next()
      else if (missing < 0) broken(new Error('more came than was asked for'))
    })
    socket.on('error', (error) => broken(error))
    socket.on('close', () => broken(new Error('the server closed a connection')))
    return { next, close: () => socket.destroy() }
  })

  return {
    /** Resolves when so many answers have come; rejects at the first of another status. */
    run: (amount) =>
      new Promise((resolve, reject) => {
        ;[done, broken, left, running] = [resolve, reject, amount, connections]
        for (const line of lines) line.next()
      }),
    close: () => {
      for (const line of lines) line.close()
    },
  }
}
