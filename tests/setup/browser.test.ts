import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { findBrowser, findInstalled } from '../../scripts/browser.mjs'

const folder = mkdtempSync(join(tmpdir(), 'paystile-browsers-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** A program that answers `--version` with an exit code. */
function program(name: string, exitCode: number): string {
  const path = join(folder, name)
  writeFileSync(path, `#!/bin/sh\nexit ${exitCode}\n`)
  chmodSync(path, 0o755)
  return path
}
const broken = program('google-chrome', 1)
const working = program('chromium', 0)

it('takes the browser that PAYSTILE_CHROMIUM names before any other', async () => {
  expect(await findBrowser({ PAYSTILE_CHROMIUM: working, PATH: '' }, [() => broken])).toBe(working)
})

it('says so when PAYSTILE_CHROMIUM names a program that does not start', async () => {
  await expect(findBrowser({ PAYSTILE_CHROMIUM: broken, PATH: folder })).rejects.toThrow(
    `PAYSTILE_CHROMIUM names ${broken}, which is not a Chromium that starts on this machine.`,
  )
})

it('takes the first installed browser that starts', async () => {
  expect(await findBrowser({ PATH: folder }, [findInstalled])).toBe(working)
})

it('goes on to the next way when a browser does not start on this processor', async () => {
  expect(await findBrowser({}, [() => broken, () => undefined, () => working])).toBe(working)
})

it('says in one sentence how to install a browser when there is none', async () => {
  await expect(findBrowser({}, [() => undefined])).rejects.toThrow(
    /install one \(on Debian: apt-get install chromium\)/,
  )
})
