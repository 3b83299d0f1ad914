/** Ports for programs that cannot choose one themselves. */
import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

/** A free port that no connection and no server without a chosen port gets before the program listens on it. */
export async function freePort(): Promise<number> {
  const port = randomInt(20_000, 30_000)
  const isFree = await new Promise<boolean>((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
  })
  return isFree ? port : freePort()
}
