/** The rules of the source tree: which folder may import which, no cycles, small folders, time only from the clocks. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseAst } from 'rolldown/parseAst'
import { describe, expect, it } from 'vitest'

const src = fileURLToPath(new URL('../src', import.meta.url))
const files = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .filter((file) => /\.tsx?$/.test(file) && !/\.(test|d)\.tsx?$/.test(file))
  .map((file) => file.replaceAll('\\', '/'))

interface Import {
  readonly file: string
  /** A path from `src`, or the name of a package. */
  readonly to: string
  readonly isLocal: boolean
  readonly isType: boolean
  /** Loaded where it is used, and not with the file. */
  readonly isLazy: boolean
}

const imports: readonly Import[] = files.flatMap((file) => importsOf(file, codeOf(file)))

/** Static, side-effect and dynamic imports, and re-exports. */
function importsOf(file: string, code: string): readonly Import[] {
  const pattern = /(?:\b(import|export)\s+(type\s+)?(?:[\w*{}\s,$]+?\s+from\s+)?|\bimport\s*\(\s*)['"]([^'"]+)['"]/g
  return [...code.matchAll(pattern)].map(([, keyword, type, target = '']) => {
    const isLocal = target.startsWith('.')
    const to = isLocal ? relative(src, join(src, dirname(file), target)).replaceAll('\\', '/') : target
    return { file, to, isLocal, isType: type !== undefined, isLazy: keyword === undefined }
  })
}

const folderOf = (path: string): string => (path.includes('/') ? (path.split('/')[0] ?? '') : '.')

interface Rule {
  readonly folders: readonly string[]
  /** By their beginning. */
  readonly packages: readonly string[]
  /** Folders and packages of which only types may be imported. */
  readonly types?: readonly string[]
}

/** The imports that each folder is allowed. */
const rules: Readonly<Record<string, Rule>> = {
  core: { folders: [], packages: ['@noble/', '@scure/base'] },
  chain: { folders: ['core'], packages: ['@solana/', '@solana-program/'] },
  ledger: { folders: ['core'], packages: ['@photostructure/sqlite', 'pg', 'node:'] },
  dialects: { folders: ['core'], packages: [] },
  host: { folders: ['core'], packages: ['node:', 'undici', 'ws', 'standardwebhooks', '@opentelemetry/api'] },
  workers: { folders: ['core'], packages: [] },
  rates: { folders: ['core'], packages: [] },
  venues: { folders: ['core', 'chain'], packages: [] },
  paywall: { folders: ['core', 'dialects'], packages: ['zod', 'uqr'] },
  // hucre writes XLSX as a stream on Web APIs alone, and is loaded with the first XLSX export.
  api: { folders: ['core', 'paywall'], packages: ['zod', 'hucre'] },
  // The one folder that joins implementations.
  compose: {
    folders: [
      'core',
      'chain',
      'ledger',
      'dialects',
      'host',
      'localnet',
      'workers',
      'rates',
      'venues',
      'paywall',
      'api',
    ],
    packages: [],
  },
  adapters: { folders: ['core', 'paywall', 'api', 'compose'], packages: ['node:', 'hono', 'fastify'] },
  // The gateway owns files, sockets and upstreams; ledger and chain come through the paywall.
  gateway: {
    folders: ['core', 'paywall', 'api', 'compose', 'adapters'],
    packages: ['node:', 'undici', 'yaml', 'jiti', 'zod'],
  },
  // Pages run in a browser, and get everything else from the service that they were loaded from.
  pages: {
    folders: ['core'],
    packages: ['preact', '@preact/signals', '@wallet-standard/', '@solana/wallet-standard-features'],
    // The responses that the dashboard reads.
    types: ['api', 'zod'],
  },
  // A test of its own keeps Node out of the browser's client.
  client: { folders: ['core', 'chain', 'dialects', 'host'], packages: ['@noble/', 'node:', '@photostructure/sqlite'] },
  localnet: {
    folders: ['core'],
    packages: ['node:', 'litesvm', 'ws', '@photostructure/sqlite', '@noble/', '@scure/base'],
  },
  cli: {
    folders: [
      'core',
      'chain',
      'ledger',
      'host',
      'localnet',
      'workers',
      'venues',
      'client',
      'paywall',
      'api',
      'compose',
      'adapters',
      'gateway',
    ],
    packages: ['node:', 'commander', 'picocolors', 'hono', '@hono/node-server', 'yaml', 'zod', '@clack/prompts'],
  },
  '.': { folders: ['adapters', 'client', 'core', 'paywall', 'api', 'compose'], packages: [] },
}

/** Sub-folders from the lowest to the highest: each may import those to its left. */
const orders: Readonly<Record<string, readonly string[]>> = {
  core: [
    'errors',
    'encoding',
    'collections',
    'http',
    'observability',
    'money',
    'payment',
    'payouts',
    'protocol',
    'ports',
    'checkout',
  ],
  chain: ['rpc', 'accounts', 'read', 'keys', 'send', 'wallets'],
  ledger: ['rules', 'sql', 'sqlite', 'postgres'],
  paywall: ['config', 'pages', 'runtime', 'quote', 'claim', 'delivery', 'checkout'],
  api: ['http', 'auth', 'rewards', 'analytics', 'exports', 'developers', 'public', 'screens', 'routes'],
}
const mostFiles = 15
const mostLines = 400
/** Of a function, from its name to its closing brace, with comments and blank lines. */
const mostFunctionLines = 100
/** A database has one file for each port of the ledger, and its schema. */
const databases = ['ledger/sqlite', 'ledger/postgres']

function isAllowed({ file, to, isLocal, isType }: Import): boolean {
  const folder = folderOf(file)
  const rule = rules[folder]
  if (isType && rule?.types?.includes(isLocal ? folderOf(to) : to)) return true
  if (isLocal) return folderOf(to) === folder || rule?.folders.includes(folderOf(to)) === true
  return rule?.packages.some((name) => to === name || to.startsWith(/[/:]$/.test(name) ? name : `${name}/`)) === true
}

/**
 * Arrows within every folder, at all depths. The nodes are its sub-folders, each as a whole, and its files, each by itself:
 * `paywall/claim/admit.ts` → `paywall/runtime/runtime.ts` is an arrow from `paywall/claim` to `paywall/runtime`.
 */
const innerArrows: readonly { readonly from: string; readonly to: string; readonly by: Import }[] = imports.flatMap(
  (by) => {
    const [from, to] = [by.file.split('/'), by.to.split('/')]
    const depth = from.findIndex((name, index) => name !== to[index])
    if (!by.isLocal || depth < 1) return []
    return [{ from: from.slice(0, depth + 1).join('/'), to: to.slice(0, depth + 1).join('/'), by }]
  },
)

/** The first cycle that is found, as a path that ends where it began. */
function findCycle(arrows: readonly { readonly from: string; readonly to: string }[]): readonly string[] {
  const edges = new Map<string, Set<string>>()
  for (const { from, to } of arrows) edges.set(from, (edges.get(from) ?? new Set()).add(to))
  const done = new Set<string>()
  const visit = (node: string, path: readonly string[]): readonly string[] => {
    if (path.includes(node)) return [...path.slice(path.indexOf(node)), node]
    if (done.has(node)) return []
    for (const to of edges.get(node) ?? []) {
      const cycle = visit(to, [...path, node])
      if (cycle.length > 0) return cycle
    }
    done.add(node)
    return []
  }
  for (const node of edges.keys()) {
    const cycle = visit(node, [])
    if (cycle.length > 0) return cycle
  }
  return []
}

interface FunctionLength {
  readonly file: string
  /** The line it begins in. */
  readonly at: number
  readonly lines: number
}

/** All functions of a file, those inside of others included. */
function measureFunctions(file: string): readonly FunctionLength[] {
  const text = readFileSync(join(src, file), 'utf8')
  const countLines = (from: number, to: number) => text.slice(from, to).split('\n').length
  // No function is longer than its file.
  if (countLines(0, text.length) <= mostFunctionLines) return []
  const found: FunctionLength[] = []
  const walk = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    const { type, start, end } = node as { readonly type?: string; readonly start: number; readonly end: number }
    if (type !== undefined && /^(Function|ArrowFunction)(Declaration|Expression)$/.test(type)) {
      found.push({ file, at: countLines(0, start), lines: countLines(start, end) })
    }
    Object.values(node).forEach(walk)
  }
  walk(parseAst(text, { lang: file.endsWith('x') ? 'tsx' : 'ts' }).body)
  return found
}

