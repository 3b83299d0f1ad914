// `npm run check:package`: packs paystile and @paystile/client, installs each into an empty folder from the registry, as a
// user would, and checks the result: publint, @arethetypeswrong, import and require of every entry point, types, size.
import { spawnSync } from 'node:child_process'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildClient } from './client-package.mjs'
import { isOlder, npm, root, say } from './prepare.mjs'

/** Installed sizes in MB that must not be exceeded, and packages that must not be installed. */
const limits = {
  paystile: { megabytes: 115, without: [] },
  '@paystile/client': {
    megabytes: 75,
    without: ['litesvm', 'pg', 'hono', '@hono/node-server', 'fastify', 'express', 'zod', 'yaml'],
  },
}
/** The versions of frameworks that the tests run with. */
const { devDependencies: tested } = JSON.parse(readFileSync(join(root, 'tests/package.json'), 'utf8'))
const tools = join(root, 'tools/package')
const problems = []

if (isOlder('tools/package/node_modules/.package-lock.json', 'tools/package/package-lock.json')) {
  say('Installing the tools of this check…')
  mustRun(npm('ci', '--no-fund', '--no-audit'), tools)
}
const client = await buildClient()
const workshop = mkdtempSync(join(tmpdir(), 'paystile-package-'))
try {
  for (const folder of [root, client]) checkPackage(folder)
} finally {
  rmSync(workshop, { recursive: true, force: true })
}
for (const problem of problems) say(problem)
say(problems.length === 0 ? 'Both packages are in order.' : `Problems: ${problems.length}`)
process.exitCode = problems.length === 0 ? 0 : 1

function checkPackage(folder) {
  const { name, exports, peerDependencies = {} } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const packing = mustRun(npm('pack', '--json', '--ignore-scripts', '--pack-destination', workshop), folder)
  const [{ filename, size, unpackedSize, entryCount }] = JSON.parse(packing.stdout)
  say(`${name}: ${entryCount} files, ${kilobytes(size)} KB packed, ${kilobytes(unpackedSize)} KB unpacked`)
  const tarball = join(workshop, filename)
  lint(name, tarball)
  const app = join(workshop, name.replace('/', '-'))
  mkdirSync(app)
  writeFileSync(join(app, 'package.json'), '{ "private": true }\n')
  mustRun(npm('install', '--no-fund', '--no-audit', tarball), app)
  const entries = Object.keys(exports).map((entry) => entry.replace('.', name))
  checkSize(name, app)
  checkEntries(entries, app)
  const peers = Object.keys(peerDependencies).map((peer) => `${peer}@${tested[peer]}`)
  if (peers.length > 0) mustRun(npm('install', '--no-fund', '--no-audit', ...peers), app)
  checkTypes(name, entries, app)
}

/** publint tells suggestions with exit code 0 too; only "All good!" means that there are none. */
function lint(name, tarball) {
  const publint = runTool('publint/src/cli.js', tarball, '--strict')
  if (publint.status !== 0 || !publint.stdout.includes('All good!')) report(`${name}: publint`, publint)
  // ES modules only, on purpose: old resolution and require() without support for ES modules are left out.
  const attw = runTool('@arethetypeswrong/cli/dist/index.js', tarball, '--profile', 'esm-only', '--format', 'ascii')
  if (attw.status !== 0) report(`${name}: @arethetypeswrong/cli`, attw)
}

function checkSize(name, app) {
  const lock = JSON.parse(readFileSync(join(app, 'node_modules/.package-lock.json'), 'utf8'))
  const installed = Object.keys(lock.packages).map((path) => path.split('node_modules/').at(-1))
  const megabytes = Math.ceil(measure(join(app, 'node_modules')) / 2 ** 20)
  const { megabytes: most, without } = limits[name]
  say(`${name}: ${installed.length} packages installed, ${megabytes} MB`)
  if (megabytes > most) problems.push(`${name}: ${megabytes} MB installed, more than ${most}`)
  for (const unwanted of installed.filter((one) => without.includes(one)))
    problems.push(`${name}: ${unwanted} is installed with it`)
}

/** Every entry point in a process of its own, by import and by require: the same names, and no warning. */
function checkEntries(entries, app) {
  for (const entry of entries) {
    const show = 'console.log(Object.keys(all).sort().join())'
    const imported = run(['--input-type=module', '--eval', `import * as all from '${entry}'; ${show}`], app)
    const required = run(['--input-type=commonjs', '--eval', `const all = require('${entry}'); ${show}`], app)
    for (const result of [imported, required])
      if (result.status !== 0 || result.stderr !== '' || result.stdout.trim() === '') report(entry, result)
    if (imported.stdout !== required.stdout) problems.push(`${entry}: require gives other names than import`)
  }
}

/** TypeScript finds a declaration for everything, from ES modules and from CommonJS, without skipLibCheck. */
function checkTypes(name, entries, app) {
  const uses = entries.map((entry, index) => `import * as entry${index} from '${entry}'\nexport { entry${index} }\n`)
  for (const file of ['use.mts', 'use.cts']) writeFileSync(join(app, file), uses.join(''))
  const compilerOptions = {
    module: 'nodenext',
    target: 'es2023',
    lib: ['es2023', 'dom'],
    strict: true,
    noEmit: true,
    types: ['node'],
    typeRoots: [join(root, 'node_modules/@types')],
  }
  writeFileSync(join(app, 'tsconfig.json'), JSON.stringify({ compilerOptions }))
  const checked = run([join(root, 'node_modules/typescript/bin/tsc'), '-p', app], app)
  if (checked.status !== 0) report(`${name}: types`, checked)
}

/** Bytes on the disk, as `du` counts them. */
function measure(path) {
  const { blocks, size } = lstatSync(path)
  const own = blocks === undefined ? size : blocks * 512
  if (!lstatSync(path).isDirectory()) return own
  return readdirSync(path).reduce((sum, name) => sum + measure(join(path, name)), own)
}

function kilobytes(bytes) {
  return Math.ceil(bytes / 1000)
}

function runTool(script, ...args) {
  const path = join(tools, 'node_modules', script)
  if (!existsSync(path)) throw new Error(`${path} is missing; remove ${join(tools, 'node_modules')} and start again`)
  return run([path, ...args], workshop)
}

function run(args, cwd) {
  return spawnSync(process.execPath, args, { cwd, encoding: 'utf8' })
}

/** Runs a command without which nothing can be checked, and ends this process when it fails. */
function mustRun([command, args], cwd) {
  const result = spawnSync(command, args, { cwd, encoding: 'utf8', maxBuffer: 2 ** 26 })
  if (result.status === 0) return result
  say(`${command} ${args.join(' ')}\n${result.stdout}${result.stderr}${result.error ?? ''}`)
  process.exit(1)
}

function report(title, { stdout, stderr }) {
  problems.push(`${title}:\n${stdout}${stderr}`)
}
