/**
 * Connections to the one of several PostgreSQL servers that may be written to. Which one that is changes when a standby
 * takes over, so it is never remembered for longer than it holds.
 */
import pg from 'pg'
import { PaystileError } from '../../core/errors/paystile-error.ts'

export interface Connection {
  readonly client: pg.PoolClient
  /** Gives it back; `broken` throws it away, `demoted` also looks to the other servers first from now on. */
  release(state: 'fine' | 'broken' | 'demoted'): void
}

export interface Hosts {
  readonly count: number
  /** From the first server that answers and may be written to. Rejects with every server's reason when none does. */
  connect(): Promise<Connection>
  close(): Promise<void>
}

/** No server could be used. `reasons` are in the order in which they were tried. */
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
      // Together they may take as long as one alone: a machine that is gone does not even refuse.
      connectionTimeoutMillis: Math.ceil(timeoutMs / urls.length),
      query_timeout: timeoutMs,
      keepAlive: true,
      application_name: 'paystile',
      ...(several && { onConnect: refuseStandby }),
    })
    // A connection that breaks while nobody waits for it is replaced when somebody needs one: both kinds, those that lie
    // in the pool and those that were just taken out of it.
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
