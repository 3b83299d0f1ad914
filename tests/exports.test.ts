/** The packages as they are published: their entry points, their files, and what the light one does without. */
import { execFile } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { writeClientPackage } from '../scripts/client-package.mjs'
import { followImports, listEntries, type Targets } from '../scripts/dist-files.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const read = (...path: readonly string[]) => readFileSync(join(...path), 'utf8')
const workshop = mkdtempSync(join(tmpdir(), 'paystile-package-'))
afterAll(() => rmSync(workshop, { recursive: true, force: true }))
const run = promisify(execFile)

interface Manifest {
  readonly exports: Readonly<Record<string, Targets>>
  readonly bin: Targets
  readonly files: readonly string[]
  readonly dependencies: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
}
const readManifest = (folder: string) => JSON.parse(read(folder, 'package.json')) as Manifest
const manifest = readManifest(root)

/** Runs a program for Node, and reads the JSON that it prints. */
async function runNode<Result>(type: 'module' | 'commonjs', code: string, cwd = root, env = {}): Promise<Result> {
  const args = [`--input-type=${type}`, '--eval', code]
  const { stdout } = await run(process.execPath, args, { cwd, env: { ...process.env, ...env } })
  return JSON.parse(stdout) as Result
}

const operator = join(workshop, 'operator')
const client = join(workshop, 'client')
/** The paths in each package. */
let packages: {
  readonly paystile: readonly string[]
  readonly operator: readonly string[]
  readonly client: readonly string[]
}

/** Packs folders as they are, without building them, with one start of npm. Returns the paths in each package. */
async function pack(...folders: readonly string[]): Promise<readonly (readonly string[])[]> {
  const args = ['pack', ...folders, '--json', '--ignore-scripts', '--pack-destination', workshop]
  const packed: readonly { readonly files: readonly { readonly path: string }[] }[] = JSON.parse(
    (await run('npm', args, { cwd: root })).stdout,
  )
  return packed.map(({ files }) => files.map(({ path }) => path).sort())
}

beforeAll(async () => {
  writeClientPackage(client)
  mkdirSync(operator)
  const operatorManifest = { name: 'operator', version: '1.0.0', files: manifest.files }
  writeFileSync(join(operator, 'package.json'), JSON.stringify(operatorManifest))
  cpSync(join(root, 'deploy'), join(operator, 'deploy'), { recursive: true })
  writeFileSync(join(operator, 'deploy/docker/paystile.env'), 'PAYSTILE_SECRET=secret')
  const [paystile = [], ofOperator = [], ofClient = []] = await pack(root, operator, client)
  packages = { paystile, operator: ofOperator, client: ofClient }
})

const promised: Readonly<Record<string, readonly string[]>> = {
  '.': [
    'AnalyticsError',
    'ConfigurationError',
    'PaymentError',
    'PaystileError',
    'checkPayment',
    'create402Middleware',
    'createPaystile',
    'createPaystileRoutes',
    'drain',
    'fetchWith402',
    'getAnalytics',
    'initAgentWallet',
    'isPaystileError',
    'paymentOf',
    'verifyPayment',
  ],
  './server': [
    'ConfigurationError',
    'LedgerUnavailable',
    'PaystileError',
    'checkPayment',
    'isPaystileError',
    'openPaywall',
    'openRoutes',
    'verifyPayment',
  ],
  './client': [
    'AnalyticsError',
    'DownloadError',
    'JournalError',
    'PaymentError',
    'PaystileError',
    'SignInError',
    'createMemoryJournal',
    'createWallet',
    'downloadWith402',
    'fetchWith402',
    'getAnalytics',
    'initAgentWallet',
    'isPaystileError',
    'isReceiptGenuine',
    'parseReceipt',
    'signInWith',
  ],
  './express': ['create402Middleware', 'createPaystile', 'drain', 'paymentOf'],
  './fastify': ['create402Middleware', 'createPaystile', 'drain', 'paymentOf'],
  './hono': ['create402Middleware', 'createPaystile', 'drain', 'paymentOf'],
  './next': ['create402Middleware', 'createPaystile', 'paymentOf'],
  './node': ['create402Middleware', 'createPaystile', 'drain', 'paymentOf'],
  './gateway': ['ConfigurationError', 'createGateway', 'defineGateway', 'jsonSchema', 'openGateway', 'readPlanFile'],
  './localnet': ['FaucetError', 'LocalnetDataError', 'startLocalnet'],
}

