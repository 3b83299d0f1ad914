/** A real browser, from npm. It unpacks itself into a directory of its own, which goes when it is closed. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Browser, chromium } from 'playwright-core'

export interface Chromium {
  readonly browser: Browser
  close(): Promise<void>
}

const flags = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

export async function launchChromium(): Promise<Chromium> {
  const directory = mkdtempSync(join(tmpdir(), 'paystile-chromium-'))
  const before = process.env['TMPDIR']
  process.env['TMPDIR'] = directory
  const packed = (await import('@sparticuz/chromium')).default
  packed.setGraphicsMode = false
  const executablePath = await packed.executablePath()
  const browser = await chromium.launch({ executablePath, args: flags, headless: true })
  if (before === undefined) delete process.env['TMPDIR']
  else process.env['TMPDIR'] = before
  return {
    browser,
    close: async () => {
      await browser.close()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}
