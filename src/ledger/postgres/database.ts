/** A PostgreSQL server for the ledger: each statement is a transaction, and errors are classified. */
import { createHash } from 'node:crypto'
import type pg from 'pg'
import { LedgerUnavailable } from '../../core/ports/ledger.ts'
import { parsePostgresUrl } from '../../core/ports/ledger-url.ts'
import type { Clock } from '../../core/runtime.ts'
import { LedgerConfigurationError } from '../identity.ts'
import { type Connection, createHosts, NoHost } from './hosts.ts'

export interface Database {
  /** The URL without the password. */
  readonly name: string
  /** Whether another server may take over. */
  readonly hasStandby: boolean
  /**
   * Runs one statement. It is committed when the promise resolves. Throws `LedgerUnavailable` if its commit is
   * uncertain.
   */
  query(
    statement: string,
    values?: readonly unknown[],
    options?: QueryOptions,
  ): Promise<readonly Record<string, unknown>[]>
  /** Runs several statements in one transaction. */
  transact<T>(work: (query: Database['query']) => Promise<T>): Promise<T>
  /** A clock that follows the database's clock. */
  followClock(count?: Clock['monotonic']): Promise<Clock>
  close(): Promise<void>
}

export interface QueryOptions {
  /** For statements that may run longer than the usual timeout. */
  readonly timeoutMs?: number
  /** The server keeps the plan if it can, because planning may take longer than the statement. */
  readonly isFrequent?: boolean
}

const clockEveryMs = 2_000
/** Longer measurements of the clock are discarded. */
export const longestClockMs = 200
/** Smaller differences between two measurements are corrections. */
const leastPauseMs = 1_000

/** A conflict with another transaction. Nothing was written. */
const inTheWay: readonly string[] = ['40001', '40P01']
/** The server has become a standby. Nothing was written. */
const readOnly = '25006'
/** The server has closed the connection, because a transaction waited too long for its next statement. */
const wasIdle = '25P03'
/** A pooler assigns a new connection to each statement. Nothing was written. */
const isShared: readonly string[] = ['26000', '42P05']
/** Errors that a retry does not solve: credentials, missing database, missing permissions, wrong settings. */
export const grantRights = 'grant it CREATE on the schema, or let its owner start paystile once'

const operatorMustAct: Readonly<Record<string, (detail: string) => readonly [problem: string, remedy: string]>> = {
  '28P01': () => ['does not accept this user and password', 'check PAYSTILE_LEDGER'],
  '28000': (detail) => [`refuses this user (${detail})`, 'check PAYSTILE_LEDGER and pg_hba.conf'],
  '3D000': () => ['does not exist on its server', 'create it with createdb, or use another database'],
  '42501': (detail) => [`gives this user too few rights (${detail})`, grantRights],
  '3F000': () => ['has no schema for the tables', 'set search_path for this user to an existing schema'],
}

export function openDatabase(url: string, timeoutMs: number): Database {
  const place = parsePostgresUrl(url)
  if (place.kind === 'malformed') throw new LedgerConfigurationError(`The ledger ${place.why}`, place.remedy)
  const { name } = place
  const hosts = createHosts(place.urls, timeoutMs)
  let closed: Promise<void> | undefined
  let timer: ReturnType<typeof setTimeout> | undefined

  const connect = async (): Promise<Connection> => {
    if (closed) throw new LedgerUnavailable(`The ledger ${name} is closed.`)
    try {
      return await hosts.connect()
    } catch (error) {
      throw explain(name, error)
    }
  }
  let keepsPlans = true
  const run = async (
    client: pg.PoolClient,
    text: string,
    values: readonly unknown[],
    { timeoutMs, isFrequent = false }: QueryOptions = {},
  ): Promise<Record<string, unknown>[]> => {
    const isKept = isFrequent && keepsPlans
    const more = { ...(timeoutMs && { query_timeout: timeoutMs }), ...(isKept && { name: nameOf(text) }) }
    try {
      const { rows } = await client.query({ text, values: [...values], ...more })
      return rows
    } catch (error) {
      if (!isKept || !isShared.includes(codeOf(error) ?? '')) throw error
      keepsPlans = false
      return run(client, text, values)
    }
  }
  const using = async <T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T> => {
    for (let demoted = 0; ; ) {
      const { client, release } = await connect()
      let state: Parameters<typeof release>[0] = 'broken'
      try {
        const result = await work(client)
        state = 'fine'
        return result
      } catch (error) {
        const code = codeOf(error) ?? ''
        // An error of a statement does not affect the connection.
        if (/^(22|23|25|40|42)/.test(code) && code !== wasIdle) state = code === readOnly ? 'demoted' : 'fine'
        if (state === 'demoted') demoted += 1
        const isElsewhere = state === 'demoted' && demoted < hosts.count
        if (!isElsewhere && !inTheWay.includes(code)) throw explain(name, error)
      } finally {
        release(state)
      }
    }
  }

  const database: Database = {
    name,
    hasStandby: hosts.count > 1,
    query: (statement, values = [], options) => using((client) => run(client, statement, values, options)),
    transact: (work) =>
      using((client) =>
        transactOn(client, timeoutMs, () =>
          work((statement, values = [], options) => run(client, statement, values, options)),
        ),
      ),
    followClock: async (count = () => performance.now()) => {
      // On an established connection, because a slow response makes the measurement inexact, and a clock that is ahead
      // would let valid leases lapse.
      const { clock, measure } = createMeasuredClock(count, (work) =>
        using((client) => work((text) => run(client, text, []))),
      )
      await measure()
      const later = (): void => {
        timer = setTimeout(
          () =>
            void measure()
              .catch(() => {})
              .then(later),
          clockEveryMs,
        )
        timer.unref()
      }
      later()
      return clock
    },
    close: async () => {
      clearTimeout(timer)
      closed ??= hosts.close()
      await closed
    },
  }
  return database
}

