/** The package as it is installed: every entry point loads, and has what it promises. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))
const manifest = JSON.parse(readFileSync(`${root}/package.json`, 'utf8'))

const promised: Readonly<Record<string, readonly string[]>> = {
  '.': [
    'AnalyticsError',
    'ConfigurationError',
    'PaymentError',
    'checkPayment',
    'create402Middleware',
    'createPaystileRoutes',
    'drain',
    'fetchWith402',
    'getAnalytics',
    'initAgentWallet',
    'paymentOf',
    'verifyPayment',
  ],
  './server': ['ConfigurationError', 'checkPayment', 'openPaywall', 'openRoutes', 'verifyPayment'],
  './client': [
    'AnalyticsError',
    'DownloadError',
    'PaymentError',
    'SignInError',
    'createMemoryJournal',
    'createWallet',
    'downloadWith402',
    'fetchWith402',
    'getAnalytics',
    'initAgentWallet',
    'isReceiptGenuine',
    'parseReceipt',
    'signInWith',
  ],
  './express': ['create402Middleware', 'drain'],
  './fastify': ['create402Middleware', 'drain'],
  './hono': ['create402Middleware', 'drain'],
  './next': ['create402Middleware'],
  './node': ['create402Middleware', 'drain'],
  './gateway': ['ConfigurationError', 'createGateway', 'defineGateway', 'jsonSchema', 'openGateway', 'readPlanFile'],
  './localnet': ['FaucetError', 'LocalnetDataError', 'startLocalnet'],
}

it('lists the entry points that are tested', () => {
  expect(Object.keys(manifest.exports)).toEqual(Object.keys(promised))
})

it.each(Object.entries(promised))('paystile%s exports what it promises', (entry, names) => {
  const code = `import * as all from '${entry.replace('.', 'paystile')}'; console.log(JSON.stringify(Object.keys(all).sort()))`
  const printed = execFileSync(process.execPath, ['--input-type=module', '--eval', code], {
    cwd: root,
    encoding: 'utf8',
  })
  expect(JSON.parse(printed)).toEqual(names)
})

it('pins every dependency exactly', () => {
  const versions = Object.values({ ...manifest.dependencies, ...manifest.devDependencies })
  expect(versions.filter((version) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(String(version)))).toEqual([])
})

it('packs what is needed to run, and no tests', () => {
  const [packed] = JSON.parse(
    execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }),
  )
  const files = packed.files.map(({ path }: { path: string }) => path)
  expect(files).toContain('dist/cli/main.js')
  expect(files).toContain('LICENSE')
  expect(files.filter((path: string) => /\.test\.|^src\/|^tests\//.test(path))).toEqual([])
})
