/** Starts a local chain for a command, and closes it when the command stops. */
import { randomBytes } from 'node:crypto'
import { createServer } from 'node:net'
import { constants } from 'node:os'
import { encodeBase58 } from '../core/encoding/base58.ts'
import { announceLocalnet, findLocalnets, keptLocalnets, localnetDirectory, withdrawLocalnet } from '../host/home.ts'
import { LocalnetDataError, startLocalnet } from '../localnet/index.ts'
import { CommandError } from './output.ts'

export interface OwnChainOptions {
  readonly port?: number | undefined
  readonly slotMs?: number | undefined
  readonly keep?: boolean | undefined
}

const usualPort = 8899

export async function startOwnChain(options: OwnChainOptions) {
  const port = options.port ?? ((await isFree(usualPort)) && (await isFree(usualPort + 1)) ? usualPort : 0)
  const genesisHash = options.keep ? chainToKeep() : encodeBase58(randomBytes(32))
  const directory = localnetDirectory(genesisHash)
  const localnet = await startLocalnet({
    port,
    genesisHash,
    ...(options.slotMs !== undefined && { slotMs: options.slotMs }),
    ...(options.keep && { dataDir: directory }),
  }).catch((error: unknown) => {
    throw explain(error, port)
  })
  return {
    localnet,
    /** Files of this chain, which are useless without it. */
    directory,
    /** Lets other programs of this user find the chain and its funded wallet. */
    announce: (walletFile?: string) =>
      announceLocalnet({
        genesis: localnet.genesisHash,
        rpcUrl: localnet.rpcUrl,
        ...(walletFile !== undefined && { walletFile }),
      }),
    close: async () => {
      await localnet.close()
      withdrawLocalnet(localnet.genesisHash)
    },
  }
}

export type OwnChain = Awaited<ReturnType<typeof startOwnChain>>

/** The chain that was kept last, unless it runs; otherwise a new one. */
function chainToKeep(): string {
  const running = new Set(findLocalnets().map((note) => note.genesis))
  const [kept] = keptLocalnets().filter((genesis) => !running.has(genesis))
  return kept ?? encodeBase58(randomBytes(32))
}

function explain(error: unknown, port: number): unknown {
  const { code } = ((error as Error).cause ?? error) as NodeJS.ErrnoException
  if (code === 'EADDRINUSE')
    return new CommandError('usage', 'port_in_use', `Port ${port} or ${port + 1} is in use. Choose others with --port.`)
  if (error instanceof LocalnetDataError) return new CommandError('usage', 'chain_data', error.message)
  return error
}

/** The code of the error from listening; undefined on success. */
export function tryPort(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'unknown'))
    probe.listen(port, host, () => probe.close(() => resolve(undefined)))
  })
}

export async function isFree(port: number): Promise<boolean> {
  return (await tryPort('127.0.0.1', port)) === undefined
}

/**
 * A second signal within this time counts as the same: npm repeats the signal that the terminal sent to all processes.
 */
const sameSignalMs = 500

/** Resolves at Ctrl-C or on a request to terminate. A second request during the shutdown ends the process at once. */
export function untilStopped(): Promise<void> {
  return new Promise((resolve) => {
    let asked: number | undefined
    const stop = (signal: NodeJS.Signals): void => {
      const now = performance.now()
      if (asked !== undefined && now - asked > sameSignalMs) process.exit(128 + constants.signals[signal])
      asked ??= now
      resolve()
    }
    process.on('SIGINT', stop)
    process.on('SIGTERM', stop)
  })
}
