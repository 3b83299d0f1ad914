// The parts that benchmarks share: one chain, one PostgreSQL server, one payer. Each starts when it is first needed.
import { randomBytes } from 'node:crypto'
import { createAddress } from './keys.mjs'

/**
 * @typedef {ReturnType<typeof createSetting>} Setting
 * @typedef {Awaited<ReturnType<typeof startLocalnet>>} Localnet
 * @typedef {import('./processes.mjs').Processes} Processes
 */

const slotMs = 50
/** For ten million payments. */
const largeFlags = ['-c', 'shared_buffers=512MB', '-c', 'max_wal_size=4GB']

/**
 * @param {object} parts
 * @param {Processes} parts.processes
 * @param {string} parts.home A folder that is removed after the run.
 * @param {(line: string) => void} parts.say
 * @param {boolean} parts.isLarge
 * @param {string} parts.against The build of the version that the ledger is compared with.
 */
export function createSetting({ processes, home, say, isLarge, against }) {
  const localnet = once(() => startLocalnet(processes))
  const postgres = once(() =>
    processes.start('postgres', { flags: isLarge ? largeFlags : [] }, { placement: 'anywhere' }),
  )
  return {
    home,
    say,
    against,
    processes,
    localnet,
    /** The address of an empty place for a ledger in PostgreSQL. */
    postgresPlace: async () => (await postgres()).ask('place'),
    // Imported here, since most of the time of its start goes into kit, which many benchmarks do without.
    payer: once(async () => (await import('./shop.mjs')).createPayer(await localnet())),
    /** Options for a service with a wallet of its own, so that its watcher sees no payments but its own. */
    provider: async () => {
      const { rpcUrl, fund } = await localnet()
      const recipient = createAddress()
      await fund(recipient, { SOL: 10_000_000n, USDC: 0n })
      return { network: /** @type {const} */ ('localnet'), recipient, rpc: rpcUrl, secret: createSecret() }
    },
    /** As in production, but no node can be reached: an unpaid request needs none. */
    offlineProvider: () => ({
      network: /** @type {const} */ ('devnet'),
      recipient: createAddress(),
      rpc: 'http://127.0.0.1:1',
      ledger: `${home}/offline-${randomBytes(4).toString('hex')}.sqlite`,
      secret: createSecret(),
    }),
  }
}

/** @param {Processes} processes */
async function startLocalnet(processes) {
  const part = await processes.start('localnet', { slotMs }, { placement: 'anywhere' })
  return {
    ...part.facts,
    /**
     * Pays test money, and opens the token accounts that the wallet lacks.
     *
     * @param {string} address
     * @param {Record<string, bigint>} amounts
     */
    fund: (address, amounts) => part.ask('fund', [address], amounts),
    /**
     * Opens an empty account of a token for each wallet.
     *
     * @param {readonly string[]} addresses
     * @param {string} token
     */
    openAccounts: (addresses, token) => part.ask('fund', addresses, { [token]: 0n }),
  }
}

/** A keyring of one random key. */
export function createSecret() {
  return `1:${randomBytes(32).toString('hex')}`
}

/**
 * @template T
 * @param {() => Promise<T>} start
 * @returns {() => Promise<T>}
 */
function once(start) {
  /** @type {Promise<T> | undefined} */
  let started
  return () => {
    started ??= start()
    return started
  }
}
