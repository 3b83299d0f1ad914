// Joins the modules of dist that are always loaded together into dist/parts, because Node needs more time to find and
// link hundreds of files than to run them (decision 0046). Every module keeps its file, which then exports from a part,
// so an import of any of them works and gets the same objects.
//
// The client for browsers becomes one file of its own: bundlers of applications remove the rest of it.
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { rolldown } from 'rolldown'
import { root } from './prepare.mjs'

const dist = join(root, 'dist')
const browser = 'client/browser.js'

/**
 * A part contains the modules that the same of these entry points need. It has their names. Modules that others load when
 * they need them are entry points, too.
 *
 * @type {Record<string, string[]>}
 */
const entries = {
  client: ['client/index.js'],
  server: [
    'index.js',
    'server.js',
    'gateway/index.js',
    ...['express', 'fastify', 'hono', 'next', 'node'].map(nameAdapter),
  ],
  cli: ['cli/main.js'],
  pay: ['cli/buyer/pay.js', 'cli/mcp/mcp.js'],
  quote: ['cli/buyer/quote.js'],
  wallet: ['cli/buyer/wallet.js', 'cli/buyer/faucet.js'],
  verify: ['cli/buyer/verify.js'],
  init: ['cli/setup/init.js'],
  keys: ['cli/setup/keys.js'],
}

const files = readdirSync(dist, { recursive: true, encoding: 'utf8' })
  .map((path) => path.replaceAll(sep, '/'))
  .filter((path) => path.endsWith('.js') && !/^(pages|vendor)\//.test(path))
const imports = new Map(files.map((path) => [path, listImports(path)]))
for (const path of files.filter((file) => !file.startsWith('cli/')).flatMap(listLazyImports))
  entries[nameLazy(path)] = [path]
const parts = findParts()

await write(Object.fromEntries([[browser.replace(/\.js$/, ''), join(dist, browser)]]), { platform: 'browser' })
await write(
  Object.fromEntries(
    files.filter((path) => path !== browser).map((path) => [path.replace(/\.js$/, ''), join(dist, path)]),
  ),
  { platform: 'node', treeshake: false },
  // Modules of many entry points come first: a group takes along the modules that its own import.
  [...new Map([...parts.values()].map((names) => [names.join('-'), names.length]))].map(([name, priority]) => ({
    name,
    priority,
    test: (/** @type {string} */ id) => parts.get(relative(dist, id).replaceAll(sep, '/'))?.join('-') === name,
  })),
)

/** @param {string} name */
function nameAdapter(name) {
  return `adapters/${name}.js`
}

/** @param {string} path `ledger/sqlite/ledger.js` becomes `sqlite_ledger`. */
function nameLazy(path) {
  return path.replace(/\.js$/, '').split('/').slice(-2).join('_')
}

/**
 * The modules that a module imports before it runs.
 *
 * @param {string} path
 */
function listImports(path) {
  return match(path, /^(?:import|export)\b[^;]*?'(\.[^']*\.js)';$/gm)
}

/** @param {string} path */
function listLazyImports(path) {
  return match(path, /\bimport\('(\.[^']*\.js)'\)/g)
}

/**
 * @param {string} path
 * @param {RegExp} pattern
 */
function match(path, pattern) {
  const code = readFileSync(join(dist, path), 'utf8')
  return [...code.matchAll(pattern)].map(([, to = '']) => join(dirname(path), to).replaceAll(sep, '/'))
}

/** The entry points that need each module. Modules of single commands are not in it. */
function findParts() {
  /** @type {Map<string, string[]>} */
  const found = new Map()
  for (const [name, starts] of Object.entries(entries)) {
    const reached = new Set(starts)
    for (const path of reached) for (const next of imports.get(path) ?? []) reached.add(next)
    for (const path of reached) found.set(path, [...(found.get(path) ?? []), name])
  }
  // It compares its own path with that of the program.
  found.delete('cli/main.js')
  return found
}

/**
 * @param {Record<string, string>} input
 * @param {import('rolldown').InputOptions} options
 * @param {import('rolldown').CodeSplittingGroup[]} groups
 */
async function write(input, options, groups = []) {
  const build = await rolldown({ ...options, cwd: root, input, external: /^[^./]/, preserveEntrySignatures: 'strict' })
  await build.write({
    dir: dist,
    entryFileNames: '[name].js',
    chunkFileNames: 'parts/[name].js',
    codeSplitting: { groups },
  })
  await build.close()
}