type Ask = (text: string) => ReturnType<Database['query']>

/** The database's clock, as last measured. It goes by the counter between measurements. */
function createMeasuredClock(
  count: Clock['monotonic'],
  onConnection: (work: (ask: Ask) => Promise<void>) => Promise<void>,
) {
  let offset = Number.NaN
  let sleptMs = 0
  const measure = () =>
    onConnection(async (ask) => {
      const asked = count()
      const [row] = await ask('SELECT extract(epoch FROM clock_timestamp()) * 1000 AS now')
      const answered = count()
      if (answered - asked > longestClockMs && !Number.isNaN(offset)) return
      const measured = Number(row?.['now']) - (asked + answered) / 2
      // The machine was paused, and its own clocks do not show it. For other servers, its leases have ended.
      if (measured - offset > leastPauseMs) sleptMs += measured - offset
      offset = measured
    })
  const clock: Clock = { now: () => count() + offset, monotonic: () => count() + sleptMs }
  return { clock, measure }
}

/** A server that the network cuts off must not keep its locks from the others until the connection times out. */
async function transactOn<T>(client: pg.PoolClient, longestIdleMs: number, work: () => Promise<T>): Promise<T> {
  await client.query(`BEGIN; SET LOCAL idle_in_transaction_session_timeout = ${longestIdleMs}`)
  try {
    const result = await work()
    await client.query('COMMIT')
    return result
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {})
    throw error
  }
}

const names = new Map<string, string>()

/** The name of a statement, the same in all versions that contain it. */
function nameOf(text: string): string {
  const name = names.get(text) ?? `paystile_${createHash('sha256').update(text).digest('hex').slice(0, 16)}`
  names.set(text, name)
  return name
}

function explain(name: string, error: unknown): unknown {
  if (error instanceof LedgerUnavailable || error instanceof LedgerConfigurationError) return error
  if (error instanceof NoHost) {
    // At least one server must be usable. Problems that the operator must solve are reported before temporary ones.
    const reasons = error.reasons.map((reason) => explain(name, reason))
    return reasons.find((reason) => reason instanceof LedgerConfigurationError) ?? unavailable(name, error)
  }
  const detail = error instanceof Error ? error.message : String(error)
  if (/client password must be a string/.test(detail)) {
    const problem = `The ledger ${name} requires a password, but its address has none`
    return new LedgerConfigurationError(problem, 'use postgres://user:password@host/database', { cause: error })
  }
  const [problem, remedy] = operatorMustAct[codeOf(error) ?? '']?.(detail) ?? []
  if (problem !== undefined && remedy !== undefined)
    return new LedgerConfigurationError(`The ledger ${name} ${problem}`, remedy, { cause: error })
  if (isFault(codeOf(error))) return error
  return unavailable(name, error)
}

function unavailable(name: string, error: unknown): LedgerUnavailable {
  const causes: readonly unknown[] = error instanceof NoHost ? error.reasons : [error]
  const codes = causes.map((cause) => (cause as { readonly code?: unknown } | undefined)?.code)
  const isUnreachable = codes.some((code) => typeof code === 'string' && unreachable.includes(code))
  const remedy = isUnreachable ? ' Check that PostgreSQL runs there, and the host and port of the ledger.' : ''
  // Node's error for a host with several addresses has no message.
  const detail = (error instanceof Error ? error.message : String(error)) || codes.join(', ')
  return new LedgerUnavailable(`The ledger ${name} cannot be used at the moment: ${detail}.${remedy}`, { cause: error })
}

/** The system's codes for a server that no connection reaches. */
const unreachable: readonly string[] = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'ETIMEDOUT', 'EHOSTUNREACH']

/** Errors of statements that should not have been sent: syntax, types, violated constraints. */
function isFault(code: string | undefined): boolean {
  return code !== undefined && /^(22|23|42)/.test(code)
}

/** The SQLSTATE, if the server itself returned the error. */
function codeOf(error: unknown): string | undefined {
  const code = (error as { readonly code?: unknown } | undefined)?.code
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : undefined
}
