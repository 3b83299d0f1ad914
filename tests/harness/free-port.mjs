/** Ports for programs that cannot choose one themselves. */
import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

/** @returns {Promise<number>} */
export async function freePort() {
  const port = randomInt(20_000, 30_000)
  const isFree = await new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
  })
  return isFree ? port : freePort()
}
