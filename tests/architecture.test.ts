/** The house rules that a machine can check: who may import whom, no cycles, one place that asks for the time. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
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

/** What each folder may import: our own folders, and packages by their beginning. */
const rules: Readonly<Record<string, { readonly folders: readonly string[]; readonly packages: readonly string[] }>> = {
  core: { folders: ['core'], packages: ['@noble/', '@scure/base'] },
  chain: { folders: ['core', 'chain'], packages: ['@solana/', '@solana-program/'] },
  ledger: { folders: ['core', 'ledger'], packages: ['@photostructure/sqlite', 'pg', 'node:'] },
  dialects: { folders: ['core', 'dialects'], packages: [] },
  host: { folders: ['core', 'host'], packages: ['node:', 'undici', 'ws', 'standardwebhooks', '@opentelemetry/api'] },
  workers: { folders: ['core', 'workers'], packages: [] },
  rates: { folders: ['core', 'rates'], packages: [] },
  venues: { folders: ['core', 'chain', 'venues'], packages: [] },
  server: { folders: ['core', 'dialects', 'server'], packages: ['zod', 'uqr'] },
  // hucre writes XLSX as a stream on Web APIs alone; it is loaded when somebody asks for one.
  service: { folders: ['core', 'server', 'service'], packages: ['zod', 'hucre'] },
  adapters: {
    folders: ['core', 'server', 'service', 'adapters'],
    packages: [
      'node:async_hooks',
      'node:diagnostics_channel',
      'node:http',
      'node:http2',
      'node:net',
      'hono',
      'fastify',
    ],
  },
  // Files, sockets and upstreams are its business; ledger and chain come through the paywall.
  gateway: {
    folders: ['core', 'server', 'service', 'adapters', 'gateway'],
    packages: ['node:', 'undici', 'yaml', 'jiti', 'zod'],
  },
  // They run in a browser, and get everything else from the service they were loaded from.
  pages: {
    folders: ['core', 'pages'],
    packages: ['preact', '@preact/signals', 'uplot', '@wallet-standard/', '@solana/wallet-standard-features'],
  },
  client: { folders: ['core', 'chain', 'client', 'host'], packages: ['@noble/'] },
  localnet: {
    folders: ['core', 'localnet'],
    packages: ['node:', 'litesvm', 'ws', '@photostructure/sqlite', '@noble/', '@scure/base'],
  },
  cli: {
    folders: [
      'core',
      'chain',
      'client',
      'host',
      'server',
      'service',
      'adapters',
      'ledger',
      'venues',
      'localnet',
      'gateway',
      'workers',
      'cli',
    ],
    packages: ['node:', 'commander', 'picocolors', 'hono', '@hono/node-server', 'yaml', '@clack/prompts'],
  },
  '.': { folders: ['adapters', 'client', 'core', 'server', 'service'], packages: [] },
}
/** The only files of server and service that know which implementations there are. */
const joiners = [
  'compose/paywall.ts',
  'compose/faucet.ts',
  'compose/network.ts',
  'compose/rates.ts',
  'compose/settlement/settlement.ts',
  'compose/test-payer.ts',
  'compose/settlement/venue.ts',
  'compose/check-payment.ts',
  'compose/api.ts',
  'compose/developers.ts',
  'compose/webhooks.ts',
  'compose/payouts.ts',
]
const joinable = ['chain', 'ledger', 'host', 'localnet', 'workers', 'rates', 'venues']
/** The parts of the client that live on files, and so in Node only. */
const nodeClient = [
  'client/index.ts',
  'client/agent-wallet.ts',
  'client/journal/file.ts',
  'client/journal/binary.ts',
  'client/journal/schema.ts',
  'client/download/download.ts',
  'client/download/part-file.ts',
]

function isAllowed({ file, to, isLocal }: Import): boolean {
  const rule = rules[folderOf(file)]
  if (isLocal && joiners.includes(file) && joinable.includes(folderOf(to))) return true
  if (isLocal) return rule?.folders.includes(folderOf(to)) === true
  if (nodeClient.includes(file) && /^(node:|@photostructure\/sqlite)/.test(to)) return true
  return rule?.packages.some((name) => to === name || to.startsWith(/[/:]$/.test(name) ? name : `${name}/`)) === true
}

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

  it('are kept: every file imports only what its folder may', () => {
    expect(files.filter((file) => rules[folderOf(file)] === undefined)).toEqual([])
    expect(imports.filter((one) => !isAllowed(one))).toEqual([])
  })

  it('has no cycles', () => {
    const edges = new Map<string, string[]>()
    for (const { file, to, isLocal } of imports) if (isLocal) edges.set(file, [...(edges.get(file) ?? []), to])
    const done = new Set<string>()
    const visit = (file: string, path: readonly string[]): void => {
      expect(path.includes(file) ? [...path.slice(path.indexOf(file)), file] : [], 'a cycle').toEqual([])
      if (done.has(file)) return
      for (const to of edges.get(file) ?? []) visit(to, [...path, file])
      done.add(file)
    }
    for (const file of files) visit(file, [])
  })

  it('keeps Node out of the browser’s client', () => {
    const reached = reachedFrom('client/browser.ts', () => true)
    const foreign = imports.filter((one) => reached.has(one.file) && /^(node:|undici|@photostructure)/.test(one.to))
    expect(foreign).toEqual([])
    expect(reached.size).toBeGreaterThan(20)
  })

  it.each([
    'index.ts',
    'server.ts',
    'client/index.ts',
    'adapters/node.ts',
    'gateway/index.ts',
    'localnet/index.ts',
    'cli/main.ts',
  ])('loads no binary with %s: a machine that does not use it need not have it', (entry) => {
    const reached = reachedFrom(entry, (one) => !one.isLazy)
    const native = imports.filter((one) => reached.has(one.file) && !one.isLazy && isBinary(one.to))
    expect(native).toEqual([])
    expect(reached.size).toBeGreaterThan(10)
    expect(imports.filter((one) => isBinary(one.to)).length).toBeGreaterThan(3)
  })
})

describe('ways of writing', () => {
  it('names say what a file is', () => {
    const vague = /(^|\/)(utils?|helpers?|common|types|shared|misc|mock\w*|simple\w*|basic\w*)\.ts$/
    expect(files.filter((file) => vague.test(file))).toEqual([])
  })

  it('nobody but the clocks asks for the time', () => {
    const clocks = ['host/clock.ts', 'localnet/bank/clock.ts', 'pages/look/clock.ts']
    const asking = files.filter((file) => /\bDate\.now\b|\bnew Date\(\)/.test(codeOf(file)))
    expect(asking.filter((file) => !clocks.includes(file))).toEqual([])
  })

  it('core runs anywhere: no process, no Buffer, no timers, no randomness besides the nonce', () => {
    const impure = /\bprocess\.|\bBuffer\b|\bsetTimeout\b|\bfetch\(/
    const random = /getRandomValues|Math\.random|randomUUID/
    const wrong = files
      .filter((file) => file.startsWith('core/'))
      .filter((file) => impure.test(codeOf(file)) || (file !== 'core/encoding/nonce.ts' && random.test(codeOf(file))))
    expect(wrong).toEqual([])
  })
})
