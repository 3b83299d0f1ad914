// Finds a Chromium for the browser tests and the screenshots. The order: PAYSTILE_CHROMIUM, an installed browser, the
// binary from npm, Playwright's download, Debian's package.
import { spawnSync } from 'node:child_process'
import { accessSync, constants, existsSync, mkdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir, userInfo } from 'node:os'
import { delimiter, join } from 'node:path'
import { say } from './prepare.mjs'

/** The headless shell comes first: it opens a page in a third of the time. */
const commands = [
  'chromium-headless-shell',
  'google-chrome',
  'google-chrome-stable',
  'chromium',
  'chromium-browser',
  'microsoft-edge',
  'microsoft-edge-stable',
]
const macApplications = [
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  '/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge',
]

/** Flags for a browser without a screen, a sandbox or background traffic. */
export const browserFlags = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

const finders = [findInstalled, findNpmBinary, findPlaywrightDownload, installDebianPackage]

/**
 * Returns the path of a browser that starts. Throws one sentence that says how to install one.
 *
 * @type {typeof import('./browser.mjs').findBrowser}
 */
export async function findBrowser(env = process.env, ways = finders) {
  const chosen = env['PAYSTILE_CHROMIUM']
  if (chosen) {
    if (starts(chosen)) return chosen
    throw new Error(`PAYSTILE_CHROMIUM names ${chosen}, which is not a Chromium that starts on this machine.`)
  }
  for (const find of ways) {
    const path = await find(env)
    if (path !== undefined && starts(path)) return path
  }
  throw new Error(
    'The browser tests need Chrome, Chromium or Edge: install one (on Debian: apt-get install chromium), or set PAYSTILE_CHROMIUM to its path.',
  )
}

/** A browser that lacks a library, or is built for another processor, fails here. */
function starts(path) {
  return spawnSync(path, ['--version', '--no-sandbox'], { stdio: 'ignore', timeout: 20_000 }).status === 0
}

/** @type {typeof import('./browser.mjs').findInstalled} */
export function findInstalled(env) {
  const onPath = (env['PATH'] ?? '').split(delimiter).flatMap((folder) => commands.map((name) => join(folder, name)))
  const candidates = process.platform === 'darwin' ? [...macApplications, ...onPath] : onPath
  return candidates.find((path) => isExecutable(path) && starts(path))
}

/** `@sparticuz/chromium` has a binary for Linux on x64 only. It unpacks into TMPDIR and reuses files that are there. */
async function findNpmBinary() {
  if (process.platform !== 'linux' || process.arch !== 'x64') return undefined
  const folder = join(tmpdir(), `paystile-chromium-147-${userInfo().uid}`)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const before = process.env['TMPDIR']
  process.env['TMPDIR'] = folder
  try {
    const { default: packed } = await import('@sparticuz/chromium')
    packed.setGraphicsMode = false
    return await packed.executablePath()
  } finally {
    if (before === undefined) delete process.env['TMPDIR']
    else process.env['TMPDIR'] = before
  }
}

async function findPlaywrightDownload() {
  const { chromium } = await import('playwright-core')
  if (!existsSync(chromium.executablePath())) {
    say('Downloading Chromium with Playwright…')
    const cli = join(createRequire(import.meta.url).resolve('playwright-core/package.json'), '../cli.js')
    spawnSync(process.execPath, [cli, 'install', 'chromium'], { stdio: 'ignore', timeout: 300_000 })
  }
  return existsSync(chromium.executablePath()) ? chromium.executablePath() : undefined
}

function installDebianPackage(env) {
  if (process.getuid?.() !== 0 || !existsSync('/etc/debian_version')) return undefined
  say('Installing Chromium with apt-get…')
  /** @type {import('node:child_process').SpawnSyncOptions} */
  const settings = { stdio: 'ignore', env: { ...env, DEBIAN_FRONTEND: 'noninteractive' } }
  const apt = (...args) => spawnSync('apt-get', ['-y', '-q', ...args], settings).status === 0
  const install = () => ['chromium-headless-shell', 'chromium'].some((name) => apt('install', name))
  return install() || (apt('update') && install()) ? findInstalled(env) : undefined
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
