// `npm run pictures`: the screenshots of README and docs, taken from the running demo, so that they stay true.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { browserFlags, findBrowser } from './browser.mjs'
import { build, install, root, say } from './prepare.mjs'

install({ everything: true })
build()
const home = mkdtempSync(join(tmpdir(), 'paystile-pictures-'))
const images = join(root, 'docs/images')
mkdirSync(images, { recursive: true })
const demo = spawn(process.execPath, ['scripts/start.mjs', '--json', '--port', '0', '--slot-ms', '50'], {
  cwd: root,
  env: { ...process.env, PAYSTILE_HOME: home },
  stdio: ['ignore', 'pipe', 'ignore'],
})
try {
  const [line] = await once(demo.stdout, 'data')
  const { url } = JSON.parse(String(line))
  await untilSold(url, 12)
  await takePictures(url)
} finally {
  demo.kill('SIGTERM')
  await once(demo, 'exit')
  rmSync(home, { recursive: true, force: true })
}

/** The demo's other customers take a few seconds. */
async function untilSold(url, payments) {
  for (let attempt = 0; attempt < 600; attempt += 1) {
    const summary = await (await fetch(`${url}/api/analytics`)).json()
    if (summary.payments >= payments) return
    await new Promise((resolve) => setTimeout(resolve, 500))
  }
  throw new Error('the demo sold nothing')
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
    ['dashboard', '/dashboard?period=24h', { width: 1280, height: 900 }, 'canvas'],
    ['payments', '/dashboard/payments', { width: 1280, height: 720 }, 'tbody tr'],
    ['rewards', '/dashboard/rewards', { width: 1280, height: 900 }, '.badge.good'],
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
