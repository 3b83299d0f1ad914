/** A wire to a server on this machine that can be cut: nothing comes through any more, and nobody is told. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface Wire {
  readonly port: number
  cut(): void
  close(): Promise<void>
}

export async function createWire(to: number): Promise<Wire> {
  const sockets = new Set<Socket>()
  let isCut = false
  const server = createServer((near) => {
    const far = connect(to, '127.0.0.1')
    for (const [from, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from)
      from.on('data', (bytes) => isCut || other.write(bytes))
      from.on('error', () => {})
      from.on('close', () => {
        sockets.delete(from)
        if (!isCut) other.destroy()
      })
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    cut: () => {
      isCut = true
    },
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
