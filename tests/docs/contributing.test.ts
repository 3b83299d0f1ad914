/** The files for contributors and for GitHub agree with the package. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'

const root = fileURLToPath(new URL('../..', import.meta.url))
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const manifest = JSON.parse(read('package.json'))
const testManifest = JSON.parse(read('tests/package.json'))
const installed: Readonly<Record<string, string>> = {
  ...manifest.dependencies,
  ...manifest.devDependencies,
  ...testManifest.devDependencies,
  ...testManifest.optionalDependencies,
}

interface Ignored {
  readonly 'dependency-name': string
  readonly versions?: readonly string[]
}

describe('dependency updates', () => {
  const { updates } = parse(read('.github/dependabot.yml'))
  const ignored: readonly Ignored[] = updates[0].ignore
  const ranges = ignored.flatMap(({ 'dependency-name': name, versions = [] }) =>
    versions.map((range) => ({ name, range, version: installed[name] ?? 'none' })),
  )

  it('ignore only packages that are installed', () => {
    const names = ignored.map(({ 'dependency-name': name }) => name)
    expect(names.length).toBeGreaterThan(5)
    expect(names.filter((name) => installed[name] === undefined)).toEqual([])
  })

  it.each(ranges)('ignore $name $range, and $version is not in it', ({ range, version }) => {
    const [, operator, first = ''] = range.match(/^(>=)?(\d+\.\d+\.\d+)$/) ?? []
    const order = version.localeCompare(first, 'en', { numeric: true })
    expect(first).not.toBe('')
    expect(operator === '>=' ? order < 0 : order !== 0).toBe(true)
  })
})

describe('CI', () => {
  const { jobs } = parse(read('.github/workflows/ci.yml'))
  const { node, os } = jobs.test.strategy.matrix

  it('runs on the oldest supported Node, and on the one that contributors use', () => {
    const oldest = Number(manifest.engines.node.match(/^>=(\d+)\./)?.[1])
    expect(Math.min(...node)).toBe(oldest)
    expect(node).toContain(Number(read('.nvmrc')))
  })

  it('runs on Linux on both processors, and on macOS', () => {
    expect(os).toEqual(['ubuntu-24.04', 'ubuntu-24.04-arm', expect.stringMatching(/^macos-/)])
  })
})

it('CONTRIBUTING.md describes folders that exist', () => {
  const [, layout = ''] = read('CONTRIBUTING.md').split('## Layout')
  const rows = layout.split('[ARCHITECTURE.md]')[0]?.match(/^\| (`.*?) \|/gm) ?? []
  const folders = rows.flatMap((row) => [...row.matchAll(/`(\w+)`/g)].map(([, name = '']) => name))
  expect(folders.length).toBeGreaterThan(5)
  expect(folders.filter((name) => !existsSync(join(root, name)))).toEqual([])
})

it('README.md links to the files for contributors', () => {
  const [, last = ''] = read('README.md').split('## Documentation')
  expect(last).toContain('(CONTRIBUTING.md)')
  expect(last).toContain('(SECURITY.md)')
})

it('the lock file names no registry', () => {
  expect(read('.npmrc')).toContain('omit-lockfile-registry-resolved=true')
  expect(read('package-lock.json')).not.toMatch(/"resolved": "http/)
})

interface LockedPackage {
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

// A lock file that npm wrote on one machine can lack the builds for others.
it.each(['.', 'tools/package', 'site'])('the lock file in %s names all optional packages', (folder) => {
  const { packages } = JSON.parse(read(`${folder}/package-lock.json`)) as {
    packages: Readonly<Record<string, LockedPackage>>
  }
  const isLocked = (from: string, name: string): boolean => {
    if (packages[`${from && `${from}/`}node_modules/${name}`]) return true
    return from !== '' && isLocked(from.slice(0, Math.max(0, from.lastIndexOf('node_modules/') - 1)), name)
  }
  const wanted = Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies).map((name) => ({ path, name })),
  )
  expect(wanted.length).toBeGreaterThan(0)
  expect(wanted.filter(({ path, name }) => !isLocked(path, name))).toEqual([])
})