type Names = Readonly<Record<string, readonly string[]>>

describe('an installed paystile', () => {
  const entries = JSON.stringify(Object.keys(promised).map((entry) => [entry, entry.replace('.', 'paystile')]))
  const print = 'console.log(JSON.stringify(Object.fromEntries(names)))'
  let imported: Names
  let required: Names

  beforeAll(async () => {
    ;[imported, required] = await Promise.all([
      runNode<Names>(
        'module',
        `const names = []
        for (const [entry, name] of ${entries}) names.push([entry, Object.keys(await import(name)).sort()])
        ${print}`,
      ),
      runNode<Names>(
        'commonjs',
        `const names = ${entries}.map(([entry, name]) => [entry, Object.keys(require(name)).sort()])
        ${print}`,
      ),
    ])
  })

  it('has the entry points that are tested', () => {
    expect(Object.keys(manifest.exports)).toEqual(Object.keys(promised))
  })

  it.each(Object.keys(promised))('exports its promised names from %s, to import and to require', (entry) => {
    expect(imported[entry]).toEqual(promised[entry])
    expect(required[entry]).toEqual(promised[entry])
  })

  it('pins every dependency exactly', () => {
    const versions = Object.values({ ...manifest.dependencies, ...manifest.devDependencies })
    expect(versions.filter((version) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))).toEqual([])
  })
})

/** Paths that a document names and a reader of the package may look for: links, pictures, and our own folders in code. */
function listNamed(document: string, text: string): readonly string[] {
  const fromHere = [...text.matchAll(/\]\(([^)#\s]+)|\b(?:src|srcset)="([^"]+)"/g)].map(
    ([, link, picture]) => link ?? picture,
  )
  const fromRoot = [...text.matchAll(/`((?:docs|examples|deploy)\/[^`\s]*)`|^```\w+ file=(\S+)$/gm)]
  return [
    ...fromHere.flatMap((path = '') => (/^https?:/.test(path) ? [] : posix.join(dirname(document), path))),
    ...fromRoot.map(([, code, file]) => posix.normalize((code ?? file ?? '').replace(/\/$/, ''))),
  ]
}

