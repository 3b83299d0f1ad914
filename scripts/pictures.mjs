// `npm run pictures`: takes the screenshots of README and docs from the running demo, after two weeks of sales.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { browserFlags, findBrowser } from './browser.mjs'
import { build, install, root, say } from './prepare.mjs'

await install({ everything: true })
await build()
const home = mkdtempSync(join(tmpdir(), 'paystile-pictures-'))
// The demo and the customers keep their files there.
process.env['PAYSTILE_HOME'] = home
const images = join(root, 'docs/images')
mkdirSync(images, { recursive: true })
const demo = spawn(process.execPath, ['scripts/start.mjs', '--json', '--port', '0', '--slot-ms', '50', '--alone'], {
  cwd: root,
  stdio: ['ignore', 'pipe', 'ignore'],
})
const days = 14
const turnsPerDay = 3
const customers = 8
/** Weight of each resource: most customers buy the cheap ones. */
const wishes = ['moon', 'moon', 'moon', 'sudoku', 'sudoku', 'play', 'play', 'art', 'calendar']
/** @type {readonly ('USDC' | 'NATIVE' | 'SOL')[]} */
const tokens = ['USDC', 'NATIVE', 'SOL']
try {
  const [line] = await once(demo.stdout, 'data')
  const { url, rpcUrl } = JSON.parse(String(line))
  await sell(url, rpcUrl)
  await takePictures(url)
} finally {
  demo.kill('SIGTERM')
  if (demo.exitCode === null) await once(demo, 'exit')
  rmSync(home, { recursive: true, force: true })
}

/** Two weeks of sales: customers buy, then the clock of the chain advances by some hours. */
async function sell(url, rpcUrl) {
  const { fetchWith402, initAgentWallet } = await import('../dist/client/index.js')
  const wallets = []
  for (let index = 0; index < customers; index += 1) {
    const wallet = await initAgentWallet({ path: join(home, `customer-${index}.json`) })
    await post(`${rpcUrl}/faucet`, { address: wallet.address })
    wallets.push(wallet)
  }
  for (let turn = 0; turn < days * turnsPerDay; turn += 1) {
    const visits = Array.from({ length: countVisits(turn) }, async (_, index) => {
      const number = turn * 7 + index * 5
      const address = `${url}/api/${wishes[(number * 4 + turn) % wishes.length]}?guest=${index}`
      // Some customers only read the price.
      if ((number * 3 + turn) % 10 < 3) return (await fetch(address)).text()
      const wallet = wallets[index % customers]
      const first = number % tokens.length
      const preferred = [...tokens.slice(first), ...tokens.slice(0, first)]
      return (await fetchWith402(address, { wallet, tokens: preferred, rpc: rpcUrl })).text()
    })
    // A busy machine may miss a purchase.
    await Promise.allSettled(visits)
    // The service writes its counters once a second, under the current hour.
    await pause(1_200)
    // The slots finalize the payments.
    await post(rpcUrl, {
      jsonrpc: '2.0',
      id: 1,
      method: 'paystile_advance',
      params: [{ seconds: 86_400 / turnsPerDay, slots: 40 }],
    })
    await pause(700)
  }
}

/** More visits from week to week, and fewer at night and on two days of each week. */
function countVisits(turn) {
  const day = Math.floor(turn / turnsPerDay)
  const usual = 5 + Math.floor(day / 3)
  return Math.max(1, usual - (turn % turnsPerDay === 0 ? 2 : 0) - (day % 7 > 4 ? 2 : 0))
}

function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

async function post(address, body) {
  const response = await fetch(address, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (!response.ok) throw new Error(`${address}: ${response.status} ${await response.text()}`)
}

async function takePictures(url) {
  const { chromium } = await import('playwright-core')
  const browser = await chromium.launch({
    executablePath: await findBrowser(),
    args: [...browserFlags],
    headless: true,
  })
  const scenes = /** @type {const} */ ([
    ['checkout', '/api/play', { width: 480, height: 860 }, '#wallets button'],
    ['dashboard', '/dashboard?period=7d', { width: 1280, height: 900 }, '.plot svg'],
    ['payments', '/dashboard/payments', { width: 1280, height: 720 }, 'tbody tr'],
    ['rewards', '/dashboard/rewards', { width: 1280, height: 900 }, '.badge.good'],
    ['settlement', '/dashboard/settlement', { width: 1280, height: 900 }, 'tbody tr'],
  ])
  for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
    for (const [name, path, viewport, sign] of scenes) {
      const context = await browser.newContext({ locale: 'en-US', timezoneId: 'UTC', viewport, colorScheme })
      const page = await context.newPage()
      await page.goto(`${url}${path}`)
      await page.locator(sign).first().waitFor()
      await page.waitForTimeout(400)
      const file = `${name}-${colorScheme}.png`
      await page.screenshot({ path: join(images, file) })
      say(`docs/images/${file}`)
      await context.close()
    }
  }
  await browser.close()
}
