// Brings a checkout to the point where it can run: installs and builds what is missing or stale, and nothing else.
// Everything it says goes to stderr, so that a command's own output stays clean.
import './node-version.mjs'
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('..', import.meta.url))
const builtStamp = join(root, 'dist', '.built')
const memoProgram = 'memo-v3.so.gz'

/** Installs the packages of the product, or with `everything` those of the tests and benchmarks too, which then stay. */
export async function install({ everything = existsSync(join(root, 'node_modules/vitest')) } = {}) {
  const manifests = everything ? ['package.json', 'tests/package.json'] : ['package.json']
  if (manifests.every(isInstalled) && !isOlder('node_modules/.package-lock.json', 'package-lock.json')) return
  say(everything ? 'Installing packages, test tools included…' : 'Installing packages…')
  await run(...npm('ci', '--no-fund', '--no-audit', ...(everything ? [] : ['--workspaces=false'])))
}

/** Installs the clients and servers of other protocols for `tests/interop`: 290 MB that only its tests need. */
export async function installPeers() {
  const peers = 'tests/interop'
  if (!isOlder(`${peers}/node_modules/.package-lock.json`, `${peers}/package-lock.json`)) return
  say('Installing the clients of other protocols…')
  const quickly = ['--ignore-scripts', '--prefer-offline', '--loglevel=error']
  await run(...npm('ci', '--no-fund', '--no-audit', ...quickly, '--prefix', join(root, peers)))
}

/**
 * The npm that started us, or else the one in the path: a command and its arguments.
 *
 * @param {string[]} args
 * @returns {[string, string[]]}
 */
export function npm(...args) {
  const path = process.env['npm_execpath']
  return path ? [process.execPath, [path, ...args]] : ['npm', args]
}

/**
 * Compiles `src` to `dist`, pages and packages included, when a source file has changed since the last build. Without `checksTypes`,
 * the caller checks them.
 */
export async function build({ checksTypes = true } = {}) {
  const sources = digestOfSources()
  if (existsSync(builtStamp) && readFileSync(builtStamp, 'utf8') === sources) return
  say('Building…')
  rmSync(join(root, 'dist'), { recursive: true, force: true })
  await compile('tsconfig.build.json', ...(checksTypes ? [] : ['--noCheck']))
  await Promise.all(['pages', 'vendor'].map((name) => run(process.execPath, [join(root, `scripts/${name}.mjs`)])))
  await run(process.execPath, [join(root, 'scripts/parts.mjs')])
  copyFileSync(join(root, 'src/localnet/store', memoProgram), join(root, 'dist/parts', memoProgram))
  chmodSync(join(root, 'dist/cli/main.js'), 0o755)
  writeFileSync(builtStamp, sources)
}

/** Runs a tool from node_modules by its script, and ends this process when it fails. */
export function tool(script, ...args) {
  return run(process.execPath, [join(root, 'node_modules', script), ...args])
}

/** Runs the compiler in one thread: each further one checks many types again, which takes a third more processor time. */
export function compile(project, ...args) {
  return tool('typescript/bin/tsc', '-p', project, '--singleThreaded', ...args)
}

/** npm passes a SIGTERM only to the shell between npm and this process. When the shell is gone, this process is meant. */
export function endWithParent() {
  const parent = process.ppid
  const watch = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(watch)
    process.kill(process.pid, 'SIGTERM')
  }, 500)
  watch.unref()
}

export function say(line) {
  process.stderr.write(`${line}\n`)
}

/**
 * Runs a program to its end, and ends this process when it fails.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ stdout?: 2 | 'inherit' }} [options]
 */
export async function run(command, args, { stdout = 2 } = {}) {
  const child = spawn(command, args, { cwd: root, stdio: ['inherit', stdout, 2] })
  running.add(child)
  const [status, signal] = await once(child, 'exit').catch((error) => {
    say(`Could not run ${command}: ${error.message}`)
    return [1]
  })
  running.delete(child)
  if (status === 0) return
  for (const other of running) other.kill()
  process.exit(status ?? (signal ? 130 : 1))
}

/** @type {Set<import('node:child_process').ChildProcess>} */
const running = new Set()

function isInstalled(manifest) {
  const { dependencies, devDependencies } = JSON.parse(readFileSync(join(root, manifest), 'utf8'))
  return Object.entries({ ...dependencies, ...devDependencies }).every(([name, wanted]) => {
    const path = join(root, 'node_modules', name, 'package.json')
    return existsSync(path) && wanted.endsWith(JSON.parse(readFileSync(path, 'utf8')).version)
  })
}

/** Whether a file of the project is missing, or older than another. */
export function isOlder(path, than) {
  const full = join(root, path)
  return !existsSync(full) || statSync(full).mtimeMs < statSync(join(root, than)).mtimeMs
}

function digestOfSources() {
  const inside = listFiles('src').filter((path) => !path.endsWith('.test.ts'))
  const others = [
    'scripts/pages.mjs',
    'scripts/vendor.mjs',
    'scripts/parts.mjs',
    'tsconfig.json',
    'tsconfig.build.json',
    'package-lock.json',
  ]
  return digestOf([...inside, ...others])
}

const madeFolders = ['.git', 'node_modules', 'dist', 'build', '.paystile']

/** The files below a folder of the project, except those that a tool made. */
export function listFiles(folder) {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return madeFolders.includes(entry.name) ? [] : listFiles(path)
    return entry.isFile() ? [path] : []
  })
}

/** Of names, times and sizes: a file that was removed changes it too. */
export function digestOf(paths) {
  const lines = paths.map((path) => {
    const { mtimeMs, size } = statSync(join(root, path))
    return `${path} ${mtimeMs} ${size}`
  })
  return createHash('sha256').update(lines.sort().join('\n')).digest('hex')
}