describe('the package paystile', () => {
  let files: readonly string[]
  let named: readonly string[]

  beforeAll(() => {
    files = packages.paystile
    const documents = files.filter((file) => file.endsWith('.md'))
    named = documents.flatMap((document) => listNamed(document, read(root, document)))
  })

  it('contains every file and folder that its documents name', () => {
    expect(named.length).toBeGreaterThan(200)
    expect(named).toContain('deploy/systemd/paystile.service')
    expect(named.filter((path) => !files.some((file) => file === path || file.startsWith(`${path}/`)))).toEqual([])
  })

  it('contains no picture that no document shows', () => {
    expect(files.filter((file) => file.startsWith('docs/images/') && !named.includes(file))).toEqual([])
  })

  it('contains all code and declarations that its entry points lead to', () => {
    const entries = [...listEntries(manifest.exports), ...listEntries(manifest.bin)]
    const compiled = files.filter((file) => file.startsWith('dist/') && !file.startsWith('dist/pages/'))
    expect(followImports(root, entries).filter((file) => !compiled.includes(file))).toEqual([])
    expect(compiled).toContain('dist/cli/main.js')
    expect(files).toContain('dist/pages/dashboard/index.html')
  })

  it('contains a licence, and no tests, sources or source maps', () => {
    expect(files).toContain('LICENSE')
    expect(files.filter((file) => /\.test\.|\.map$|^(src|tests|bench|scripts|tools)\//.test(file))).toEqual([])
  })

  it('leaves out environment files in which an operator has filled in secrets', () => {
    const packed = packages.operator
    expect(packed).toContain('deploy/docker/paystile.env.example')
    expect(packed).not.toContain('deploy/docker/paystile.env')
  })
})

describe('@paystile/client', () => {
  const app = join(workshop, 'app')
  const installed = join(app, 'node_modules/@paystile/client')
  let files: readonly string[]

  /** Unpacks it into an empty folder, beside the dependencies that it declares, and no others. */
  beforeAll(async () => {
    files = packages.client
    const { version } = JSON.parse(read(client, 'package.json'))
    mkdirSync(dirname(installed), { recursive: true })
    await run('tar', ['-xzf', `paystile-client-${version}.tgz`], { cwd: workshop })
    renameSync(join(workshop, 'package'), installed)
    for (const name of Object.keys(readManifest(installed).dependencies)) {
      mkdirSync(dirname(join(app, 'node_modules', name)), { recursive: true })
      symlinkSync(join(root, 'node_modules', name), join(app, 'node_modules', name))
    }
  })

  it('works with the dependencies that it declares alone: import, require, a request, the journal', async () => {
    const home = join(app, 'home')
    const result = await runNode(
      'commonjs',
      `const required = require('@paystile/client')
      const run = async () => {
        const imported = await import('@paystile/client')
        const { fetchWith402, initAgentWallet, getAnalytics } = imported
        const server = require('node:http').createServer((_request, response) => response.end('free'))
        await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
        const url = 'http://127.0.0.1:' + server.address().port
        const wallet = await initAgentWallet()
        const response = await fetchWith402(url, { wallet, tokens: ['USDC'] })
        const text = await response.text()
        const analytics = await getAnalytics({ url, wallet }).catch((error) => error.name)
        const names = Object.keys(imported).sort()
        console.log(JSON.stringify({ text, analytics, isSame: required.fetchWith402 === fetchWith402, names }))
        process.exit(0)
      }
      run()`,
      app,
      { PAYSTILE_HOME: home },
    )
    expect(result).toEqual({ text: 'free', analytics: 'AnalyticsError', isSame: true, names: promised['./client'] })
    expect(existsSync(join(home, 'client.sqlite'))).toBe(true)
  })

  it('gives bundlers for browsers an entry point that loads', async () => {
    const names = await runNode<readonly string[]>(
      'module',
      `console.log(JSON.stringify(Object.keys(await import('@paystile/client')).sort()))`,
      app,
      { NODE_OPTIONS: '--conditions=browser' },
    )
    const filesOnly = ['DownloadError', 'downloadWith402', 'initAgentWallet']
    expect(names).toEqual(promised['./client']?.filter((name) => !filesOnly.includes(name)))
  })

  it('contains the code of paystile/client, its declarations, a manifest, all licences and a README', () => {
    const code = followImports(root, listEntries(manifest.exports['./client'] ?? {}))
    expect(files).toEqual([...code, 'LICENSE', 'README.md', 'dist/vendor/LICENSES.txt', 'package.json'].sort())
    expect(code.length).toBeLessThan(160)
    for (const file of code) expect(read(installed, file)).toBe(read(root, file))
  })

  it('has a README that names every export, and has links that work outside the repository', () => {
    const text = read(installed, 'README.md')
    expect(promised['./client']?.filter((name) => !text.includes(`\`${name}\``))).toEqual([])
    expect(listNamed('README.md', text)).toEqual([])
  })

  it('brings no VM, no database server, no web framework and no second version of anything in paystile', () => {
    const { dependencies } = readManifest(installed)
    expect(manifest.dependencies).toMatchObject(dependencies)
    const all = followDependencies(Object.keys(dependencies))
    expect(all).toContain('@solana/kit')
    expect(all.filter((name) => /^(litesvm|pg|hono|@hono\/|fastify|express|zod|yaml|jiti|hucre)/.test(name))).toEqual(
      [],
    )
    expect(all.length).toBeLessThanOrEqual(60)
  })
})

/** The named packages and all that they depend on, as the lock file has them. */
function followDependencies(names: readonly string[]): readonly string[] {
  const { packages } = JSON.parse(read(root, 'package-lock.json')) as {
    readonly packages: Readonly<Record<string, { readonly dependencies?: Readonly<Record<string, string>> }>>
  }
  const found = new Set<string>()
  const waiting = [...names]
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (found.has(name)) continue
    found.add(name)
    waiting.push(...Object.keys(packages[`node_modules/${name}`]?.dependencies ?? {}))
  }
  return [...found].sort()
}
