/** The package on a runtime that it does not support: every entry that takes or makes payments refuses to load. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))
const manifest = JSON.parse(readFileSync(`${root}/package.json`, 'utf8'))
/** A chain alone takes no payments. */
const entries = Object.keys(manifest.exports).filter((entry) => entry !== './localnet')

/** Runs Node with the `process.versions` of another runtime. */
function runAs(versions: Readonly<Record<string, string>>, ...args: readonly string[]) {
  const disguise = `Object.defineProperty(process, 'versions', { value: { ...process.versions, ...${JSON.stringify(versions)} } })`
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--import', `data:text/javascript,${encodeURIComponent(disguise)}`, ...args],
    { cwd: root, encoding: 'utf8' },
  )
  return { status, stdout, stderr }
}

/** The error of every entry, by its name, as `name: message`. */
function load(
  versions: Readonly<Record<string, string>>,
  ...flags: readonly string[]
): Readonly<Record<string, string>> {
  const code = `
    const found = {}
    for (const entry of ${JSON.stringify(entries)}) {
      found[entry] = await import(entry.replace('.', 'paystile')).then(() => 'loaded', String)
    }
    console.log(JSON.stringify(found))`
  const { stdout, stderr } = runAs(versions, ...flags, '--input-type=module', '--eval', code)
  expect(stderr).toBe('')
  return JSON.parse(stdout)
}

const supported = 'use Node 20.19 or later (the client also runs in browsers)'
const refusals = [
  [{ bun: '1.4.4' }, `it does not run on Bun 1.4.4; ${supported}`],
  [{ deno: '2.9.5' }, `it does not run on Deno 2.9.5; ${supported}`],
  [{ node: '20.18.3' }, `Node 20.18.3 is too old; ${supported}`],
] as const

describe.each(refusals)('with %o', (versions, sentence) => {
  it('refuses to load every entry that takes or makes payments', () => {
    const error = `ConfigurationError: paystile cannot start: ${sentence}`
    expect(load(versions)).toEqual(Object.fromEntries(entries.map((entry) => [entry, error])))
  })

  it('ends the command line with one sentence', () => {
    const { status, stdout, stderr } = runAs(versions, 'dist/cli/main.js', '--version')
    expect(stdout).toBe('')
    expect(JSON.parse(stderr)).toEqual({
      ok: false,
      error: { code: 'configuration', message: `paystile cannot start: ${sentence}` },
    })
    expect(status).toBe(2)
  })
})

it('loads the browser’s client on any runtime', () => {
  expect(load({ bun: '1.4.4' }, '--conditions=browser')['./client']).toBe('loaded')
})
