/**
 * Connections to the writable server among several PostgreSQL servers. It changes when a standby takes over, so each
 * connection checks it.
 */
import pg from 'pg'
import { PaystileError } from '../../core/errors/paystile-error.ts'

export interface Connection {
  readonly client: pg.PoolClient
  /** Returns the connection. `broken` discards it. `demoted` also prefers the other servers from now on. */
  release(state: 'fine' | 'broken' | 'demoted'): void
}

export interface Hosts {
  readonly count: number
  /** Connects to the first server that responds and is writable. Rejects with the reasons of all servers if none is. */
  connect(): Promise<Connection>
  close(): Promise<void>
}

/** No server could be used. `reasons` are in the order of the attempts. */
export class NoHost extends PaystileError {
  override readonly name = 'NoHost'
  readonly reasons: readonly unknown[]
  constructor(reasons: readonly unknown[]) {
    const texts = reasons.map((reason) => (reason instanceof Error ? reason.message : String(reason)))
    super('no_host', [...new Set(texts)].join('; '))
    this.reasons = reasons
  }
}

const mostConnections = 8
const isStandby = "SELECT pg_is_in_recovery() OR current_setting('default_transaction_read_only') = 'on' AS standby"

export function createHosts(urls: readonly string[], timeoutMs: number): Hosts {
  const several = urls.length > 1
  const pools = urls.map((connectionString) => {
    const pool = new pg.Pool({
      connectionString,
      max: mostConnections,
      // All servers together share the timeout of one, because an absent machine does not even refuse a connection.
      connectionTimeoutMillis: Math.ceil(timeoutMs / urls.length),
      query_timeout: timeoutMs,
      keepAlive: true,
      application_name: 'paystile',
      ...(several && { onConnect: refuseStandby }),
    })
    // An idle connection that breaks is replaced when one is needed. This covers connections in the pool and those that
    // were just taken from it.
    pool.on('error', () => {})
    pool.on('connect', (client) => client.on('error', () => {}))
    return pool
  })
  let preferred = 0

  return {
    count: urls.length,
    async connect() {
      const reasons: unknown[] = []
      for (let step = 0; step < pools.length; step += 1) {
        const index = (preferred + step) % pools.length
        try {
          const client = await (pools[index] as pg.Pool).connect()
          preferred = index
          return { client, release: (state) => release(client, index, state) }
        } catch (error) {
          reasons.push(error)
        }
      }
      throw several ? new NoHost(reasons) : reasons[0]
    },
    async close() {
      await Promise.all(pools.map((pool) => pool.end()))
    },
  }

  function release(client: pg.PoolClient, index: number, state: Parameters<Connection['release']>[0]): void {
    client.release(state !== 'fine')
    if (state === 'demoted' && preferred === index) preferred = (index + 1) % pools.length
  }
}

async function refuseStandby(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query(isStandby)
  if (rows[0]?.standby !== false) throw new Error('the server is a standby')
}
