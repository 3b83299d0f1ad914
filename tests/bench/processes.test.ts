/** The processes of a benchmark run: one that fails is named, and none outlives the run. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, it } from 'vitest'
import { cells, inFull, itInFull } from '../harness/length.ts'

interface Run {
  readonly child: ChildProcess
  /** Where it keeps its files. */
  readonly folder: string
  readonly ended: Promise<{ readonly code: number | null; readonly said: string }>
}

const root = fileURLToPath(new URL('../..', import.meta.url))
const runs: Run[] = []
afterEach(() => {
  for (const { child, folder } of runs.splice(0)) {
    if (isGroupAlive(child)) process.kill(-Number(child.pid), 'SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
})

/** Starts benchmarks in a process group of their own. `preload` runs in each process before anything else. */
function start(args: readonly string[], preload = ''): Run {
  const folder = mkdtempSync(join(tmpdir(), 'paystile-bench-test-'))
  // PostgreSQL, which never runs as root, must be able to reach its folder.
  chmodSync(folder, 0o755)
  const env = {
    ...process.env,
    TMPDIR: folder,
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(preload)}`,
  }
  const child = spawn(process.execPath, ['bench/run.mjs', ...args], {
    ...{ cwd: root, env, detached: true },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let said = ''
  child.stderr?.on('data', (bytes) => {
    said += bytes
  })
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, said }))
  const run = { child, folder, ended }
  runs.push(run)
  return run
}

function isGroupAlive({ pid }: ChildProcess): boolean {
  try {
    return process.kill(-Number(pid), 0)
  } catch {
    return false
  }
}

/** Waits for the run's PostgreSQL server, and returns its port; 0 while it is only being set up. */
async function findDatabase({ folder }: Run, state: 'set up' | 'ready'): Promise<number> {
  const read = () => {
    const [name = ''] = findFolders(folder)
    const path = join(folder, name, 'data', 'postmaster.pid')
    const [, , , port, , , , status] = existsSync(path) ? readFileSync(path, 'utf8').split('\n') : []
    if (status?.trim() === 'ready') return Number(port)
    return state === 'set up' && name !== '' ? 0 : undefined
  }
  let port: number | undefined
  const look = () => {
    port = read()
    return port
  }
  await expect.poll(look).toBeDefined()
  return port ?? 0
}

/** The folders of PostgreSQL servers. */
function findFolders(folder: string): readonly string[] {
  return readdirSync(folder).filter((name) => /^paystile-postgres-\w{6}$/.test(name))
}

async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  const isOpen = await new Promise<boolean>((resolve) => {
    socket.once('connect', () => resolve(true))
    socket.once('error', () => resolve(false))
  })
  socket.destroy()
  return isOpen
}

it('ends with an error that names the process that died under load', async () => {
  const dies = `import { Server } from 'node:http'
    const { emit } = Server.prototype
    Server.prototype.emit = function (...args) { return args[0] === 'request' ? process.exit(7) : emit.apply(this, args) }`
  const { code, said } = await start(['--only', 'memory'], dies).ended
  expect(code).toBe(1)
  expect(said).toContain(
    'The process of bench/parts/server.mjs (node under 200,000 requests) ended with exit code 7 before it was stopped.',
  )
})

itInFull('ends with an error that names the process that died while the run waits for its listeners', async () => {
  const dies = `const { emit } = process
    process.emit = function (...args) {
      if (args[1]?.question === 'pay') setTimeout(() => process.exit(7), 20)
      return emit.apply(this, args)
    }`
  const { code, said } = await start(['--only', 'stream'], dies).ended
  expect(code).toBe(1)
  expect(said).toContain('The process of bench/parts/stream.mjs (1 listeners) ended with exit code 7')
})

itInFull('ends with an error that names the part that cannot be opened', async () => {
  const breaks = `import { Server } from 'node:net'
    Server.prototype.listen = () => { throw new Error('no port is free') }`
  const { code, said } = await start(['--smallest', '--only', 'unpaid/hono'], breaks).ended
  expect(code).toBe(1)
  expect(said).toContain('bench/parts/server.mjs (hono): Error: no port is free')
})

const states = ['set up', 'ready'] as const

it.each(cells(states, 2, 1))(
  'leaves no process and no file behind at a Ctrl-C, which reaches all processes, while the database is %s',
  async (state) => {
    const run = start(['--only', 'known/replicas'])
    const port = await findDatabase(run, state)
    process.kill(-Number(run.child.pid), 'SIGINT')
    const { code } = await run.ended
    expect(code).toBe(130)
    // A program that sets up a database ends by itself at the same signal, perhaps a moment later.
    if (state === 'ready') expect(isGroupAlive(run.child)).toBe(false)
    expect(port > 0 && (await isListening(port))).toBe(false)
    expect(readdirSync(run.folder)).toEqual([])
  },
)

it.each(inFull(states))(
  'leaves no process behind when the run itself is killed while the database is %s',
  async (state) => {
    const run = start(['--only', 'known/replicas'])
    const port = await findDatabase(run, state)
    process.kill(Number(run.child.pid), 'SIGKILL')
    await run.ended
    await expect.poll(() => findFolders(run.folder)).toEqual([])
    expect(port > 0 && (await isListening(port))).toBe(false)
  },
)