/** The sources of the entry points in package.json. */
const { exports: entries, bin } = JSON.parse(readFileSync(join(src, '../package.json'), 'utf8'))
const entryFiles: readonly string[] = [
  ...new Set(
    [...JSON.stringify([entries, bin]).matchAll(/"(?:\.\/)?dist\/([\w/-]+)\.js"/g)].map(([, path]) => `${path}.ts`),
  ),
]

/** A file without its comments. */
function codeOf(file: string): string {
  return readFileSync(join(src, file), 'utf8')
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/^\s*\/\/.*$/gm, '')
}

const isBinary = (name: string): boolean => /^(litesvm|@photostructure\/sqlite)$/.test(name)

/** The file and everything it loads. */
function reachedFrom(entry: string, isFollowed: (one: Import) => boolean): ReadonlySet<string> {
  const reached = new Set<string>()
  const walk = (file: string): void => {
    if (reached.has(file)) return
    reached.add(file)
    for (const one of imports) if (one.file === file && one.isLocal && !one.isType && isFollowed(one)) walk(one.to)
  }
  walk(entry)
  return reached
}

describe('layers', () => {
  it('finds the imports it is meant to check', () => {
    expect(imports.length).toBeGreaterThan(300)
    expect(imports).toContainEqual({
      file: 'compose/network.ts',
      to: 'localnet/index.ts',
      isLocal: true,
      isType: false,
      isLazy: true,
    })
  })

  it('every file imports only the folders and packages that its own folder may import', () => {
    expect(files.filter((file) => rules[folderOf(file)] === undefined)).toEqual([])
    expect(Object.keys(rules).filter((folder) => !files.some((file) => folderOf(file) === folder))).toEqual([])
    expect(imports.filter((one) => !isAllowed(one))).toEqual([])
  })

  it('no files import each other in a cycle', () => {
    expect(findCycle(imports.filter((one) => one.isLocal).map(({ file, to }) => ({ from: file, to })))).toEqual([])
  })

  it('arrows between sub-folders run in one direction', () => {
    expect(innerArrows.length).toBeGreaterThan(300)
    expect(findCycle(innerArrows)).toEqual([])
  })

  it.each(Object.entries(orders))('the sub-folders of %s import only those below them', (folder, order) => {
    const rank = (path: string) => order.indexOf(path.slice(folder.length + 1))
    const present = new Set(
      files.filter((file) => folderOf(file) === folder).map((file) => file.split('/').slice(1, -1)[0]),
    )
    expect([...present].filter((name) => name !== undefined).sort()).toEqual([...order].sort())
    const arrows = innerArrows.filter(
      ({ from, to }) => rank(from) >= 0 && rank(to) >= 0 && from.startsWith(`${folder}/`),
    )
    expect(arrows.length).toBeGreaterThan(3)
    expect(arrows.filter(({ from, to }) => rank(to) > rank(from)).map(({ by }) => `${by.file} → ${by.to}`)).toEqual([])
  })

  it(`no folder has more than ${mostFiles} files`, () => {
    const sizes = new Map<string, number>()
    for (const file of files) sizes.set(dirname(file), (sizes.get(dirname(file)) ?? 0) + 1)
    expect([...sizes].filter(([folder, size]) => size > mostFiles && !databases.includes(folder))).toEqual([])
  })

  it(`no file has more than ${mostLines} lines`, () => {
    const lines = (file: string) => readFileSync(join(src, file), 'utf8').split('\n').length
    expect(files.filter((file) => lines(file) > mostLines)).toEqual([])
  })

  it(`no function has more than ${mostFunctionLines} lines`, () => {
    const lengths = files.flatMap((file) => measureFunctions(file))
    expect(lengths.length).toBeGreaterThan(500)
    expect(lengths.filter(({ lines }) => lines > mostFunctionLines)).toEqual([])
  })

  it('no two exported types of the inner folders share a name', () => {
    const inner = files.filter((file) => /^(core|chain|ledger|paywall|api)\//.test(file))
    const names = inner.flatMap((file) =>
      [...codeOf(file).matchAll(/^export (?:interface|type) (\w+)/gm)].map(([, name]) => name),
    )
    expect(names.length).toBeGreaterThan(300)
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([])
  })

  it('keeps Node out of the browser’s client', () => {
    const reached = reachedFrom('client/browser.ts', () => true)
    const foreign = imports.filter((one) => reached.has(one.file) && /^(node:|undici|@photostructure)/.test(one.to))
    expect(foreign).toEqual([])
    expect(reached.size).toBeGreaterThan(20)
  })

  it.each(entryFiles)('loads no binary with %s: a machine that does not use it need not have it', (entry) => {
    const reached = reachedFrom(entry, (one) => !one.isLazy)
    const native = imports.filter((one) => reached.has(one.file) && !one.isLazy && isBinary(one.to))
    expect(native).toEqual([])
    expect(files).toContain(entry)
    expect(imports.filter((one) => isBinary(one.to)).length).toBeGreaterThan(3)
  })
})

describe('ways of writing', () => {
  it('file names describe their content', () => {
    const vague = /(^|\/)(utils?|helpers?|common|types|shared|misc|mock\w*|simple\w*|basic\w*)\.ts$/
    expect(files.filter((file) => vague.test(file))).toEqual([])
  })

  it('every error class extends PaystileError', () => {
    const bases = files.flatMap((file) =>
      [...codeOf(file).matchAll(/\bclass (\w+)(?:<[^{]*?>)? extends (\w+)/g)].map(([, name, base]) => [name, base]),
    )
    expect(bases.length).toBeGreaterThan(10)
    expect(bases.filter(([, base]) => base !== 'PaystileError')).toEqual([['PaystileError', 'Error']])
  })

  it('reads addresses with parseUrl: URL.canParse of some versions of Node gives wrong answers', () => {
    expect(files.filter((file) => codeOf(file).includes('URL.canParse'))).toEqual([])
  })

  it('copies bytes with Uint8Array.from: a slice() of a Buffer shares its memory', () => {
    expect(files.filter((file) => codeOf(file).includes('.slice()'))).toEqual([])
  })

  it('only clocks ask for the time, one for each of host, localnet and pages', () => {
    const asking = files.filter((file) => /\bDate\.now\b|\bnew Date\(\)/.test(codeOf(file)))
    expect(asking.filter((file) => !file.endsWith('/clock.ts'))).toEqual([])
    expect(asking.map(folderOf).sort()).toEqual(['host', 'localnet', 'pages'])
  })

  it('core runs anywhere: no process, no Buffer, no timers, no randomness besides the nonce', () => {
    const impure = /\bprocess\.|\bBuffer\b|\bsetTimeout\b|\bfetch\(/
    const random = /getRandomValues|Math\.random|randomUUID/
    const wrong = files
      .filter((file) => file.startsWith('core/'))
      .filter((file) => impure.test(codeOf(file)) || (!file.endsWith('/nonce.ts') && random.test(codeOf(file))))
    expect(wrong).toEqual([])
  })
})
