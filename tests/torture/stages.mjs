/** Where the ledger lies, and how it is struck: a file, one PostgreSQL server, or the cluster of deploy/ha. */
import { execFile, execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import pg from 'pg'
import { startPostgres } from '../harness/postgres.mjs'

const run = promisify(execFile)
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

export function openFile(home) {
  const file = join(home, 'ledger.sqlite')
  return { name: 'SQLite', ledger: file, database: async () => ({ file }), close: async () => {} }
}

export async function openServer() {
  const postgres = await startPostgres()
  const ledger = await postgres.place()
  return {
    name: 'PostgreSQL',
    ledger,
    database: async () => ({ url: ledger }),
    everyMs: 5_000,
    /** How long a strike takes at most, the time before it included. */
    roomMs: 5_000,
    async strike() {
      await postgres.kill()
      await pause(100 * Math.random())
      await postgres.start()
    },
    close: postgres.close,
  }
}

const script = (name) => fileURLToPath(new URL(`../../deploy/ha/${name}`, import.meta.url))

export async function openCluster() {
  const folder = mkdtempSync(join(tmpdir(), 'paystile-ha-'))
  const abandon = () => execFileSync(script('stop'), [folder], { stdio: 'ignore' })
  process.once('exit', abandon)
  const { stdout } = await run(script('start'), [folder])
  const ledger = stdout.trim().split('\n').at(-1) ?? ''
  const ports = [...ledger.matchAll(/:(\d+)/g)].map(([, port]) => port)
  const members = ['one', 'two'].map((name, index) => ({
    name,
    url: `postgres://postgres@127.0.0.1:${ports[index]}/postgres`,
  }))
  /** The one that leads; undefined while there is none. */
  const leader = async () => {
    for (const member of members) {
      const rows = await ask(member.url, 'SELECT pg_is_in_recovery() AS standby').catch(() => [])
      if (rows[0]?.standby === false) return member
    }
    return undefined
  }
  const has = async (url, condition) => (await ask(url, `SELECT ${condition} AS met`).catch(() => []))[0]?.met === true

  return {
    name: 'PostgreSQL with a synchronous standby',
    ledger,
    database: leader,
    everyMs: 5_000,
    roomMs: 50_000,
    /** Leader and Patroni die as with their machine. The machine comes back when another leads. */
    async strike() {
      const old = await leader()
      const next = members.find((member) => member !== old)
      if (!old || !next) throw new Error('nobody leads')
      const [postmaster = ''] = readFileSync(join(folder, `data-${old.name}`, 'postmaster.pid'), 'utf8').split('\n')
      const patroni = readFileSync(join(folder, 'run', `${old.name}.pid`), 'utf8').trim()
      const { stdout: backends } = await run('pgrep', ['-P', postmaster])
      for (const pid of [patroni, postmaster, ...backends.trim().split('\n')]) end(Number(pid))
      while (!(await has(next.url, 'NOT pg_is_in_recovery()'))) await pause(200)
      await run(script('start'), [folder, old.name])
      while (!(await has(next.url, "EXISTS (SELECT FROM pg_stat_replication WHERE sync_state = 'sync')")))
        await pause(200)
    },
    async close() {
      process.off('exit', abandon)
      await run(script('stop'), [folder])
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function ask(url, sql) {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000, query_timeout: 2_000 })
  client.on('error', () => {})
  try {
    await client.connect()
    return (await client.query(sql)).rows
  } finally {
    await client.end().catch(() => {})
  }
}

/** Backends that have noticed the death of their server are gone already. */
function end(pid) {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ESRCH') throw error
  }
}
